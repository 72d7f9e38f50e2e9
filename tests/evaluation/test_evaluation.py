"""Metrics: against scikit-learn, against values computed by hand, and independent of batches."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.calibration import calibration_curve

import tallybayes as tb
from tallybayes.errors import DataError, ParameterError, UnsupportedError
from tallybayes.evaluation import Evaluation
from tallybayes.evaluation.scores import LIMIT, KeptRows

METRICS = ("accuracy", "balanced_accuracy", "log_loss", "brier", "auc", "ece", "majority", "prior_log_loss", "coverage")


def made(n, n_classes, seed=0):
    """Classes, labels, probabilities with ties."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.5), n).round(2) + 0.01
    p = np.exp(np.log(p / p.sum(axis=1, keepdims=True)))
    codes = np.array([rng.choice(n_classes, p=q) for q in p])
    classes = [f"c{i}" for i in range(n_classes)]
    return classes, [classes[code] for code in codes], p


def evaluated(classes, labels, p, predicted=None, shares=None):
    """An evaluation of rows; `shares` are the class shares of the training rows, by default those of the labels."""
    result = Evaluation()
    shares = [max(labels.count(label), 1e-9) for label in classes] if shares is None else shares
    with np.errstate(divide="ignore"):
        result.add(classes, labels, np.log(p), predicted, log_prior=np.log(shares) - np.log(np.sum(shares)))
    return result


def same(a, b):
    """Whether two metrics are equal or both undefined."""
    return (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_metrics_equal_those_of_scikit_learn(n_classes):
    classes, labels, p = made(400, n_classes)
    p = evaluated(classes, labels, p).scores().proba  # equal but for the last bit, which decides ties
    one, predicted = evaluated(classes, labels, p), np.array(classes)[p.argmax(axis=1)]
    assert one.accuracy == metrics.accuracy_score(labels, predicted)
    assert one.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(labels, predicted), rel=1e-12)
    assert one.log_loss == pytest.approx(metrics.log_loss(labels, p, labels=classes), rel=1e-12)
    assert one.brier == pytest.approx(metrics.brier_score_loss(labels, p, labels=classes, scale_by_half=False))
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    prior = metrics.log_loss(labels, np.tile(share, (len(labels), 1)), labels=classes)
    assert one.prior_log_loss == pytest.approx(prior, rel=1e-12)
    areas = [metrics.roc_auc_score([a == label for a in labels], p[:, c]) for c, label in enumerate(classes)]
    assert [one.auc_of(label) for label in classes] == pytest.approx(areas, rel=1e-12)
    if len(classes) == 2:
        assert one.auc_of(None) == one.auc_of(classes[1])
    assert [row["auc"] for row in one.per_class()] == pytest.approx(areas, rel=1e-12)
    whole = areas[1] if n_classes == 2 else metrics.roc_auc_score(labels, p, multi_class="ovr", labels=classes)
    assert one.auc == pytest.approx(whole, rel=1e-12)


def test_curves_equal_those_of_scikit_learn():
    classes, labels, p = made(300, 3)
    p = evaluated(classes, labels, p).scores().proba
    one, is_b = evaluated(classes, labels, p), np.array([label == "c1" for label in labels])
    for mine, theirs in (
        (one.roc("c1"), metrics.roc_curve(is_b, p[:, 1])),
        (one.precision_recall("c1"), metrics.precision_recall_curve(is_b, p[:, 1])),
    ):
        for a, b in zip(mine, theirs, strict=True):
            assert a == pytest.approx(b, rel=1e-12)
    for bins in (1, 5, 10):
        observed, predicted = calibration_curve(is_b, p[:, 1], n_bins=bins)
        rows = one.reliability(bins, "c1")
        assert [row["observed"] for row in rows] == pytest.approx(observed)
        assert [row["predicted"] for row in rows] == pytest.approx(predicted)
        assert sum(row["rows"] for row in rows) == 300
    right, top = np.array(classes)[p.argmax(axis=1)] == labels, p.max(axis=1)
    observed, predicted = calibration_curve(right, top, n_bins=10)
    rows = one.reliability()
    assert [row["observed"] for row in rows] == pytest.approx(observed)
    share = np.array([row["rows"] for row in rows]) / 300
    assert one.ece == pytest.approx(share @ np.abs(observed - predicted))


