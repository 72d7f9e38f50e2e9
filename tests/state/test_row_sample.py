"""Samples of rows: the definition, in any order and in any batches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.model.fit import learn_and_sample
from tallybayes.model.model import Model
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_sample import RowSample, _SampleSelection


def sample_of(data, schema, limit, batches):
    """The rows that a sample keeps of some batches, which are lists of row numbers."""
    sample, model = RowSample(limit, if_rare=limit), Model(ModelState(schema, tb.Settings()))
    for rows in batches:
        part = {name: [values[i] for i in rows] for name, values in data.items()}
        learn_and_sample(model, sample, part, label="label")
    return sample.kept_rows()


def content(rows):
    """Rows as plain values, in the order in which they are kept."""
    columns = [np.asarray(rows.table.columns[name]).tolist() for name in sorted(rows.table.columns)]
    return list(zip(rows.hashes.tolist(), rows.counts.tolist(), rows.labels, *columns, strict=True))


@pytest.mark.filterwarnings("ignore:.*has a single row")  # which is what the sample is about
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_values=st.sampled_from([2, 5, 40, 10**6]),
    n_classes=st.integers(1, 5),
    limit=st.sampled_from([10, 60, 250]),
    n_batches=st.integers(1, 6),
)
def test_a_sample_has_the_first_rows_and_the_first_of_every_class(seed, n_values, n_classes, limit, n_batches):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 3000))
    shares = rng.dirichlet(np.full(n_classes, 0.3))
    data = {
        "a": rng.integers(0, n_values, n).astype(float).tolist(),
        "b": rng.integers(0, n_values, n).astype(float).tolist(),
        "label": [f"class {code}" for code in rng.choice(n_classes, n, p=shares)],
    }
    schema = tb.fit(data, label="label", column_weights=None, families={"a": "gaussian", "b": "gaussian"}).schema
    different = content(sample_of(data, schema, 10**6, [range(n)]))  # all rows, in order of their hashes
    assert sum(count for _, count, *_ in different) == n
    assert [row[0] for row in different] == sorted({row[0] for row in different})
    labels = [row[2] for row in different]
    most = limit // (2 * len(set(labels)))
    kept = [row for i, row in enumerate(different) if i < limit or labels[:i].count(row[2]) < most]
    batches = np.array_split(rng.permutation(n), n_batches)
    assert content(sample_of(data, schema, limit, [range(n)])) == kept
    assert content(sample_of(data, schema, limit, batches)) == kept


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_letters=st.sampled_from([1, 12, 400]),
    n_classes=st.integers(1, 4),
    tokens=st.sampled_from([0, 3, 5000]),
)
def test_what_is_kept_of_some_rows_has_all_of_them_that_are_kept_of_all_rows(seed, n_letters, n_classes, tokens):
    rng, limit = np.random.default_rng(seed), 100
    n = int(rng.integers(1, 1000))
    signatures = np.sort(rng.integers(0, n_letters, n)).astype(np.uint64)
    codes, n_tokens = rng.choice(n_classes, n, p=rng.dirichlet(np.ones(n_classes))), rng.integers(0, tokens + 1, n)
    codes[rng.permutation(n)[:n_classes]] = np.arange(n_classes)[:n]
    kept = _SampleSelection(signatures, codes, n_tokens, limit).kept
    part = np.flatnonzero((rng.random(n) < rng.random()) & (signatures < n_letters * rng.uniform(0.5, 1.5)))
    if not set(codes) <= set(codes[part]):
        return  # how many rows a class may have depends on the number of classes
    of_part = _SampleSelection(signatures[part], codes[part], n_tokens[part], limit)
    assert set(kept) & set(part) <= set(part[of_part.kept])
    assert np.all(signatures[kept] <= of_part.bounds(n_classes)[codes[kept]])
