"""An unusual row means the same in all doors: every line of the table in docs/edge-cases.md goes through each."""

import collections
import contextlib
import datetime
import functools
import json
import random
import re
import subprocess
import sys
import types
from pathlib import Path

import httpx2
import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.client import Client
from tallybayes.errors import DataError
from tallybayes.io.read import to_source

river = pytest.importorskip("tallybayes.river")
pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")

TABLE = Path(__file__).parents[2] / "docs" / "edge-cases.md"
PLAIN = {"weight": "gaussian", "colour": "categorical", "rooms": "categorical", "indoors": "bernoulli", "7": "gaussian"}
RICH = {**PLAIN, "likes": "tags:|"}  # and a column of dates
USUAL = {"weight": 4.5, "colour": "black", "rooms": 2, "indoors": True, "7": 0.5}
MISSING = dict.fromkeys(USUAL)


class Refused(str):
    """The row is refused, with an error that matches this."""


def but(**changes):
    return {**USUAL, **changes}


# The lines of the table: rows, each with a usual row that means the same, or with the error. Rows that have `likes`,
# `born` or `times` are for the model that has such columns.
LINES = {
    "no column at all: `{}`": [({}, MISSING)],
    "a column that the model does not have, beside others": [
        (but(size="xl"), USUAL),
        (but(size=None), USUAL),
        ({"size": "xl", "colour": "white"}, {"colour": "white"}),
    ],
    "only columns that the model does not have": [
        ({"color": "black"}, Refused("columns of the model(?s:.*)did you mean 'colour'")),
        ({"size": None}, Refused("columns of the model")),
    ],
    "only the label, the sample weight or excluded columns": [
        ({"pet": "cat"}, MISSING),
        ({"serial": "s99"}, MISSING),
        ({"times": 3}, MISSING),
    ],
    "the label, the sample weight or excluded columns, beside others": [
        (but(pet="dog"), USUAL),
        (but(serial=7.5), USUAL),
        (but(times="many"), USUAL),
    ],
    "a value that is None, NaN or absent": [
        (but(weight=None, colour=None), {"rooms": 2, "indoors": True, "7": 0.5}),
        (but(weight=float("nan"), indoors=np.nan), {"colour": "black", "rooms": 2, "7": 0.5}),
    ],
    "an unseen category": [(but(colour="violet"), but(colour="green")), (but(rooms=99), but(rooms=77))],
    "a number or a boolean in a column of text": [
        (but(colour=7), but(colour="7")),
        (but(colour=True), but(colour="t")),
    ],
    '`2.0` or `"2"` in a column of categories that are numbers': [
        (but(rooms=2.0), USUAL),
        (but(rooms="2"), USUAL),
        (but(rooms=np.int8(2)), USUAL),
    ],
    "a word in a column of categories that are numbers": [(but(rooms="two"), Refused("column 'rooms'.*number"))],
    'text in a column of numbers, even `"4.5"`': [
        (but(weight="heavy"), Refused("column 'weight'.*expected a number, got 'heavy'")),
        (but(weight="4.5"), Refused("column 'weight'.*expected a number, got '4.5'")),
    ],
    "an infinity in a column of numbers": [(but(weight=float("inf")), Refused("column 'weight'.*a finite number"))],
    "a boolean in a column of numbers": [(but(weight=True), but(weight=1.0))],
    '`1`, `1.0`, `"true"` or `"yes"` in a column of booleans': [
        (but(indoors=value), USUAL) for value in (1, 1.0, np.True_, "true", "yes")
    ],
    "`2` or another word in a column of booleans": [
        (but(indoors=2), Refused("column 'indoors'.*a boolean")),
        (but(indoors="maybe"), Refused("column 'indoors'.*a boolean")),
    ],
    "a list in a column of single values": [
        (but(weight=[4.5]), Refused("a number, got|a column of values")),
        (but(colour=["black"]), Refused("a category, got|a column of values")),
    ],
    "a list or a set in a column of tags": [
        (but(likes=["fish", "sun"]), but(likes="fish|sun")),
        (but(likes={"fish", "sun"}), but(likes="fish|sun")),
    ],
    "a name that is not text": [({7: 0.25, "colour": "white"}, {"7": 0.25, "colour": "white"})],
    "two names with the same text": [({"7": 0.5, 7: 0.5}, Refused("column names that differ"))],
    "a mapping that is not a dict": [
        (types.MappingProxyType(USUAL), USUAL),
        (collections.OrderedDict(USUAL), USUAL),
        (collections.ChainMap({"weight": 4.5}, USUAL), USUAL),
    ],
    "a date, as a date, a datetime or text": [
        (but(born=datetime.date(2014, 3, 12)), but(born="2014-03-12")),
        (but(born=datetime.datetime(2014, 3, 12)), but(born="2014-03-12")),
    ],
    "a text that is not a date, in a column of dates": [(but(born="soon"), but(born=None))],
}
EMPTY = "any row, before the model has learned one"
RIVER = {"only columns that the model does not have": {}}  # rows of changing features are its convention


