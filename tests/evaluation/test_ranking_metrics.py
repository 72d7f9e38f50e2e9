"""Average precision, KS distance, lift and Matthews correlation: against scikit-learn, SciPy and counting by hand."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from sklearn import metrics

import tallybayes as tb
from tallybayes.evaluation import Evaluation
from tallybayes.evaluation.ranking_metrics import RankedRows


def _ks_of_scipy(own, other):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # about its p-value, which is not used
        return ks_2samp(own, other).statistic


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans(), st.integers(0, 4)), min_size=2, max_size=60))
def test_they_equal_those_of_scikit_learn_and_scipy_with_ties_and_weights(rows):
    score, positive, weights = (np.array(column) for column in zip(*rows, strict=True))
    times = np.repeat(np.arange(len(rows)), weights)
    found = RankedRows(score / 8, positive).metrics(weights.astype(float))
    one_by_one = RankedRows(score[times] / 8, positive[times]).metrics()
    assert found == pytest.approx(one_by_one, nan_ok=True, rel=1e-12)
    if positive[times].any():
        expected = metrics.average_precision_score(positive, score, sample_weight=weights)
        assert found["average_precision"] == pytest.approx(expected, rel=1e-12)
    if positive[times].any() and not positive[times].all():
        own, other = (score[times][positive[times] == which] for which in (True, False))
        assert found["ks"] == pytest.approx(_ks_of_scipy(own, other), rel=1e-12)
    else:
        assert np.isnan(found["ks"])


def test_lift_is_the_share_of_the_class_in_the_top_tenth_by_its_share_of_all():
    score, positive = np.arange(40) / 40, np.isin(np.arange(40), [39, 38, 36, 5, 4, 3, 2, 1])
    assert RankedRows(score, positive).metrics()["lift"] == pytest.approx((3 / 4) / (8 / 40))
    tied = np.where(np.arange(40) >= 32, 0.9, 0.1)  # the first eight are equal: half of them count
    assert RankedRows(tied, positive).metrics()["lift"] == pytest.approx((3 / 8) / (8 / 40))
    assert RankedRows(np.ones(40), positive).metrics()["lift"] == pytest.approx(1)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_an_evaluation_has_them(n_classes):
    rng = np.random.default_rng(0)
    classes, p = [f"c{i}" for i in range(n_classes)], rng.dirichlet(np.ones(n_classes), 300).round(2) + 0.01
    codes = np.array([rng.choice(n_classes, p=q / q.sum()) for q in p])
    labels, found = [classes[code] for code in codes], Evaluation()
    found.add(classes, labels, np.log(p / p.sum(axis=1, keepdims=True)))
    score = found.scores().proba
    predicted = np.array(classes)[score.argmax(axis=1)]
    assert found.mcc == pytest.approx(metrics.matthews_corrcoef(labels, predicted))
    own = [metrics.average_precision_score(codes == c, score[:, c]) for c in range(n_classes)]
    assert found.average_precision == pytest.approx(own[1] if n_classes == 2 else np.mean(own))
    assert [row["average_precision"] for row in found.per_class()] == pytest.approx(own)
    assert found.with_positive("c0").average_precision == pytest.approx(own[0])
    assert found.with_positive("c0").to_dict()["positive"]["lift"] == found.per_class()[0]["lift"]
    values = json.loads(json.dumps(found.to_dict()))
    for name, word in (("average_precision", "AP"), ("mcc", "MCC"), ("ks", "KS"), ("lift", "lift")):
        assert values[name] == getattr(found, name)
        assert f"\n{word:<8}   {values[name]:.4f}" in str(found)


def test_what_is_undefined_is_nan():
    found = Evaluation()
    found.add(["a", "b"], ["a", "a"], np.log([[0.75, 0.25], [0.5, 0.5]]))
    assert all(np.isnan(getattr(found, name)) for name in ("average_precision", "ks", "lift", "mcc"))
    assert "AP         -" in str(found)
    assert found.to_dict()["mcc"] is None
    empty = Evaluation()
    assert np.isnan(empty.mcc)


def test_an_evaluation_by_cross_validation_has_them():
    rows = {"x": np.arange(60) % 7, "y": np.where(np.arange(60) % 7 > 3, "p", "q")}
    found = tb.cross_validate(rows, label="y")
    assert found.average_precision > 0.9
    assert found.mcc > 0.8
