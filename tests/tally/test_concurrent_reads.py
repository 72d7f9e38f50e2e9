"""Several threads that read one tally or predictive at the same time get the answers that one thread gets."""

import pickle
import sys
import threading

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.arrays.column import Bag, Codes
from tallybayes.columns.readers.text_reader import to_documents

N_THREADS, N_ROUNDS = 6, 8
FAMILIES = [
    tb.Categorical(),
    tb.Tags(),
    tb.Multinomial(),
    tb.Multinomial("complement"),
    tb.Text("counts"),
    tb.Text("complement", tf="log"),
    tb.Text("presence"),
    tb.Text("counts", idf=True),
    tb.Text("counts", buckets=64, key="0" * 32),
]


@pytest.fixture(autouse=True)
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def example(family, rng, n):
    """Columns with more keys than a row can have, so that single rows go into the overlay."""
    if family.column is Codes:
        return Codes(rng.integers(0, 200, n).astype(np.int32), [f"v{i}" for i in range(200)])
    texts = [[f"w{i}" for i in rng.integers(0, 200, 6)] for _ in range(n)]
    if isinstance(family, tb.Text):
        return to_documents("x", [" ".join(text) for text in texts], family)
    indices = np.concatenate([np.unique([int(word[1:]) for word in text]) for text in texts])
    ends = np.cumsum([0, *(len(set(text)) for text in texts)])
    return Bag(ends, indices, None, [f"w{i}" for i in range(200)])


def with_overlay(family, seed):
    """A tally whose latest rows were added one at a time."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, 150).astype(np.int32)
    tally = family.observe(("x",), [example(family, rng, 150)], codes, 3, None)
    for code in range(4):
        one = family.observe(("x",), [example(family, rng, 1)], np.array([code % 3], np.int32), 3, None)
        tally.prepare(one, 1)()
    return tally


def at_the_same_time(read):
    """What every thread reads, all of them started together."""
    barrier, results = threading.Barrier(N_THREADS), [None] * N_THREADS

    def run(i):
        barrier.wait()
        try:
            results[i] = read(i)
        except Exception as error:
            results[i] = repr(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def saved(tally):
    arrays = tally.arrays()
    sums = {name: (part.low, part.digits.tobytes()) for name, part in arrays.sums.items()}
    return sums, {name: part.tobytes() for name, part in arrays.places.items()}, arrays.keys


def read_tally(family, tally, column, i):
    """Each thread reads in another order."""
    steps = [
        lambda: family.derive(tally, 0.5).log_prob([column]).tobytes() if family.is_likelihood else None,
        lambda: saved(tally),
        lambda: saved(tally.copy()),
        lambda: family.derive(tally, 0.5).table(),
        lambda: saved(pickle.loads(pickle.dumps(tally))),
    ]
    order = [*range(i % len(steps), len(steps)), *range(i % len(steps))]
    found = {step: steps[step]() for step in order}
    return [found[step] for step in range(len(steps))]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_threads_that_read_one_tally_get_the_answers_of_one_thread(family):
    column = example(family, np.random.default_rng(1), 40)
    for seed in range(N_ROUNDS):
        expected = read_tally(family, with_overlay(family, seed), column, 0)
        shared = with_overlay(family, seed)
        results = at_the_same_time(lambda i, shared=shared: read_tally(family, shared, column, i))
        assert all(result == expected for result in results)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_threads_that_score_with_one_predictive_get_the_answers_of_one_thread(family):
    column = example(family, np.random.default_rng(1), 40)

    def scores(predictive):
        out = np.zeros((40, 3))
        predictive.bind([column])(out, 0, 40)
        return out.tobytes()

    for seed in range(N_ROUNDS):
        expected = scores(family.derive(with_overlay(family, seed), 0.5))
        predictive = family.derive(with_overlay(family, seed), 0.5)
        results = at_the_same_time(lambda i, predictive=predictive: (scores(predictive), len(predictive.table()) > 0))
        assert results == [(expected, True)] * N_THREADS


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_copy_can_change_while_the_original_is_read(family):
    """Readers of the original are not disturbed by rows, among them new keys, that are added to its copy."""
    rng = np.random.default_rng(2)
    column = example(family, rng, 40)
    rows = [example(family, rng, 1) for _ in range(60)]
    tally = with_overlay(family, 0)
    expected = read_tally(family, with_overlay(family, 0), column, 0)

    def run(i):
        if i > 0:
            return read_tally(family, tally, column, i)
        copy = tally.copy()
        for row in rows:
            copy.prepare(family.observe(("x",), [row], np.array([1], np.int32), 3, None), 1)()
        for row in rows:
            copy.prepare(family.observe(("x",), [row], np.array([1], np.int32), 3, None), -1)()
        return read_tally(family, copy, column, 0)

    assert all(result == expected for result in at_the_same_time(run))