def test_metrics_of_five_rows_computed_by_hand():
    p = [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0.125, 0.875], [0.75, 0.25]]
    one = evaluated(["n", "y"], ["n", "n", "y", "n", "y"], p)
    assert one.matrix().tolist() == [[2, 1], [1, 1]]
    assert one.accuracy == 3 / 5
    assert one.balanced_accuracy == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert one.majority == 3 / 5
    assert one.prior_log_loss == pytest.approx(-(3 * math.log(3 / 5) + 2 * math.log(2 / 5)) / 5)
    assert one.log_loss == pytest.approx(-math.log(0.75 * 0.5 * 0.75 * 0.125 * 0.25) / 5)
    assert one.brier == pytest.approx(2 * (1 / 16 + 1 / 4 + 1 / 16 + 49 / 64 + 9 / 16) / 5)
    # of the 6 pairs (y, n): 0.75 beats 0.25 and 0.5 but not 0.875; 0.25 ties with 0.25 and loses twice
    assert one.auc == (2 + 0.5) / 6
    assert one.reliability(2) == [  # 0.5 is in the lower half
        {"low": 0.0, "high": 0.5, "rows": 1, "predicted": 0.5, "observed": 1.0},
        {"low": 0.5, "high": 1.0, "rows": 4, "predicted": 3.125 / 4, "observed": 2 / 4},
    ]
    assert one.ece == pytest.approx((0.5 + 1 * abs(1 - 0.75) * 0 + 3 * abs(2 / 3 - 0.75) + 0.875) / 5)
    scores = one.scores()
    assert (scores.classes, scores.codes.tolist(), scores.predicted.tolist()) == (
        ["n", "y"],
        [0, 0, 1, 0, 1],
        [0, 0, 1, 1, 0],
    )


def test_rows_without_a_prediction_are_excluded_from_accuracy():
    p = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.45, 0.55]]
    one = evaluated(["a", "b"], ["a", "b", "b", "b"], p, predicted=[0, -1, 1, 0])
    assert (one.n_rows, one.abstained, one.coverage) == (4, 1, 3 / 4)
    assert one.accuracy == 2 / 3
    assert one.matrix().tolist() == [[1, 0], [1, 1]]
    assert (one.majority, one.class_rows) == (3 / 4, {"a": 1, "b": 3})
    assert one.balanced_accuracy == (1 + 1 / 2) / 2
    every = evaluated(["a", "b"], ["a", "b", "b", "b"], p)
    assert (one.log_loss, one.brier, one.auc) == (every.log_loss, every.brier, every.auc)
    assert "coverage   0.7500   (1 row without a prediction)" in str(one)
    assert "coverage" not in str(every)
    assert (every.to_dict()["coverage"], one.to_dict()["abstained"]) == (1.0, 1)


ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.lists(st.integers(0, 8), min_size=3, max_size=3), st.integers(-1, 2)),
    max_size=30,
)


@given(ROWS, st.lists(st.integers(0, 30), max_size=4), st.data())
def test_the_sum_of_evaluations_of_batches_is_the_evaluation_of_all_rows(table, cuts, data):
    """The label "d" is unknown to every model; some models have their classes in another order."""

    def part(batch, turn):
        order = ["a", "b", "c"][turn:] + ["a", "b", "c"][:turn]
        p = np.array([weights for _, weights, _ in batch], float).reshape(-1, 3) + 1e-3
        p = (p / p.sum(axis=1, keepdims=True))[:, [("abc").index(label) for label in order]]
        predicted = [-1 if code < 0 else order.index("abc"[code]) for _, _, code in batch]
        shares = [{"a": 0.5, "b": 0.3, "c": 0.2}[label] for label in order]
        return evaluated(order, [label for label, _, _ in batch], p, predicted, shares)

    whole = part(table, 0)
    cuts = sorted(min(cut, len(table)) for cut in cuts)
    pieces = [table[a:b] for a, b in zip([0, *cuts], [*cuts, len(table)], strict=True)]
    parts = sum((part(piece, data.draw(st.integers(0, 2))) for piece in pieces), Evaluation())
    for name in METRICS:
        assert same(getattr(whole, name), getattr(parts, name)), name
    assert (whole.matrix() == parts.matrix()).all()
    a, b = whole.scores(), parts.scores()
    assert a.codes.tolist() == b.codes.tolist()
    assert a.predicted.tolist() == b.predicted.tolist()
    assert a.known.tolist() == b.known.tolist()
    assert a.proba == pytest.approx(b.proba)
    text = json.dumps(whole.to_dict(), allow_nan=False)
    assert json.loads(text)["rows"] == len(table)
    assert str(whole).startswith(f"rows       {len(table)}\n")


