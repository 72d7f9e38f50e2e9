"""Prequential evaluation: test each block of a stream, then learn it."""

import json

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import DataError, ParameterError
from tallybayes.evaluation import Evaluation


def made(n, seed=0):
    """Rows whose labels are swapped half way."""
    rng = np.random.default_rng(seed)
    x, kind = rng.normal(size=n), rng.choice(["a", "b"], n)
    flip = np.arange(n) >= n // 2
    y = np.where(((x > 0) ^ (rng.random(n) < 0.1)) ^ flip, "up", "down")
    return {"x": x.tolist(), "kind": kind.tolist(), "y": y.tolist()}


HOW = {"families": {"x": "gaussian", "kind": "categorical"}}


def part(table, start, stop):
    return {name: values[start:stop] for name, values in table.items()}


def test_every_block_is_scored_by_the_model_of_the_rows_before_it():
    table, expected = made(130), Evaluation()
    found = tb.prequential(table, label="y", every=25, **HOW)
    for row, start in zip(found.rows, range(25, 130, 25), strict=True):
        block = tb.evaluate(
            tb.fit(part(table, 0, start), label="y", **HOW, column_weights=None), part(table, start, start + 25)
        )
        expected += block
        assert row == {
            "rows": min(start + 25, 130),
            "accuracy": expected.accuracy,
            "log_loss": pytest.approx(expected.log_loss, rel=1e-12),
            "block_rows": block.n_rows,
            "block_accuracy": block.accuracy,
            "block_log_loss": pytest.approx(block.log_loss, rel=1e-12),
        }
    assert found.evaluation.n_rows == 105
    assert found.accuracy == expected.accuracy
    assert found.evaluation.auc == pytest.approx(expected.auc)


def test_blocks_can_be_single_rows():
    table = made(40)
    found = tb.prequential(table, label="y", every=1, **HOW)
    model = tb.fit(part(table, 0, 1), label="y", **HOW, column_weights=None)
    right = 0
    for i in range(1, 40):
        right += model.predict(part(table, i, i + 1))[0] == table["y"][i]
        model.learn(part(table, i, i + 1))
    assert found.accuracy == right / 39
    assert [row["rows"] for row in found.rows] == list(range(2, 41))


@pytest.mark.parametrize("every", [None, 7, 64])
@pytest.mark.parametrize("size", [1, 13, 50, 200])
def test_the_result_does_not_depend_on_the_batches(every, size):
    table = made(200)
    whole = tb.prequential(table, label="y", every=every, infer="type", **HOW)
    stream = (part(table, start, start + size) for start in range(0, 200, size))
    parts = tb.prequential(stream, label="y", every=every, infer="type", **HOW)
    assert [row["accuracy"] for row in whole.rows] == [row["accuracy"] for row in parts.rows]
    assert whole.rows[-1]["log_loss"] == pytest.approx(parts.rows[-1]["log_loss"], rel=1e-12)


def test_default_blocks_grow_with_the_number_of_rows_learned():
    rows = [row["rows"] for row in tb.prequential(made(2000), label="y", **HOW).rows]
    assert rows[:3] == [20, 30, 40]
    assert rows[-1] == 2000
    sizes = np.diff(rows[:-1])
    assert (np.diff(sizes) >= 0).all()
    assert 30 <= sizes.max() <= 40


def test_the_curve_shows_a_drift_of_the_stream():
    found = tb.prequential(made(2000), label="y", every=100, **HOW)
    by_rows = {row["rows"]: row["block_accuracy"] for row in found.rows}
    assert by_rows[1000] > 0.8
    assert by_rows[1100] < 0.3
    text = str(found).splitlines()
    assert text[0].split() == ["rows", "accuracy", "log", "loss", "last", "accuracy", "last", "log", "loss"]
    assert len(text[1].split()) == 5
    assert found.to_dict()["curve"][-1]["rows"] == 2000
    assert found.to_dict()["accuracy"] == found.accuracy
    json.dumps(found.to_dict(), allow_nan=False)


def test_missing_labels_new_labels_and_arrays_of_labels():
    table = made(60)
    labels = [None if i % 10 == 3 else "new" if i == 50 else label for i, label in enumerate(table.pop("y"))]
    found = tb.prequential(table, labels, every=20, **HOW)
    assert found.evaluation.skipped == 6
    assert found.evaluation.n_rows == 60 - 20 - 4
    assert found.evaluation.n_unknown == 1
    late = tb.prequential(
        table, [None] * 20 + labels[20:], every=10, **HOW
    )  # without any label there is nothing to score with
    assert late.rows[0]["rows"] == 40


@pytest.mark.filterwarnings("ignore:.* could not be read and w:tallybayes.errors.DataWarning")
def test_bad_rows_of_a_file_are_counted_once(tmp_path):
    path = tmp_path / "log.csv"
    lines = [f"{i % 5},{'a' if i % 2 else 'b'}" for i in range(80)]
    lines[30] = lines[70] = "inf,a"
    path.write_text("n,y\n" + "\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"log.csv, line 32"):
        tb.prequential(path, label="y", families={"n": "gaussian"})
    found = tb.prequential(tb.read(path, skip_bad=True), label="y", families={"n": "gaussian"}, every=10)
    assert found.evaluation.bad == 2
    assert found.evaluation.n_rows == 68


def test_invalid_arguments_are_refused():
    for every in (0, -1, 2.5, "x"):
        with pytest.raises(ParameterError, match="every"):
            tb.prequential(made(20), label="y", every=every)
    with pytest.raises(ParameterError, match="the name of an option, got 'sample_weight'"):
        tb.prequential({**made(20), "w": [1] * 20}, label="y", sample_weight="w")
    with pytest.raises(DataError, match="after the first block"):
        tb.prequential(made(10), label="y")
    with pytest.raises(DataError, match="label column"):
        tb.prequential(made(10), label="nothing")


def test_electricity_prices_in_time_order(shared_data):
    found = tb.prequential(shared_data / "elec2.parquet", label="class", every=1000)
    assert found.evaluation.n_rows == 45_312 - 1000
    assert found.accuracy > found.evaluation.majority + 0.1
