"""scikit-learn's naive Bayes with the usual preprocessing, for any table; used by `quality`.

A recipe looks at a frame (numbers as reals, categories as text, gaps as NaN) and builds a pipeline for it. Where all
columns are treated alike there is no `ColumnTransformer`; matrices are sparse where the classifier takes them.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder

Recipe = Callable[..., BaseEstimator]  # of a frame, and the name of the column of tags if there is one


class Bins(TransformerMixin, BaseEstimator):
    """Quantile bins 1, 2, ... of every column, and 0 for a gap."""

    def __init__(self, n_bins: int = 10):
        self.n_bins = n_bins

    def fit(self, X: pd.DataFrame, y: object = None) -> "Bins":
        """Learn the bins of each column from the values that are there; columns without gaps are learned together."""
        bins = KBinsDiscretizer(self.n_bins, encode="ordinal", quantile_method="averaged_inverted_cdf")
        gaps = X.isna().any().to_numpy()
        groups = [list(X.columns[~gaps]), *([name] for name in X.columns[gaps])]
        known = [names for names in groups if names and len(X[names].dropna())]
        self.bins_ = [(names, clone(bins).fit(X[names].dropna())) for names in known]
        return self

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        """Number the bins."""
        filled, codes = X.fillna(0.0), np.zeros(X.shape)
        for names, bins in self.bins_:
            codes[:, X.columns.get_indexer(names)] = bins.transform(filled[names]) + 1
        return np.where(X.isna(), 0.0, codes)


def missing_apart() -> SimpleImputer:
    return SimpleImputer(strategy="constant", fill_value="missing")


def median() -> SimpleImputer:
    return SimpleImputer(strategy="median")


def one_hot(*, sparse: bool = True) -> OneHotEncoder:
    return OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)


def ordinal() -> Pipeline:
    """Codes 1, 2, ...; a category never seen is 0, which every column of CategoricalNB then has room for."""
    return make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        FunctionTransformer(lambda codes: codes + 1),
    )


def binned(n_bins: int) -> Pipeline:
    return make_pipeline(Bins(n_bins), one_hot())


def recipe(model: BaseEstimator, numbers: object, categories: object, *, fill: object = "passthrough") -> Recipe:
    """A pipeline for any table: numbers and categories each prepared in their way, tags as one column per tag.

    Numbers that have gaps are filled first; gaps among categories are a category of their own.
    """
    dense = isinstance(model, GaussianNB | CategoricalNB)

    def build(frame: pd.DataFrame, tags: str | None = None) -> Pipeline:
        numeric = frame.select_dtypes("number").columns
        others = frame.columns.difference([*numeric, tags], sort=False)
        parts = [(make_pipeline(fill, numbers), numeric), (make_pipeline(missing_apart(), categories), others)]
        if tags:
            parts.append((CountVectorizer(token_pattern=r"[^|]+", lowercase=False, binary=True), tags))
        parts = [(step, names) for step, names in parts if len(names)]
        if len(parts) == 1:
            return make_pipeline(parts[0][0], model)
        named = [(f"{i}", step, names) for i, (step, names) in enumerate(parts)]
        return make_pipeline(ColumnTransformer(named, sparse_threshold=0 if dense else 1), model)

    return build


RECIPES = {
    "GaussianNB": recipe(GaussianNB(), "passthrough", one_hot(sparse=False), fill=median()),
    "CategoricalNB, 10 bins": recipe(CategoricalNB(), Bins(10), ordinal()),
    "CategoricalNB, 5 bins": recipe(CategoricalNB(), Bins(5), ordinal()),
    "BernoulliNB, 10 bins": recipe(BernoulliNB(), binned(10), one_hot()),
    "BernoulliNB, 5 bins": recipe(BernoulliNB(), binned(5), one_hot()),
    "MultinomialNB": recipe(MultinomialNB(), MinMaxScaler(clip=True), one_hot(), fill=median()),
    "ComplementNB": recipe(ComplementNB(), MinMaxScaler(clip=True), one_hot(), fill=median()),
}
