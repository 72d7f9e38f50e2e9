"""Every public call refuses a sparse matrix whose indices do not fit its shape; it used to end the process."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import tallybayes as tb
from tallybayes import dropin
from tallybayes.errors import DataError

LABELS = np.array([0, 1, 0, 1] * 20)


def good(rows: int = 80) -> sparse.csr_array:
    return sparse.csr_array(np.tile(np.eye(4), (rows // 4, 1)))


def with_indices(value: int) -> Callable[[int], Any]:
    def make(rows: int) -> Any:
        matrix = good(rows)
        matrix.indices[1] = value
        return matrix

    return make


def with_indptr(place: int, value: int) -> Callable[[int], Any]:
    def make(rows: int) -> Any:
        matrix = good(rows)
        matrix.indptr[place] = value
        return matrix

    return make


def with_short_indptr(rows: int) -> Any:
    matrix = good(rows)
    matrix.indptr = matrix.indptr[:-1]
    return matrix


BAD = {
    "negative index": with_indices(-1),
    "index just outside": with_indices(4),
    "index far outside": with_indices(2_000_000_000),
    "indptr that decreases": with_indptr(2, 0),
    "indptr beyond the data": with_indptr(-1, 2_000_000_000),
    "indptr below zero": with_indptr(0, -5),
    "short indptr": with_short_indptr,
}


@pytest.fixture(params=BAD.values(), ids=BAD.keys())
def bad(request: pytest.FixtureRequest) -> Callable[[int], Any]:
    return request.param  # type: ignore[no-any-return]


def test_fit_refuses(bad: Callable[[int], Any]) -> None:
    with pytest.raises(DataError, match=r"column 'x'.*expected .*(index|indptr)"):
        tb.fit(bad(80), LABELS)


def test_fit_refuses_in_a_dict_of_columns(bad: Callable[[int], Any]) -> None:
    with pytest.raises(DataError, match=r"column 'words'.*expected .*(index|indptr)"):
        tb.fit({"words": bad(80), "y": LABELS}, "y")


@pytest.mark.parametrize("verb", ["learn", "forget"])
def test_learn_and_forget_refuse_and_change_nothing(verb: str, bad: Callable[[int], Any]) -> None:
    model = tb.fit(good(), LABELS)
    before = model.predict_proba(good())
    with pytest.raises(DataError, match=r"expected .*(index|indptr)"):
        getattr(model, verb)(bad(80), label=LABELS)
    assert (model.predict_proba(good()) == before).all()


@pytest.mark.parametrize("n_rows", [4, 80], ids=["small batch", "batch"])
@pytest.mark.parametrize("verb", ["predict", "predict_proba", "log_score"])
def test_scoring_refuses(verb: str, n_rows: int, bad: Callable[[int], Any]) -> None:
    model = tb.fit(good(), LABELS)
    with pytest.raises(DataError, match=r"expected .*(index|indptr)"):
        getattr(model, verb)(bad(n_rows))


def test_explain_and_leave_one_out_refuse(bad: Callable[[int], Any]) -> None:
    model = tb.fit(good(), LABELS)
    with pytest.raises(DataError, match=r"expected .*(index|indptr)"):
        model.explain(bad(80))
    with pytest.raises(DataError, match=r"expected .*(index|indptr)"):
        model.leave_one_out(bad(80), label=LABELS)


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
def test_drop_ins_refuse(name: str, bad: Callable[[int], Any]) -> None:
    classifier = getattr(dropin, name)
    with pytest.raises(ValueError, match=r"expected .*(index|indptr)"):
        classifier().fit(bad(80), LABELS)
    with pytest.raises(ValueError, match=r"expected .*(index|indptr)"):
        classifier().partial_fit(bad(80), LABELS, classes=[0, 1])
    fitted = classifier().fit(good(), LABELS)
    for verb in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        with pytest.raises(ValueError, match=r"expected .*(index|indptr)"):
            getattr(fitted, verb)(bad(4))


@pytest.mark.parametrize("name", ["GaussianNB", "CategoricalNB"])
def test_dense_drop_ins_refuse_sparse_matrices(name: str, bad: Callable[[int], Any]) -> None:
    classifier = getattr(dropin, name)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        classifier().fit(bad(80), LABELS)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        classifier().fit(good().toarray().astype(int), LABELS).predict(bad(80))


def test_the_estimator_refuses(bad: Callable[[int], Any]) -> None:
    with pytest.raises(ValueError, match=r"expected .*(index|indptr)"):
        tb.NaiveBayesClassifier().fit(bad(80), LABELS)
    fitted = tb.NaiveBayesClassifier().fit(good(), LABELS)
    for verb in ("predict", "predict_proba"):
        with pytest.raises(ValueError, match=r"expected .*(index|indptr)"):
            getattr(fitted, verb)(bad(4))


@pytest.mark.parametrize("labels", [LABELS[:-1], np.append(LABELS, 0)], ids=["too few", "too many"])
def test_labels_and_weights_of_another_length_are_refused(labels: np.ndarray) -> None:
    model = tb.fit(good(), LABELS)
    weights = np.ones(len(labels))
    for call in (
        lambda: tb.fit(good(), labels),
        lambda: tb.fit(good(), LABELS, sample_weight=weights),
        lambda: model.learn(good(), label=labels),
        lambda: model.forget(good(), label=labels),
        lambda: model.leave_one_out(good(), label=labels),
        lambda: dropin.MultinomialNB().fit(good(), labels),
        lambda: dropin.MultinomialNB().fit(good(), LABELS, sample_weight=weights),
        lambda: dropin.GaussianNB().fit(good().toarray(), labels),
    ):
        with pytest.raises(ValueError, match=r"rows|samples|labels|weights|[Ll]ength|shape"):
            call()


def test_a_matrix_of_another_width_is_refused_by_drop_ins() -> None:
    wide = sparse.csr_array(np.ones((4, 9)))
    for name in ("MultinomialNB", "ComplementNB", "BernoulliNB"):
        with pytest.raises(ValueError, match="features"):
            getattr(dropin, name)().fit(good(), LABELS).predict(wide)