def training_rows():
    rng = random.Random(1)
    for i in range(40):
        is_dog = i % 2
        yield {
            "weight": rng.gauss(4 + 5 * is_dog, 2),
            "colour": rng.choice(["black", "white", "brown"][is_dog:]),
            "rooms": rng.choice([1, 2, 3]),
            "indoors": rng.random() < (0.3 if is_dog else 0.8),
            "7": rng.gauss(is_dog, 1),
            "likes": rng.choice(["fish|sun", "sun", "walks"][is_dog:]),
            "born": f"20{10 + i % 9}-0{1 + i % 9}-1{i % 9}",
            "times": 1 + i % 2,
            "serial": f"s{i}",
            "pet": "dog" if is_dog else "cat",
        }


ROWS = list(training_rows())


def columns(*names):
    return [{name: row[name] for name in names} for row in ROWS]


@functools.cache
def model(name):
    """Plain: its rows take the fast path; rich: they take the general path; empty: it has not learned any row."""
    if name == "plain":
        return tb.fit(columns(*PLAIN, "serial", "pet"), label="pet", families=PLAIN, column_weights=None)
    if name == "rich":
        return tb.fit(ROWS, label="pet", sample_weight="times", families=RICH)
    return tb.fit({"weight": [], "pet": []}, label="pet")


@functools.cache
def of_river(name):
    found = river.NaiveBayes(families=PLAIN)
    for row in columns(*PLAIN, "pet") if name == "plain" else ():
        found.learn_one({column: row[column] for column in PLAIN}, row["pet"])
    return found


@functools.cache
def estimator(name):
    found = tb.NaiveBayesClassifier(families=PLAIN, column_weights=None)
    return found.fit(pd.DataFrame(columns(*PLAIN)), [row["pet"] for row in ROWS])


