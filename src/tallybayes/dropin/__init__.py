"""scikit-learn's naive Bayes classes on exact sums: only the import line changes.

>>> from tallybayes.dropin import GaussianNB      # instead of: from sklearn.naive_bayes import GaussianNB
>>> GaussianNB().fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1]).predict([[-0.8]]).tolist()
[0]

Names, parameters, attributes and error messages are those of scikit-learn. docs/coming-from-scikit-learn.md lists the
results that differ. The state of an estimator is its sums; fitted attributes are derived from them on first access.
"""

from tallybayes.dropin.bernoulli_nb import BernoulliNB
from tallybayes.dropin.categorical_nb import CategoricalNB
from tallybayes.dropin.gaussian_nb import GaussianNB
from tallybayes.dropin.multinomial_nb import ComplementNB, MultinomialNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]