def test_evaluations_of_models_with_different_classes_are_added_by_label():
    one = evaluated(["a", "b"], ["a", "b", "c"], [[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]])
    two = evaluated(["b", "c"], ["c", "b"], [[0.2, 0.8], [0.9, 0.1]])
    both = one + two
    assert both.classes == ["a", "b", "c"]
    assert (both.n_rows, both.n_unknown, both.unknown) == (5, 1, {"c": 1})
    assert both.scores().proba.tolist() == pytest.approx(
        np.array([[0.7, 0.3, 0], [0.4, 0.6, 0], [0.5, 0.5, 0], [0, 0.2, 0.8], [0, 0.9, 0.1]])
    )
    assert both.scores().known.tolist() == [True, True, False, True, True]
    assert both.log_loss == pytest.approx(-math.log(0.7 * 0.6 * 0.8 * 0.9) / 4)
    assert both.prior_log_loss == pytest.approx(-math.log(1 / 2))  # each model had the shares 1/2 and 1/2
    assert both.majority == 2 / 5  # the first of two equally frequent classes: a, then b
    assert both.accuracy == 4 / 5
    assert both.auc_of("c") == pytest.approx((1 * 3 + (0 + 0.5 + 0.5)) / 6)  # its two rows against the three others


@pytest.mark.parametrize(
    ("classes", "labels", "p", "defined"),
    [
        (["a"], [], np.zeros((0, 1)), set()),
        (["a"], ["a", "a"], [[1.0], [1.0]], {*METRICS} - {"auc"}),
        (["a", "b"], ["a", "a"], [[0.8, 0.2], [0.3, 0.7]], {*METRICS} - {"auc"}),
        (["a", "b"], ["z"], [[0.8, 0.2]], {"accuracy", "balanced_accuracy", "ece", "majority", "coverage"}),
        (["a", "b", "c"], ["a", "b"], [[0.8, 0.2, 0.0], [1.0, 0.0, 0.0]], {*METRICS} - {"log_loss"}),
    ],
    ids=["no rows", "one class", "rows of one class", "unknown label", "impossible class"],
)
def test_undefined_metrics_are_none_in_json(classes, labels, p, defined):
    one = evaluated(classes, labels, np.asarray(p))
    plain = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    for name in METRICS:
        assert (plain[name] is not None) == (name in defined), name
    assert str(one)
    intervals = one.bootstrap(20)
    assert {name for name, (_, high) in intervals.items() if math.isfinite(high)} == defined & intervals.keys()
    assert str(one)
    json.dumps(one.to_dict(), allow_nan=False)
    for label in one.scores().classes:
        assert len(one.roc(label)) == len(one.precision_recall(label)) == 3
        one.reliability(4, label)


def test_a_true_class_of_probability_zero_makes_only_the_log_loss_infinite():
    one = evaluated(["a", "b"], ["a", "b", "a"] * 10, [[0.8, 0.2], [1.0, 0.0], [0.7, 0.3]] * 10)
    assert one.log_loss == math.inf
    assert one.bootstrap(50)["log_loss"] == (math.inf, math.inf)
    assert "log loss   inf" in str(one)
    assert one.to_dict()["log_loss"] is None
    assert np.isfinite([one.brier, one.auc, one.ece]).all()


def test_too_many_rows_are_summed_but_not_kept():
    one = Evaluation(kept=KeptRows(n_cells=LIMIT))
    one.add(["a", "b"], ["a", "b"], np.log([[0.75, 0.25], [0.5, 0.5]]))
    assert (one.accuracy, one.n_rows) == (0.5, 2)
    for ask in (one.scores, one.bootstrap, one.reliability, one.roc, lambda: one.auc, lambda: one.ece):
        with pytest.raises(UnsupportedError, match="too many rows to keep"):
            ask()
    assert "AUC        -" in str(one)
    plain = one.to_dict()
    assert (plain["auc"], plain["ece"], plain["reliability"], plain["accuracy"]) == (None, None, None, 0.5)
    assert not (one + evaluated(["a"], ["a"], [[1.0]])).kept.complete