class Served:
    """The models on a server: its HTTP interface, and a client for each."""

    def __init__(self, url, stack):
        self._http = stack.enter_context(httpx2.Client(base_url=url))
        self.clients = {name: stack.enter_context(Client(url, model=name)) for name in ("plain", "rich", "empty")}

    def post(self, path, body):
        answer = self._http.post(path, json=body)
        if answer.is_success:
            return answer.json()
        problem = answer.json()
        raise DataError(f"{problem.get('detail') or problem['message']}\nhint: {problem.get('hint')}")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name in ("plain", "rich", "empty"):
        model(name).save(folder / f"{name}.tally")
    command = [sys.executable, "-m", "tallybayes.cli.main", "serve", str(folder), "--port", "0"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(process.terminate)
        yield Served(process.stdout.readline().strip(), stack)


def values(by_class):
    return list(by_class.values())


# Doors into a model: what they answer for a row, probabilities or a label
DOORS = {
    "predict": lambda own, row: own.predict(row)[0],
    "predict_proba": lambda own, row: own.predict_proba(row)[0],
    "predict_one": lambda own, row: own.predict_one(row),
    "predict_proba_one": lambda own, row: values(own.predict_proba_one(row)),
    "predict of a list": lambda own, row: own.predict([row])[0],
    "predict_proba of a list": lambda own, row: own.predict_proba([row])[0],
    "predict_proba of two rows": lambda own, row: own.predict_proba([row, row])[1],
    "predict_proba of a frame": lambda own, row: own.predict_proba(pd.DataFrame([dict(row)]))[0],
    "predict_proba, not calibrated": lambda own, row: own.predict_proba([row], calibrated=False)[0],
    "a snapshot": lambda own, row: own.snapshot().proba(row, is_row=True)[0],
    "explain": lambda own, row: own.explain([row])[0].probabilities,
}
ESTIMATOR = {
    "estimator.predict": lambda own, row: own.predict(pd.DataFrame([dict(row)]))[0],
    "estimator.predict_proba": lambda own, row: own.predict_proba(pd.DataFrame([dict(row)]))[0],
    "estimator.predict_log_proba": lambda own, row: np.exp(own.predict_log_proba(pd.DataFrame([dict(row)]))[0]),
}
SERVER = {
    "POST a row": lambda own, name, row: own.post(f"/v1/models/{name}/predict", {"row": row})["probabilities"][0],
    "POST rows": lambda own, name, row: own.post(f"/v1/models/{name}/predict", {"rows": [row, row]})["probabilities"][
        1
    ],
    "MLflow": lambda own, name, row: values(
        own.post("/invocations", {"instances": [row], "params": {"model": name, "proba": True}})["predictions"][0]
    ),
    "client.predict_one": lambda own, name, row: own.clients[name].predict_one(row),
    "client.predict_proba_one": lambda own, name, row: values(own.clients[name].predict_proba_one(row)),
    "client.predict": lambda own, name, row: own.clients[name].predict([row])[0],
    "client.predict_proba": lambda own, name, row: own.clients[name].predict_proba(row)[0],
}


def in_stream():
    """A model whose last rows were scored and learned in turns: what is derived from its sums was renewed in place."""
    own = tb.fit(
        columns("weight", "7"), label=[row["pet"] for row in ROWS], numeric="gaussian", smoothing=1, column_weights=None
    )
    for row in columns("weight", "7")[:3]:
        own.predict_proba(row)
        own.learn_one(row, "cat")
    return own


def is_json(row):
    """Whether a row can be sent as JSON and is the same afterwards."""
    try:
        return json.loads(json.dumps(row, allow_nan=False)) == row
    except (TypeError, ValueError):
        return False


def is_table(row):
    return any(isinstance(value, list) for value in row.values())


def cases(*, keep=lambda row: True, models=("plain", "rich")):
    """Every row of every line, with the models that have its columns."""
    return [
        pytest.param(name, line, row, meaning, id=f"{line}-{i}-{name}")
        for line, rows in LINES.items()
        for i, (row, meaning) in enumerate(rows)
        for name in models
        if keep(row) and (name == "rich" or not {"likes", "born", "times"} & {*row})
    ]


def check(own, ask, row, meaning):
    """That a door answers for a row as the general path does for the row that means the same, or refuses it."""
    if isinstance(meaning, Refused):
        with pytest.raises(ValueError, match=meaning) as error:
            ask(row)
        assert isinstance(error.value, DataError)
        return
    expected, answer = own.snapshot().proba(to_source([meaning]))[0], ask(row)
    if isinstance(answer, str):
        assert answer == own.classes[expected.argmax()]
    else:
        assert np.array_equal(list(answer), expected) or np.allclose(np.log(list(answer)), np.log(expected), rtol=1e-14)


def test_the_table_has_these_lines():
    section = TABLE.read_text().partition("## Unusual rows")[2]
    lines = [line.split(" | ")[0].removeprefix("| ") for line in section.splitlines() if line.startswith("| ")]
    assert lines[1:] == [EMPTY, *LINES]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("name", "line", "row", "meaning"), cases())
def test_model(door, name, line, row, meaning):
    if door in ("predict", "predict_proba") and is_table(row):
        meaning = Refused("a column of values")  # a dict that has lists is a table of columns
    check(model(name), functools.partial(DOORS[door], model(name)), row, meaning)


@pytest.mark.parametrize(("name", "line", "row", "meaning"), cases(models=["plain"]))
def test_river(name, line, row, meaning):
    own, meaning = of_river(name), RIVER.get(line, meaning)
    check(own.model, lambda row: values(own.predict_proba_one(row)), row, meaning)
    check(own.model, own.predict_one, row, meaning)


@pytest.mark.parametrize("door", ESTIMATOR)
@pytest.mark.parametrize(
    ("name", "line", "row", "meaning"), cases(models=["plain"], keep=lambda row: [*row] == [*USUAL])
)
def test_estimator(door, name, line, row, meaning):
    """Rows of the same columns: others are refused by scikit-learn's own checks."""
    check(estimator(name).model_, functools.partial(ESTIMATOR[door], estimator(name)), row, meaning)


