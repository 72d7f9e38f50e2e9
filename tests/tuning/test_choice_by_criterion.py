"""Tuning by another metric than the log loss, and by validation rows of the user's."""

import subprocess
import sys

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import DataError, FileError, ParameterError
from tallybayes.evaluation.criterion import CRITERIA

OPTIONS = {"label": "y", "numeric": "categorical", "infer": "type"}


def xor(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.choice(["u", "v"], (2, n))
    y = np.where((a == b) == (rng.random(n) < 0.9), "p", "q")
    return {"a": a, "b": b, "c": rng.choice(["r", "s", "t"], n), "y": y}


def rare(n, seed):
    """Values that are rare, so that the choice of k matters."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q"], n)
    x = np.where(rng.random(n) < 0.5, y, rng.integers(0, 60, n).astype(str))
    return {"x": x, "z": rng.integers(0, 80, n).astype(str), "y": y}


@pytest.mark.parametrize("name", CRITERIA)
def test_terms_that_improve_the_criterion_are_used(name):
    """All metrics agree that an interaction which is nearly everything helps (but for the calibration error)."""
    table = xor()
    tuned = tb.tune(table, "y", criterion=name)
    used = {step.name for step in tuned.steps if step.choice == "used"}
    assert ("interactions" in used) is (name != "ece")
    assert tuned.criterion.name == name
    first, last = tuned.steps[0], tuned.steps[-1]
    if name == "log_loss":
        assert tuned.values is None
        assert "criterion" not in tuned.to_dict()
    elif name != "ece":
        assert (last.after > first.before) is CRITERIA[name].is_higher_better
        assert tuned.to_dict()["criterion_after"] == tuned.values[1] == tuned.estimate.value
        found = getattr(tb.evaluate(tuned.model, xor(seed=1)), name)
        assert found == pytest.approx(tuned.values[1], abs=4 * tuned.estimate.value_error)


def test_accuracy_is_estimated_in_the_same_way_as_a_criterion():
    tuned = tb.tune(xor(), "y", criterion="accuracy")
    estimate = tuned.estimate
    assert (estimate.value, estimate.value_error) == (estimate.accuracy, estimate.accuracy_error)


def test_a_criterion_that_the_default_model_fulfils_keeps_it():
    table = xor()
    del table["a"]
    tuned = tb.tune(table, "y", criterion="accuracy")
    assert tuned.is_default
    assert tuned.values[0] == tuned.values[1]


@pytest.mark.parametrize("name", CRITERIA)
def test_hyperparameters_are_selected_by_the_criterion(name):
    tuned = tb.tune(rare(800, 0), what="smoothing", criterion=name, strengths=6, **OPTIONS)
    assert all({"k", "log_loss", name} == point.keys() for point in tuned.curve)
    for step in tuned.steps:
        is_better = step.after > step.before if CRITERIA[name].is_higher_better else step.after < step.before
        assert is_better or step.choice == "unchanged"
    for point in tuned.curve[::5]:
        model = tb.fit(rare(800, 0), smoothing=point["k"], column_weights=None, **OPTIONS)
        found = tb.evaluate(model, rare(800, 0), leave_one_out=True)
        assert getattr(found, name) == pytest.approx(point[name], rel=1e-3)  # ties differ in the last bit


@pytest.mark.parametrize("name", CRITERIA)
def test_validation_rows_select_the_best_k(name):
    """By brute force: a model for each k, evaluated on the validation rows; of equal ones the lowest log loss."""
    train, valid = rare(300, 0), rare(200, 1)
    tuned = tb.tune(train, validation=valid, strengths=7, criterion=name, **OPTIONS)
    assert (tuned.by, tuned.test, tuned.n_rows) == ("validation", None, 200)
    model = tb.fit(train, column_weights=None, **OPTIONS)
    smoothings = [model.settings.smoothing, *(point["k"] for point in tuned.curve)]
    found = [tb.evaluate(model.with_settings(smoothing=k), valid) for k in smoothings]
    sign = -1 if CRITERIA[name].is_higher_better else 1
    best = min(range(len(found)), key=lambda i: (sign * getattr(found[i], name), found[i].log_loss))
    assert tuned.log_loss == (found[0].log_loss, found[best].log_loss)
    assert tb.evaluate(tuned.model, valid).log_loss == found[best].log_loss
    assert tuned.model.class_counts == model.class_counts  # validation rows are not learned
    np.testing.assert_array_equal([point[name] for point in tuned.curve], [getattr(one, name) for one in found[1:]])


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_the_share_of_rows_that_judge(share):
    tuned = tb.tune(rare(4000, 0), validation=share, strengths=3, **OPTIONS)
    assert tuned.n_rows == pytest.approx(4000 * share, rel=0.1)
    assert tuned.test.n_rows == pytest.approx(800, rel=0.1)
    assert sum(tuned.model.class_counts.values()) + tuned.test.n_rows == 4000


def test_the_default_share_is_a_fifth():
    one, other = (tb.tune(rare(500, 0), **OPTIONS, **how) for how in ({"by": "validation"}, {"validation": 0.2}))
    assert one.to_dict() == other.to_dict()
    assert one.model == other.model


def test_a_share_is_of_whole_groups():
    table = rare(600, 0) | {"g": np.repeat(np.arange(60), 10)}
    tuned = tb.tune(table, validation=0.3, group="g", strengths=3, **OPTIONS)
    assert tuned.n_rows % 10 == tuned.test.n_rows % 10 == 0


def test_parts_do_not_depend_on_data_made_with_the_same_seed():
    """The numbers of default_rng(0) once decided both: the model would have learned one class."""
    u = np.random.default_rng(0).random(1000)
    table = {"x": np.random.default_rng(5).choice(list("abc"), 1000), "y": np.where(u < 0.85, "ham", "spam")}
    tuned = tb.tune(table, label="y", by="validation", strengths=5)
    assert abs(np.corrcoef(u, np.isin(np.arange(1000), split_rows(u)))[0, 1]) < 0.1
    shares = [tuned.test.n_rows, tuned.n_rows, sum(tuned.model.class_counts.values())]
    assert shares == [200, 200, 800]
    n_spam = int((u >= 0.85).sum())
    assert tuned.model.class_counts["spam"] == pytest.approx(0.8 * n_spam, abs=1)


def split_rows(values):
    """The rows of the last part of `split`, without a label."""
    return tb.split({"i": list(range(len(values)))}, parts=(60, 20, 20), seed=0)[2]["i"]


def test_a_file_has_the_parts_of_its_table(tmp_path):
    table = rare(500, 0)
    lines = ["x,z,y", *map(",".join, zip(*table.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    one, other = (tb.tune(data, by="validation", strengths=3, **OPTIONS) for data in (table, tmp_path / "t.csv"))
    assert one.model.class_counts == other.model.class_counts
    assert one.test.to_dict() == other.test.to_dict()


@pytest.mark.parametrize("share", [0, 0.8, 1, -0.1, 30, float("nan"), True])
def test_a_share_that_leaves_no_part_is_refused(share):
    with pytest.raises((ParameterError, DataError)):
        tb.tune(rare(100, 0), validation=share, **OPTIONS)


def test_validation_rows_that_cannot_judge_are_refused():
    train, valid = rare(300, 0), rare(100, 1)
    with pytest.raises(ParameterError, match="by='validation' with validation="):
        tb.tune(train, validation=valid, by="evidence", **OPTIONS)
    with pytest.raises(ParameterError, match="label: the name of a column"):
        tb.tune({"x": train["x"]}, train["y"], validation=valid)
    with pytest.raises(DataError, match="'y'"):
        tb.tune(train, validation={"x": ["p", "q"]}, **OPTIONS)
    with pytest.warns(tb.DataWarning), pytest.raises(DataError, match="classes that the training rows have"):
        tb.tune(train, validation=valid | {"y": ["other"] * 100}, **OPTIONS)
    with pytest.raises(DataError, match="rows with a label"):
        tb.tune(train, validation=valid | {"y": [None] * 100}, **OPTIONS)
    with pytest.raises(DataError, match="on which auc is defined"):
        tb.tune(train, validation=valid | {"y": ["p"] * 100}, criterion="auc", **OPTIONS)
    with pytest.raises(ParameterError, match="read more than once"):
        tb.tune(train, validation=iter([valid]), **OPTIONS)
    with pytest.raises(FileError, match="nowhere"):
        tb.tune(train, validation="nowhere.csv", **OPTIONS)


def test_evidence_has_no_metrics():
    with pytest.raises(ParameterError, match="criterion='log_loss' with by='evidence'"):
        tb.tune(rare(100, 0), by="evidence", criterion="accuracy", **OPTIONS)


def test_texts_by_a_criterion():
    """Corrections of words are judged by the criterion too."""
    rng = np.random.default_rng(0)
    y = rng.choice(["ham", "spam"], 400)
    words = [rng.choice(["cash", "prize"] if label == "spam" else ["lunch", "noon"], 2) for label in y]
    noise = rng.choice([f"w{i}" for i in range(40)], (400, 4))
    notes = [" ".join([*own, *other]) for own, other in zip(words, noise, strict=True)]
    tuned = tb.tune({"note": notes, "y": y}, "y", criterion="auc", families={"note": "text"})
    assert tuned.criterion.name == "auc"
    assert tuned.values[1] == pytest.approx(1.0, abs=0.01)


def test_on_the_command_line(tmp_path):
    for name, seed, n in (("train", 0, 300), ("valid", 1, 100)):
        table = rare(n, seed)
        lines = ["x,z,y", *map(",".join, zip(*table.values(), strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")

    def tally(*arguments):
        command = [sys.executable, "-m", "tallybayes.cli.main", "tune", "train.csv", "--label", "y", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    found = tally("--validation", "valid.csv", "--criterion", "accuracy", "--strengths", "5")
    assert found.returncode == 0, found.stderr
    assert "accuracy before" in found.stdout
    assert "by validation on 100 rows" in found.stdout
    assert "test part" not in found.stdout
    share = tally("--validation", "0.4", "--strengths", "5")
    assert share.returncode == 0, share.stderr
    assert "test part" in share.stdout
    for arguments, message in (
        (("--validation", "0.9"), "a share of the rows between 0 and 0.8"),
        (("--validation", "missing.csv"), "there is no such file"),
        (("--criterion", "acuracy"), "did you mean 'accuracy'?"),
    ):
        wrong = tally(*arguments)
        assert wrong.returncode != 0
        assert message in wrong.stderr


def test_what_is_said_of_log_losses_is_said_of_log_losses_only():
    table = rare(400, 0)
    for how in ({"by": "validation", "criterion": "accuracy"}, {"by": "validation"}, {"criterion": "accuracy"}):
        assert "the log losses of the steps" not in str(tb.tune(table, what="smoothing", strengths=5, **how, **OPTIONS))
