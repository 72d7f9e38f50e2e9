"""NaiveBayesClassifier with the tools of scikit-learn: pipelines, searches, ensembles, clones, routing."""

import pickle

import numpy as np
import pytest
import sklearn
from mixed_frame import mixed
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tallybayes import NaiveBayesClassifier


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column .* possible leak:tallybayes.errors.DataWarning")
def test_works_in_pipelines_searches_and_ensembles():
    frame, y = mixed()
    C = NaiveBayesClassifier
    numbers = make_column_selector(dtype_include="number")
    scaled = ColumnTransformer([("scaled", StandardScaler(), numbers)], remainder="passthrough")
    one_hot = ColumnTransformer([("one hot", OneHotEncoder(), ["colour", "home"])])
    assert make_pipeline(scaled, C()).fit(frame, y).score(frame, y) > 0.8
    assert make_pipeline(scaled.set_output(transform="pandas"), C()).fit(frame, y).score(frame, y) > 0.8
    assert make_pipeline(one_hot, C()).fit(frame, y).score(frame, y) > 0.4
    assert cross_val_score(C(), frame, y, cv=3).mean() > 0.8
    search = GridSearchCV(C(), {"smoothing": ["auto", 1.0], "numeric": ["histogram", "gaussian"]}, cv=3)
    assert search.fit(frame, y).best_score_ > 0.8
    assert CalibratedClassifierCV(C(), cv=3).fit(frame, y).score(frame, y) > 0.8
    assert OneVsRestClassifier(C()).fit(frame, y).score(frame, y) > 0.8
    voting = VotingClassifier([("a", C()), ("b", C(numeric="gaussian"))], voting="soft")
    assert voting.fit(frame, y).score(frame, y) > 0.8
    tuned = TunedThresholdClassifierCV(C(), cv=3).fit(frame, y == "dog")
    assert 0 < tuned.best_threshold_ < 1
    assert tuned.score(frame, y == "dog") > 0.8


@pytest.mark.slow
def test_predictions_are_the_same_in_other_processes():
    frame, y = mixed()
    alone = cross_val_predict(NaiveBayesClassifier(), frame, y, cv=3, method="predict_proba")
    together = cross_val_predict(NaiveBayesClassifier(), frame, y, cv=3, method="predict_proba", n_jobs=2)
    assert np.array_equal(alone, together)


def test_sample_weights_are_routed_as_metadata():
    frame, y = mixed()
    weight = np.random.default_rng(0).integers(1, 3, 300)
    with sklearn.config_context(enable_metadata_routing=True):
        one = NaiveBayesClassifier().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(one).fit(frame, y, sample_weight=weight)
        expected = NaiveBayesClassifier().fit(frame, y, sample_weight=weight)
        assert pipeline[-1].model_ == expected.model_
        ovr = OneVsRestClassifier(NaiveBayesClassifier().set_partial_fit_request(classes=True))
        assert ovr.get_metadata_routing()


def test_clones_pickles_parameters_and_html():
    frame, y = mixed()
    one = NaiveBayesClassifier(smoothing=3.0).fit(frame, y)
    again = pickle.loads(pickle.dumps(one))
    assert np.array_equal(again.predict_proba(frame), one.predict_proba(frame))
    assert again.model_ == one.model_
    fresh = clone(one).set_params(numeric="gaussian")
    assert fresh.get_params()["smoothing"] == 3.0
    assert not hasattr(fresh, "classes_")
    assert repr(fresh) == "NaiveBayesClassifier(numeric='gaussian', smoothing=3.0)"
    assert "NaiveBayesClassifier" in one._repr_html_()
    with pytest.raises(NotFittedError):
        fresh.predict(frame)
    tags = one.__sklearn_tags__()
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse
    assert tags.input_tags.string
    assert tags.input_tags.categorical