def test_a_bootstrap_replicate_has_the_metrics_of_rows_drawn_with_replacement():
    classes, labels, p = made(200, 3)
    one, predicted, codes = (
        evaluated(classes, labels, p),
        p.argmax(axis=1),
        np.array([classes.index(a) for a in labels]),
    )
    for seed in range(5):
        found = one.bootstrap(1, seed)
        drawn = np.random.default_rng(seed).integers(0, 200, 200, dtype=np.int32)
        y, q = codes[drawn], p[drawn]
        expected = {
            "accuracy": metrics.accuracy_score(y, predicted[drawn]),
            "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted[drawn]),
            "log_loss": metrics.log_loss(y, q, labels=[0, 1, 2]),
            "brier": metrics.brier_score_loss(y, q, labels=[0, 1, 2], scale_by_half=False),
            "auc": metrics.roc_auc_score(y, q, multi_class="ovr"),
        }
        for name, value in expected.items():
            assert found[name] == pytest.approx((value, value), rel=1e-10), name


def test_bootstrap_intervals_have_about_their_nominal_coverage():
    """150 sets of 150 rows, predicted correctly with probability 0.8: a 90 % interval misses it in about 15."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(150):
        labels = ["a" if right else "b" for right in rng.random(150) < 0.8]
        low, high = evaluated(["a", "b"], labels, np.tile([0.8, 0.2], (150, 1))).bootstrap(200, level=0.9)["accuracy"]
        missed += not low <= 0.8 <= high
    assert 5 <= missed <= 30


def test_intervals_are_printed_after_bootstrap_and_dropped_when_rows_are_added():
    one = evaluated(*made(100, 2))
    assert " to " not in str(one)
    low, high = one.bootstrap(100)["accuracy"]
    assert low <= one.accuracy <= high
    assert f"accuracy   {one.accuracy:.4f}   {low:.4f} to {high:.4f}   (" in str(one)
    assert "intervals  95 %, from 100 bootstrap samples" in str(one)
    assert one.to_dict()["intervals"]["accuracy"] == [low, high]
    assert one.bootstrap(100) == one.bootstrap(100)
    one.add(["c0", "c1"], ["c0"], np.log([[0.5, 0.5]]))
    assert one.intervals == {}


def test_invalid_arguments_are_refused():
    one = evaluated(*made(20, 3))
    for ask in (
        lambda: one.bootstrap(0),
        lambda: one.bootstrap(10, -1),
        lambda: one.bootstrap(10, level=1.0),
        lambda: one.reliability(0),
        lambda: one.auc_of("nobody"),
        lambda: one.roc(),
    ):
        with pytest.raises(ParameterError):
            ask()


PETS = {
    "kind": ["a", "a", "b", "b", "a", "c", "c", "a", "b", None],
    "size": [1.0, 1.5, 3.0, 2.5, 1.2, None, 2.7, 0.9, 3.3, 2.0],
    "pet": ["cat", "cat", "dog", "dog", "cat", "dog", "dog", "dog", "cat", None],
}
HOW = {"families": {"kind": "categorical", "size": "gaussian"}, "smoothing": 1}


def test_leave_one_out_equals_refitting_without_each_row():
    model = tb.fit(PETS, label="pet", **HOW)
    found = tb.evaluate(model, PETS, leave_one_out=True)
    assert (found.n_rows, found.skipped) == (9, 1)
    expected = Evaluation()
    for i in range(9):
        others = {name: values[:i] + values[i + 1 :] for name, values in PETS.items()}
        row = {name: [values[i]] for name, values in PETS.items()}
        expected += tb.evaluate(tb.fit(others, label="pet", **HOW), row)
    for name in ("accuracy", "log_loss", "brier", "auc"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9), name
    assert tb.evaluate(model, PETS, leave_one_out=False).log_loss < found.log_loss


def test_leave_one_out_reads_weights_from_a_file(tmp_path):
    path = tmp_path / "pets.csv"
    weights = [1, 2, 1, 3, 1, 1, 2, 1, 1, 1]
    lines = [f"{k or ''},{s or ''},{p or ''},{w}" for k, s, p, w in zip(*PETS.values(), weights, strict=True)]
    path.write_text("kind,size,pet,w\n" + "\n".join(lines) + "\n")
    model = tb.fit(path, label="pet", sample_weight="w", **HOW)
    found = tb.evaluate(model, path, leave_one_out=True)
    given_weights = tb.evaluate(model, PETS, leave_one_out=True, sample_weight=weights)
    assert found.log_loss == pytest.approx(given_weights.log_loss, rel=1e-12)
    assert found.n_rows == 9


def test_weights_without_leave_one_out_and_data_without_labels_are_refused():
    model = tb.fit(PETS, label="pet", **HOW)
    with pytest.raises(ParameterError, match="only with leave_one_out"):
        tb.evaluate(model, PETS, sample_weight=[1] * 10)
    with pytest.raises(DataError, match="rows with a label"):
        tb.evaluate(model, {"kind": ["a"], "pet": [None]})


def test_predictions_follow_the_decision_and_calibration_of_the_model():
    model = tb.fit(PETS, label="pet", **HOW)
    plain = tb.evaluate(model, PETS, leave_one_out=False)
    model.decision = tb.Decision(abstain=0.7)
    predicted = [label for label, true in zip(model.predict(PETS), PETS["pet"], strict=True) if true is not None]
    found = tb.evaluate(model, PETS, leave_one_out=False)
    assert found.abstained == predicted.count(None) > 0
    assert found.n_rows == plain.n_rows == 9
    assert found.log_loss == plain.log_loss
    model.decision = tb.Decision(positive="dog", threshold=0.01)
    assert tb.evaluate(model, PETS).per_class()[1]["recall"] == 1
    model.decision = None
    model.calibrate(PETS)
    assert tb.evaluate(model, PETS, leave_one_out=True).log_loss != pytest.approx(plain.log_loss)
    p = model.predict_proba(PETS)[:9]
    expected = metrics.log_loss(PETS["pet"][:9], p, labels=model.classes)
    assert tb.evaluate(model, PETS, leave_one_out=False).log_loss == pytest.approx(expected)


def test_cross_validation_scores_every_row_once():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=90), rng.choice(["a", "b", "c"], 90)
    found = tb.cross_validate({"x": x, "y": y}, label="y", folds=3)
    assert len(found.scores()) == found.n_rows == 90
    assert found.scores().proba.sum(axis=1) == pytest.approx(1)
    assert np.bincount(found.scores().codes).tolist() == [int((y == label).sum()) for label in "abc"]


def test_baselines_use_the_class_shares_of_the_training_rows():
    """Of the five evaluated rows all are dogs: their own shares would make a baseline with log loss 0."""
    model = tb.fit({"kind": ["a", "a", "b", "b", "b"], "pet": ["cat", "cat", "dog", "dog", "dog"]}, label="pet")
    found = tb.evaluate(model, {"kind": ["a", "b", "b", "b", "b"], "pet": ["dog"] * 5})
    assert found.prior_log_loss == pytest.approx(-math.log(3 / 5))
    assert found.majority == 1.0
    assert "(nats; class shares alone: 0.5108)" in str(found)
    assert tb.evaluate(model, {"kind": ["a"] * 5, "pet": ["cat"] * 5}).majority == 0.0


def test_baselines_of_a_model_from_probabilities_use_its_prior():
    model = tb.from_probabilities({"yes": 0.25, "no": 0.75}, {"x": {"yes": {"a": 0.5, "b": 0.5}, "no": {"a": 1.0}}})
    found = tb.evaluate(model, {"x": ["a"], "y": ["yes"]}, label="y")
    assert found.prior_log_loss == pytest.approx(-math.log(0.25))


def test_baselines_are_omitted_without_training_shares():
    found = Evaluation()
    found.add(["a", "b"], ["a", "b"], np.log([[0.75, 0.25], [0.5, 0.5]]))
    assert math.isnan(found.majority)
    assert "majority" not in str(found)
    assert found.to_dict()["prior_log_loss"] is None


@pytest.mark.parametrize("folds", [np.int64(3), np.uint8(3)])
def test_folds_can_be_a_numpy_integer(folds):
    table = {"x": [1.0, 2.0, 3.0] * 6, "y": ["a", "b", "b"] * 6}
    assert tb.cross_validate(table, label="y", folds=folds).n_rows == 18
    assert tb.compare(table, label="y", folds=folds, seed=np.int64(1), sizes=[np.int16(6)]).folds == 3
