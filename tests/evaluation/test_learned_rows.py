"""A model that is evaluated on the rows it has learned: that is found by the sums, said, and scored by folds."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import tallybayes as tb
from tallybayes.errors import DataWarning

BY_FOLDS = "training rows, scored by folds: each by a model without it"


def visits(n=200, seed=0):
    """Rows of numbers, categories and texts, with gaps, some without a label."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    return {
        "level": [None if rng.random() < 0.1 else float(x) for x in rng.normal(size=n) + ill],
        "kind": rng.choice(["a", "b", "c"], n).tolist(),
        "code": [f"c{i}" for i in rng.integers(0, 60, n)],
        "note": [" ".join(rng.choice(["pain", "cough", "fine", "rest"], 3)) for _ in range(n)],
        "ill": [None if rng.random() < 0.05 else ("yes" if one else "no") for one in ill],
    }


def reordered(rows, seed=1):
    order = np.random.default_rng(seed).permutation(len(rows["ill"]))
    return {name: [values[i] for i in order] for name, values in rows.items()}


@pytest.fixture(scope="module")
def model():
    return tb.fit(visits(), label="ill", families={"note": "text"})


def test_learned_rows_are_scored_by_folds(model):
    found, by_folds = tb.evaluate(model, visits()), tb.evaluate(model, visits(), leave_one_out=True)
    assert found.log_loss == by_folds.log_loss
    assert found.split == by_folds.split == BY_FOLDS
    assert f"split      {BY_FOLDS}" in str(found)
    with_themselves = tb.evaluate(model, visits(), leave_one_out=False)
    assert with_themselves.log_loss < found.log_loss
    assert with_themselves.split == "none: the rows that the model has learned, each scored with itself"


def test_the_order_and_the_format_of_learned_rows_do_not_matter(model, tmp_path):
    assert tb.evaluate(model, reordered(visits())).split == BY_FOLDS
    path = tmp_path / "visits.csv"
    pa.csv.write_csv(pa.table(reordered(visits())), path)
    assert tb.evaluate(model, str(path)).split == BY_FOLDS


def test_rows_in_closed_form_are_said_to_be_left_out_one_by_one():
    rows = {"x": [1.0, 2.0, 4.0, 3.5, 1.5, 5.0], "y": ["a", "a", "b", "b", "a", "b"]}
    model = tb.fit(rows, label="y", numeric="gaussian", column_weights=None)
    found = tb.evaluate(model, rows)
    assert found.split == "training rows, scored by leave-one-out: each by a model without it"
    assert found.log_loss == tb.evaluate(model, rows, leave_one_out=True).log_loss


@pytest.mark.parametrize("changed", ["one more", "one less", "another value", "another label", "missing label"])
def test_other_rows_are_scored_as_new(model, changed):
    rows = {name: list(values) for name, values in visits().items()}
    own = next(i for i, label in enumerate(rows["ill"]) if label == "no")
    if changed in ("one more", "one less"):
        for values in rows.values():
            values.append(values[own]) if changed == "one more" else values.pop(own)
    elif changed == "another value":
        rows["level"][own] = 99.0
    else:
        rows["ill"][own] = "yes" if changed == "another label" else None
    found = tb.evaluate(model, rows)
    assert found.split == ""
    assert found.log_loss == tb.evaluate(model, rows, leave_one_out=False).log_loss


def test_a_model_that_has_learned_more_rows_makes_no_claim(model):
    grown = model.copy()
    grown.learn({name: values[:1] for name, values in reordered(visits()).items() if name != "ill"}, label=["no"])
    assert tb.evaluate(grown, visits()).split == ""


def test_weighted_rows_are_found_by_their_weights():
    rows = visits() | {"times": [1 + i % 3 for i in range(200)]}
    model = tb.fit(rows, label="ill", sample_weight="times", families={"note": "text"})
    assert tb.evaluate(model, reordered(rows)).split == BY_FOLDS
    assert tb.evaluate(model, visits()).split == ""  # without their weights the rows have other sums
    assert tb.evaluate(model, rows | {"times": [1] * 200}).split == ""


def test_a_stream_of_learned_rows_is_scored_as_it_is_with_a_warning(model):
    table = pa.table(visits())
    with pytest.warns(DataWarning, match="each scored with itself"):
        found = tb.evaluate(model, iter(table.to_batches(max_chunksize=50)))
    assert found.split == "none: the rows that the model has learned, each scored with itself"
    with pytest.warns(DataWarning, match="have no label and were left out") as said:
        assert tb.evaluate(model, iter(table.slice(1).to_batches(max_chunksize=50))).split == ""
    assert len(said) == 1


@pytest.mark.filterwarnings("ignore:.* could not be read and w:tallybayes.errors.DataWarning")
def test_bad_rows_are_counted_once(tmp_path):
    path = tmp_path / "levels.csv"
    lines = [f"{i % 7}.5,{'ab'[i % 2]}" for i in range(60)]
    path.write_text("\n".join(["level,y", *lines]))
    model = tb.fit(str(path), label="y")
    path.write_text("\n".join(["level,y", *lines[:30], "inf,a", *lines[30:]]))
    found = tb.evaluate(model, tb.read(str(path), skip_bad=True))
    assert (found.split, found.bad, found.n_rows) == (BY_FOLDS, 1, 60)


def test_rows_that_are_called_new_but_were_learned_are_a_warning(model):
    own = model.copy()
    with pytest.warns(DataWarning, match="the model has learned these rows"):
        own.calibrate(visits(), leave_one_out=False)
    with pytest.warns(DataWarning, match="the model has learned these rows"):
        own.decide(visits(), "yes", maximise="f1", leave_one_out=False)


@pytest.mark.slow
def test_a_report_on_learned_rows_is_by_folds(model):
    pytest.importorskip("altair")
    page = tb.report(model, visits())
    assert "Evaluated on its training rows by leave-one-out" in page
    assert "should not be training rows" in tb.report(model, visits(seed=1))
