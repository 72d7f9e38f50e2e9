"""Pairs of a drop-in and the class of scikit-learn, and tables to fit them on."""

import numpy as np
import scipy.sparse as sp
import sklearn.naive_bayes as theirs

from tallybayes import dropin as ours

NAMES = ours.__all__
COUNTING = ["BernoulliNB", "ComplementNB", "MultinomialNB"]


def pair(name, **options):
    return getattr(ours, name)(**options), getattr(theirs, name)(**options)


def table(name, rng, rows=200, kind="dense"):
    counts = rng.poisson(1.0, (rows, 6)) + (np.arange(rows) % 3 == 0)[:, None] * rng.poisson(2.0, (rows, 6))
    X = rng.normal(size=(rows, 6)) + (np.arange(rows) % 3)[:, None] if name == "GaussianNB" else counts
    if kind == "sparse":
        X = sp.csr_matrix(X)
    elif kind == "fractions":
        X = X / 7 * (1 if name == "GaussianNB" else 1e-5)
    return X, np.array(["b", "c", "a"])[np.arange(rows) % 3]
