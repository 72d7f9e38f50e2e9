"""A pytest plugin that runs scikit-learn's own tests with the drop-ins instead of its naive Bayes classes.

    python -m pytest -p swap_naive_bayes --pyargs sklearn.tests.test_naive_bayes sklearn.tests.test_multiclass

`sklearn.naive_bayes` is replaced before any test module imports it. All tests of `test_naive_bayes` run, and those of
the other files that use one of the five classes. The folder of this file must be in PYTHONPATH.
"""

import inspect
import sys
import types

import pytest

from tallybayes import dropin


def pytest_configure(config: pytest.Config) -> None:
    module = types.ModuleType("sklearn.naive_bayes", dropin.__doc__)
    for name in dropin.__all__:
        setattr(module, name, getattr(dropin, name))
    sys.modules["sklearn.naive_bayes"] = module


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Function]) -> None:
    used = [item for item in items if _uses_naive_bayes(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in used])
    items[:] = used


def _uses_naive_bayes(item: pytest.Function) -> bool:
    if item.module.__name__.endswith("test_naive_bayes"):
        return True
    return any(name in inspect.getsource(item.function) for name in dropin.__all__)
