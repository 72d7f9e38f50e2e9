"""Metrics as criteria: their values are those of `evaluate`, with weights as repetitions, and what rows contribute."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from tallybayes.errors import ParameterError
from tallybayes.evaluation.criterion import CRITERIA, Criterion
from tallybayes.evaluation.metrics import Evaluation

HIGHER = {"accuracy", "balanced_accuracy", "auc", "average_precision", "ks", "lift", "mcc"}


def rows_of(seed, n_classes, n=60, *, ties=False):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n).astype(np.int32)
    scores = rng.normal(size=(n, n_classes)) + 0.7 * np.eye(n_classes)[codes]
    return scores.round(1) if ties else scores, codes, rng.integers(1, 4, n).astype(float)


def metric(criterion, scores, codes, weights):
    losses = criterion.losses(scores, codes, weights)
    return criterion.value((losses * weights).sum() / weights.sum())


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@given(seed=st.integers(0, 10**6))
def test_the_mean_is_the_metric_of_evaluate(name, n_classes, seed):
    """With weights as repetitions of the rows."""
    scores, codes, weights = rows_of(seed, n_classes)
    log_proba = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    times, found = np.repeat(np.arange(len(codes)), weights.astype(int)), Evaluation()
    found.add(list(range(n_classes)), codes[times].tolist(), log_proba[times])
    assert metric(CRITERIA[name], scores, codes, weights) == pytest.approx(getattr(found, name), rel=1e-9)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("n_classes", [2, 3])
@given(seed=st.integers(0, 10**6))
def test_values_are_derivatives_by_the_weights(name, n_classes, seed):
    """Of the metric, computed as differences; with ties between rows."""
    criterion, step = CRITERIA[name], 1e-5
    scores, codes, weights = rows_of(seed, n_classes, 25, ties=True)
    weights = weights + np.linspace(0, 0.1, 25)  # so that the end of the first tenth is within a step
    value = metric(criterion, scores, codes, weights)
    values = np.array([criterion.value(loss) for loss in criterion.losses(scores, codes, weights)])
    for i, expected in enumerate(values.tolist()):
        up, down = (metric(criterion, scores, codes, weights + way * np.eye(25)[i]) for way in (step, -step))
        slope = value + weights.sum() * (up - down) / (2 * step)
        is_kink = name in ("ks", "ece", "lift") and abs(up + down - 2 * value) > 1e-8
        assert is_kink or slope == pytest.approx(expected, abs=1e-5)


def test_weighted_metrics_are_those_of_scikit_learn():
    scores, codes, weights = rows_of(3, 2, 200)
    p, answers = (1 / (1 + np.exp(scores[:, 0] - scores[:, 1]))), scores.argmax(axis=1)
    expected = {
        "accuracy": sk.accuracy_score(codes, answers, sample_weight=weights),
        "balanced_accuracy": sk.balanced_accuracy_score(codes, answers, sample_weight=weights),
        "log_loss": sk.log_loss(codes, np.stack([1 - p, p], axis=1), sample_weight=weights),
        "brier": 2 * sk.brier_score_loss(codes, p, sample_weight=weights),
        "auc": sk.roc_auc_score(codes, p, sample_weight=weights),
        "average_precision": sk.average_precision_score(codes, p, sample_weight=weights),
        "mcc": sk.matthews_corrcoef(codes, answers, sample_weight=weights),
    }
    found = {name: metric(CRITERIA[name], scores, codes, weights) for name in expected}
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "brier", "auc", "average_precision", "ks", "mcc"])
def test_the_standard_error_is_the_spread_over_samples(name):
    """That of 400 samples of 400 rows, within a fifth (the spread of so few samples is known to 4 %)."""
    criterion, found, errors = CRITERIA[name], [], []
    for seed in range(400):
        scores, codes, _ = rows_of(seed, 2, 400)
        losses = criterion.losses(scores, codes, np.ones(400))
        found.append(losses.mean())
        errors.append(losses.std() / 20)
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.2)


def test_each_metric_says_which_direction_is_better():
    """A perfect answer is better than a bad one by every criterion; KS takes a ranking that is upside down for good."""
    codes = np.array([0, 0, 1, 1, 0, 1, 1, 0, 0, 1] * 2, np.int32)
    right = 9.0 * np.eye(2)[codes]
    ones = np.ones(len(codes))
    for name, criterion in CRITERIA.items():
        assert criterion.is_higher_better is (name in HIGHER)
        wrong = np.zeros((20, 2)) if name == "ks" else -right
        assert criterion.losses(right, codes, ones).mean() < criterion.losses(wrong, codes, ones).mean()


def test_an_undefined_metric_is_nan_and_an_unknown_name_an_error():
    one_class, ones = np.zeros(3, np.int32), np.ones(3)
    scores = np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert np.isnan(CRITERIA["auc"].losses(scores, one_class, ones)).all()
    assert np.isnan(CRITERIA["mcc"].losses(scores, one_class, ones)).all()
    for wrong in ("acuracy", "majority", None, 3):
        with pytest.raises(ParameterError, match="criterion: a metric of evaluate"):
            Criterion.of(wrong)
