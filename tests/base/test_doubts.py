"""What is said about data, to whom, and how often."""

import threading
import warnings

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.arrays.chunks import in_threads
from tallybayes.doubts import Doubt, collect_doubts, doubt, tell_together
from tallybayes.errors import DataWarning, ParameterError


def test_without_a_collector_a_doubt_is_a_warning_at_the_line_of_the_caller():
    with pytest.warns(DataWarning, match=r"column 'x': odd\nhint: mend it") as found:
        doubt("rows", "odd", column="x", hint="mend it")
    assert found[0].filename == __file__


def test_a_doubt_is_collected_once_from_threads_too():
    with collect_doubts() as found:
        in_threads(lambda start, stop: doubt("rows", f"odd {start % 2}"), 100, size=1, small=0)
        doubt("rows", "odd 1")
    assert sorted(one.text for one in found) == ["odd 0", "odd 1"]


def test_threads_of_others_are_not_listened_to():
    with collect_doubts() as found, warnings.catch_warnings(action="ignore"):
        other = threading.Thread(target=doubt, args=("rows", "elsewhere"))
        other.start()
        other.join()
    assert found == []


@tell_together()
def both():
    with tell_together() as inner:
        doubt("rows", "one")
    doubt("rows", "two")
    return [one.text for one in inner]


def test_doubts_are_told_together_to_the_outermost():
    with pytest.warns(DataWarning, match=r"please check:\n- one\n- two$") as said:
        assert both() == ["one"]
    assert len(said) == 1
    with collect_doubts() as found:
        both()
    assert [one.text for one in found] == ["one", "two"]


@tell_together()
def fail():
    doubt("rows", "one")
    raise KeyError


def test_doubts_before_an_error_reach_the_collector():
    with collect_doubts() as found, pytest.raises(KeyError):
        fail()
    assert [one.text for one in found] == ["one"]


@pytest.mark.parametrize(
    "facts",
    [None, {}, {"kind": "rows"}, {"kind": "other", "text": "a"}, {"kind": "rows", "text": 1}, {"text": "a", "x": 1}],
)
def test_only_doubts_are_read_from_files(facts):
    with pytest.raises(ParameterError):
        Doubt.from_dict(facts)


def awkward():
    """A table with an identifier by shape, rows without a label and a day that could be a month."""
    y = [None, "b", *(["a", "b"] * 29)]
    return {"x": np.arange(60) * 7 % 60, "day": ["01/02/2024", "03/02/2024"] * 30, "y": y}


def test_fit_gives_one_warning_and_the_model_keeps_its_doubts(tmp_path):
    with pytest.warns(DataWarning, match="please check:") as said:
        model = tb.fit(awkward(), label="y")
    assert len(said) == 1
    assert said[0].filename == __file__
    assert [one.kind for one in model.doubts] == ["dates", "excluded column", "rows"]
    assert all(one.text in str(said[0].message) for one in model.doubts)
    model.save(tmp_path / "a.tally")
    assert tb.load(tmp_path / "a.tally").doubts == model.doubts
    assert model.schema == tb.load(tmp_path / "a.tally").schema


def test_a_schema_that_is_given_settles_the_doubts_about_its_columns():
    with pytest.warns(DataWarning):
        schema = tb.fit(awkward(), label="y").schema
    with pytest.warns(DataWarning, match=r"^column 'y': 1 of 60 rows have no label") as said:
        model = tb.fit(awkward(), label="y", schema=schema)
    assert len(said) == len(model.doubts) == 1


def test_nothing_doubtful_no_warning():
    model = tb.fit({"x": [1.5, 2.5] * 20, "y": ["a", "b"] * 20}, label="y")
    assert model.doubts == ()


def test_merged_models_have_the_doubts_of_both():
    first, second = (
        {"x": ["a", "b"] * 30, "y": ["p", None] * 30},
        {"x": ["a", "b", "c"] * 20, "y": ["q", "p", None] * 20},
    )
    with pytest.warns(DataWarning):
        one, other = tb.fit(first, label="y"), tb.fit(second, label="y")
    assert set(one.merge(other).doubts) == {*one.doubts, *other.doubts}
    assert one.merge(other).doubts == other.merge(one).doubts


def test_tuning_and_evaluation_tell_their_doubts_together():
    rng = np.random.default_rng(0)
    data = {"a": rng.normal(size=300), "x": np.arange(300) * 7 % 300, "y": [None, *("pq" * 150)[:299]]}
    for work in (tb.tune, tb.cross_validate, tb.prequential):
        with pytest.warns(
            DataWarning, match="please check:\n- .*1 of 300 rows(.|\n)*- numbers that hardly repeat.*: x\n"
        ) as said:
            work(data, label="y")
        assert len(said) == 1


def test_whole_numbers_that_a_double_rounds_are_said():
    large = np.array([2**62 + 7 * i * i for i in range(60)])
    for values in (large, large.tolist(), large.astype(np.uint64)):
        with pytest.warns(DataWarning, match=r"whole numbers above 2\*\*53, which are rounded: big"):
            tb.fit({"big": values, "y": ["a", "b"] * 30}, label="y")
