"""scikit-learn's naive Bayes classes on exact sums: change one import line and everything else stays.

>>> from tallybayes.dropin import GaussianNB      # instead of: from sklearn.naive_bayes import GaussianNB
>>> GaussianNB().fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1]).predict([[-0.8]]).tolist()
[0]

Same names, parameters, attributes and error texts; what scikit-learn computes wrongly is right here (see
docs/coming-from-scikit-learn.md). The state of an estimator is its sums; the fitted attributes are worked out from
them when they are asked for.
"""

from tallybayes.dropin.bernoulli_nb import BernoulliNB
from tallybayes.dropin.categorical_nb import CategoricalNB
from tallybayes.dropin.gaussian_nb import GaussianNB
from tallybayes.dropin.multinomial_nb import ComplementNB, MultinomialNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]
