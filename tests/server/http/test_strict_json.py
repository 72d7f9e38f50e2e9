"""Bodies of JSON that are made to take long, or to take much memory."""

import json
import time

import pytest

from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.strict_json import MAX_VALUES, parse_json


def test_many_keys_of_which_the_last_is_there_twice():
    names = [f"k{i}" for i in range(40_000)]
    body = "{" + ",".join(f"{json.dumps(name)}:1" for name in [*names, names[-1]]) + "}"
    started = time.monotonic()
    with pytest.raises(HttpError, match="'k39999' twice"):
        parse_json(body)
    assert time.monotonic() - started < 5  # some 20 ms; a search for each key takes a minute


@pytest.mark.parametrize(
    ("body", "twice"), [('{"a": 1, "b": 2, "b": 3, "a": 4}', "b"), ('{"a": 1, "a": 2}', "a"), ('[{"": 1, "": 1}]', "")]
)
def test_the_key_that_is_there_twice_is_named(body, twice):
    with pytest.raises(HttpError, match=f"'{twice}' twice"):
        parse_json(body)


@pytest.mark.parametrize("value", ["[]", "{}", "1"])
def test_more_values_than_the_parser_reads_in_a_moment_are_refused_before_it_starts(value):
    body = '{"rows": [' + ",".join([value] * MAX_VALUES) + "]}"
    with pytest.raises(HttpError, match="at most 4,194,304 values of JSON, got about") as caught:
        parse_json(body)
    assert caught.value.status == 413


def test_a_long_text_is_one_value():
    body = json.dumps({"rows": [{"text": "word " * MAX_VALUES}]})
    assert len(parse_json(body)["rows"]) == 1
