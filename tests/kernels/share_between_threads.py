"""Kernels and one lexicon shared by threads, for `make sanitize`: run under the thread sanitizer, it reports races.

What it covers: every kernel that is called for ranges of rows (`in_threads`) works on the same arrays in four threads,
and four threads look tokens up in one lexicon while others grow lexicons of their own. What it does not cover: Python
code, whose own memory is not instrumented. The results are compared with those of one thread.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.token_rules import Rules, pack_strings

N, K, J, THREADS, ROUNDS = 4000, 5, 6, 4, 3


def in_parallel(work: Callable[[int, int], Any]) -> list[Any]:
    """The results of all ranges of rows, each worked on in a thread of its own."""
    ends = np.linspace(0, N, THREADS + 1).astype(int)
    results: list[Any] = [None] * THREADS

    def part(i: int) -> None:
        results[i] = work(int(ends[i]), int(ends[i + 1]))

    threads = [threading.Thread(target=part, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def scored(add: Callable[[Any, int, int], Any]) -> None:
    """Add scores to one array from all threads, and compare with one thread."""
    alone, together = np.zeros((N, K)), np.zeros((N, K))
    add(alone, 0, N)
    in_parallel(lambda start, stop: add(together, start, stop))
    assert np.array_equal(alone, together, equal_nan=True)


def main() -> None:
    """Run all kernels that threads share."""
    active, rng = kernels.active, np.random.default_rng(0)
    x, codes = rng.normal(size=(N, J)), rng.integers(-1, K, N).astype(np.int32)
    own, columns = np.maximum(codes, 0), list(x.T)
    flags, values = (x > 0).astype(np.int8), rng.integers(0, 9, (N, J))
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 9, N))])
    indices, amounts = rng.integers(0, 50, indptr[-1]), rng.integers(1, 4, indptr[-1]).astype(float)
    sizes, table, tokens = np.full(J, 9), rng.normal(size=(9 * J, K)), rng.normal(size=(50, K))
    tables = rng.normal(size=(6, J, K))
    moments = np.abs(rng.normal(size=(3, J, K))) + 1
    units, n = np.zeros(J, np.int64), np.full((J, K), 1000.0)
    edges, offsets = np.tile(np.linspace(-2, 2, 9), J), np.arange(0, 9 * J + 1, 9)
    in_parallel(lambda a, b: active.sum_columns(columns, codes, K, None, 2, a, b))
    in_parallel(lambda a, b: active.count_flags(flags, codes, K, a, b))
    in_parallel(lambda a, b: active.count_values(list(values.T), np.zeros(J, np.int64), sizes, codes, K, a, b))
    in_parallel(lambda a, b: active.count_cells(columns, codes, K, 256, a, b))
    in_parallel(lambda a, b: active.count_bags(indptr, indices, amounts, codes, K, 50, a, b))
    in_parallel(lambda a, b: active.count_bags_dense(indptr, indices, amounts, codes, K, 50, np.empty(N), a, b))
    in_parallel(lambda a, b: active.sum_bags(indptr, indices, amounts / 3, None, codes, 50, a * K // N, b * K // N))
    scored(lambda out, a, b: active.add_student(columns, np.ones(J), *np.abs(tables[:5]), out, a, b))
    scored(lambda out, a, b: active.add_normal(columns, np.ones(J), *tables[:4], out, a, b))
    scored(lambda out, a, b: active.add_flags(flags, tables[0], tables[1], out, a, b))
    scored(lambda out, a, b: active.add_codes(list(values.T), np.zeros(J, np.int64), offsets, table, out, a, b))
    scored(lambda out, a, b: active.add_steps(columns, offsets, edges, table, out, a, b))
    scored(lambda out, a, b: active.add_bags(indptr, indices, amounts, tokens, out, a, b))
    events = list(np.abs(x).round().T)
    scored(lambda out, a, b: active.add_events(events, *np.abs(tables[:2]), tables[0] > 9, None, out, a, b))
    scored(lambda out, a, b: active.add_pairs(values[:, 0], 0, own, np.repeat(table[:9], K, axis=0), out, a, b))
    facts = (columns, own, None, units)
    scored(lambda out, a, b: active.add_normal_leave_one_out(*facts, n, moments, True, out, a, b))
    pooled = np.abs(tables[:3, :, 0]) + 1
    scored(lambda out, a, b: active.add_student_leave_one_out(*facts, pooled, n, moments, 3.0, 5.0, True, out, a, b))
    scored(lambda out, a, b: active.softmax(out, a, b))
    share_a_lexicon()


def share_a_lexicon() -> None:
    """Look up in one lexicon from all threads, while each grows one of its own."""
    words = [f"word{i % 700} and {i % 13}".encode() for i in range(N)]
    offsets, data = np.concatenate([[0], np.cumsum([len(w) for w in words])]), np.frombuffer(b"".join(words), np.uint8)
    shared, rules = kernels.active.Lexicon(), tuple(Rules())
    shared.add(*pack_strings([f"word{i}" for i in range(300)]))

    def both(start: int, stop: int) -> int:
        grown = kernels.active.Lexicon()
        grown.tokenise(offsets, data, None, start, stop, rules, None, True)
        found = shared.tokenise(offsets, data, None, start, stop, rules, grown, False)
        assert shared.number("word7") == 7
        return len(found[1])

    in_parallel(both)


if __name__ == "__main__":
    for _ in range(ROUNDS):
        main()
    print(f"no races between threads in {kernels.IMPLEMENTATION} kernels", file=sys.stderr)