@pytest.mark.slow
@pytest.mark.parametrize("door", SERVER)
@pytest.mark.parametrize(("name", "line", "row", "meaning"), cases(keep=is_json))
def test_server(served, door, name, line, row, meaning):
    if door == "client.predict_proba" and is_table(row):
        meaning = Refused("a column of values")
    check(model(name), functools.partial(SERVER[door], served, name), row, meaning)


def is_of_numbers(row):
    return all(row.get(name) is USUAL[name] for name in ("colour", "rooms", "indoors"))


@pytest.mark.parametrize("door", ["predict", "predict_proba", "predict_one", "predict_proba_one"])
@pytest.mark.parametrize(("name", "line", "row", "meaning"), cases(models=["plain"], keep=is_of_numbers))
def test_in_stream(door, name, line, row, meaning):
    check(in_stream(), functools.partial(DOORS[door], in_stream()), row, meaning)


@pytest.mark.parametrize(("name", "line", "row", "meaning"), cases())
def test_learning(name, line, row, meaning):
    """A row is learned alone as in a table, or refused with the same error."""
    row = {**row, "times": 2} if name == "rich" else row

    def learn(door):
        own = model(name).copy()
        own.learn_one(USUAL | {"times": 2} if name == "rich" else USUAL, "dog")
        try:
            door(own)
        except DataError as error:
            return str(error)
        return own

    expected = learn(lambda own: own.learn(to_source([{**row, "pet": "cat"}])))
    assert learn(lambda own: own.learn_one({n: v for n, v in row.items() if n != "pet"}, "cat")) == expected
    assert learn(lambda own: own.learn([{**row, "pet": "cat"}])) == expected
    as_dict = learn(lambda own: own.learn({**row, "pet": "cat"}))
    assert "a column of values" in as_dict if is_table(row) else as_dict == expected


def test_a_model_that_has_not_learned_any_row():
    for door in DOORS.keys() - {"explain"}:
        for row in ({}, {"weight": 4.5}, {"color": "black"}):
            with pytest.raises(DataError, match="has not learned any row"):
                DOORS[door](model("empty"), row)
    assert of_river("empty").predict_one({"weight": 4.5}) is None
    assert of_river("empty").predict_proba_one({"weight": 4.5}) == {}


@pytest.mark.slow
@pytest.mark.parametrize("door", SERVER)
def test_a_hosted_model_that_has_not_learned_any_row(served, door):
    with pytest.raises(DataError, match="has not learned any row"):
        SERVER[door](served, "empty", {"weight": 4.5})


def test_a_calibrated_model_is_calibrated_in_every_door():
    own = model("plain").copy()
    own.calibrate(ROWS)
    expected = own.snapshot().proba(to_source([USUAL]))
    assert not np.array_equal(expected, own.predict_proba(USUAL, calibrated=False))
    assert np.array_equal(own.predict_proba(USUAL), expected)
    assert np.array_equal(own.predict_proba([USUAL]), expected)
    assert values(own.predict_proba_one(USUAL)) == expected[0].tolist()
    assert np.array_equal(own.predict_proba(USUAL, calibrated=False), model("plain").predict_proba(USUAL))


@pytest.mark.parametrize("name", ["plain", "rich"])
def test_rows_of_a_list_may_have_different_columns(name):
    rows = [USUAL, {"color": "black"}, {7: 0.25, "colour": "white"}, {}]
    meanings = [USUAL, MISSING, {"7": 0.25, "colour": "white"}, MISSING]
    alone = [model(name).snapshot().proba(to_source([meaning])) for meaning in meanings]
    assert np.array_equal(model(name).predict_proba(rows), np.concatenate(alone))
    assert np.array_equal(model(name).predict_proba(to_source(rows)), np.concatenate(alone))
    with pytest.raises(DataError, match="column names that differ"):
        model(name).predict_proba([USUAL, {7: 0.25, "7": 0.5}])


def test_only_unknown_columns_are_an_error_of_a_matrix_and_a_frame_too():
    with pytest.raises(DataError, match="columns of the model"):
        model("plain").predict(np.zeros((2, 3)))
    with pytest.raises(DataError, match=re.escape("did you mean 'weight'?")):
        model("plain").predict(pd.DataFrame({"wieght": [1.0, 2.0]}))
