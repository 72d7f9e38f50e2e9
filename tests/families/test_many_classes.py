"""A label with very many classes needs memory for what was counted, or gives a clear error; it used to take 15 GB."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tallybayes.arrays.column import Codes
from tallybayes.families.discrete.categorical import Categorical
from tallybayes.families.leave_one_out_scores import Values, score_discrete
from tallybayes.families.tokens.bag_counts import DENSE

limited = pytest.mark.skipif(
    "san.so" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer reserves more memory than the limit"
)

PROLOGUE = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
import numpy as np
import tallybayes as tb
from tallybayes.errors import DataError
n = 200_000
rng = np.random.default_rng(0)
labels = np.arange(n) // 2  # one that never repeats is refused
"""


def run_in_two_gigabytes(program: str) -> str:
    """What a program prints that may use 2 GiB of memory."""
    done = subprocess.run([sys.executable, "-c", PROLOGUE + program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@limited
@pytest.mark.parametrize("column", ["rng.integers(0, n, n).astype(str)", "rng.integers(0, 50_000, n)"])
def test_a_row_number_as_the_label_fits_within_two_gigabytes(column: str) -> None:
    printed = run_in_two_gigabytes(f"""
data = {{"a": {column}}}
model = tb.fit(data, labels, families={{"a": "categorical"}})
print(model.predict_proba({{"a": data["a"][:3]}}).shape)
for call in (lambda: model.predict(data), lambda: model.leave_one_out(data, label=labels)):
    try:
        call()
    except DataError as error:
        print(error)
""")
    assert printed.startswith("(3, 100000)")
    assert printed.count("with 100,000 classes (8 GiB), got") == 2
    assert printed.count("hint: is the label a row number or another key?") == 2


@pytest.mark.slow
@limited
def test_the_categorical_drop_in_counts_wide_columns_within_two_gigabytes() -> None:
    printed = run_in_two_gigabytes("""
from tallybayes.dropin import CategoricalNB
X = rng.integers(0, 60_000, (n, 2))
fitted = CategoricalNB().fit(X, labels)
print(fitted.predict(X[:3]).shape)
""")
    assert printed == "(3,)\n"


def columns(rng: np.random.Generator, n_rows: int) -> list[Codes]:
    """A narrow column, a wide one and one of small integers, each with missing values."""
    wide = rng.integers(-1, 3000, n_rows).astype(np.int32)
    return [
        Codes(rng.integers(-1, 3, n_rows).astype(np.int32), ["a", "b", "c"]),
        Codes(wide, [f"k{i}" for i in range(3000)]),
        Codes(rng.integers(90, 110, n_rows), range(95, 105)),
    ]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("names", [("a", "b", "c"), ("2", "10", "1")])
def test_wide_columns_are_counted_as_narrow_ones(
    weighted: bool, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    data, codes = columns(rng, 5000), rng.integers(-1, 400, 5000).astype(np.int32)
    weights = rng.choice([0.5, 1.0, 3.0], 5000) if weighted else None
    assert DENSE // 3 > 3000 * 400 > 2**10  # wide for the third limit
    counted = []
    for limit in (2**40, DENSE, 2**10, 0):
        monkeypatch.setattr("tallybayes.families.discrete.categorical.DENSE", limit)
        counted.append(Categorical().observe(names, data, codes, 400, weights))
    for other in counted[1:]:
        assert other.features == names
        assert counted[0].same(other)


def test_leave_one_out_of_weighted_rows_needs_a_line_for_each_different_row_only() -> None:
    """One row of the table for each line, and not for each line and class."""
    rng = np.random.default_rng(2)
    n_rows, n_classes = 400, 2000
    value, codes = rng.integers(0, 5, n_rows), rng.integers(0, n_classes, n_rows).astype(np.int32)
    weights = rng.random(n_rows) + 0.5
    counts = np.zeros((5, n_classes))
    np.add.at(counts, (value, codes), weights)
    score = score_discrete(
        Values(value, 5, codes, n_classes, weights), counts, counts.sum(axis=0), 1.0, 5.0, column="x", fixed=False
    )
    out = np.zeros((n_rows, n_classes))
    score(out, 0, n_rows)
    row, own = 7, codes[7]
    rest = counts.copy()
    rest[value[row], own] -= weights[row]
    expected = np.log(rest[value[row]] + 1) - np.log(rest.sum(axis=0) + 5)
    np.testing.assert_allclose(out[row], expected, rtol=1e-12)
