"""Every kernel refuses arguments that do not fit together, and both implementations say so in the same words."""

from typing import Any

import numpy as np
import pytest

from tallybayes import kernels
from tallybayes.errors import DataError
from tallybayes.kernels import reference

pytestmark = pytest.mark.skipif(kernels.IMPLEMENTATION != "native", reason="built without a C++ compiler")

N, K, J, T = 5, 3, 2, 4  # rows, classes, columns, tokens


def integers(*values: int, dtype: type = np.int64) -> np.ndarray:
    return np.array(values, dtype)


def codes() -> np.ndarray:
    return integers(0, 2, 1, 0, 1, dtype=np.int32)


def reals(*shape: int) -> np.ndarray:
    return np.full(shape, 0.5)


def counts(*shape: int) -> np.ndarray:
    return np.ones(shape, np.int64)


def columns() -> list[np.ndarray]:
    return [np.arange(N) / 4, np.arange(N)[::-1] / 4]


def bag(index: type = np.int64) -> dict[str, Any]:
    return {
        "indptr": integers(0, 2, 3, 3, 5, 6),
        "indices": integers(0, 3, 1, 2, 3, 0, dtype=index),
        "amounts": np.ones(6, np.int32) if index is np.int32 else reals(6),
    }


ROWS = {"start": 1, "stop": N}
SCORED = {"out": np.zeros((N, K)), **ROWS}
COUNTED = {"codes": codes(), "n_classes": K}
MOMENTS = {"units": integers(0, 1), "n": 4 * reals(J, K), "moments": reals(3, J, K)}
SUMS = {"n": counts(J, K), "x": counts(J, K, 2), "x_low": 0, "xx": counts(J, K, 3), "xx_low": 0}
ONE_ROW = {"values": np.array([1.0, np.nan]), "code": 1}
TABLE = {"table": reals(T, K)}
EVIDENCE = {"evidence": reals(K, J, N), "weights": reals(K, J)}
NUMBERED = {"columns": [np.arange(N), np.arange(N)], "origins": integers(0, 1)}
CELLS = np.array([[0, 1], [1, -1], [0, 0], [-1, -1], [1, 1]], np.int16)

# A call of every kernel, its arguments in order and by name.
CALLS: dict[str, dict[str, Any]] = {
    "sum_columns": {"columns": columns(), **COUNTED, "weights": reals(N), "order": 2, **ROWS},
    "hash_columns": {"columns": columns(), "salts": np.array([3, 5], np.uint64), **ROWS},
    "hash_codes": {
        "columns": [codes(), codes()],
        "table": np.arange(5, dtype=np.uint64),
        "offsets": integers(0, 3, 5),
        "origins": integers(0, 1),
        **ROWS,
    },
    "hash_bags": {**bag(), "tokens": np.arange(T, dtype=np.uint64), "n_tokens": T, **ROWS},
    "hash_texts": {"data": np.zeros(3, np.uint8), "offsets": integers(0, 1, 3)},
    "sum_groups": {"values": reals(N), "weights": reals(N), "groups": integers(0, 1, 2, 1, 0), "n_groups": 3},
    "sum_bags": {**bag(), "weights": reals(N), "codes": codes(), "n_tokens": T, "first": 0, "last": K},
    "mean_variance": {**SUMS, "units": integers(0, 1)},
    "pooled_moments": SUMS,
    "student": {**SUMS, "units": integers(0, 1), "prior": reals(3, J), "kappa": 1.0, "nu": 1.0, "share": 1.0},
    "beta": {"no": counts(J, K), "yes": counts(J, K), "k": 1.0},
    "negative_binomial": {"n": counts(J, K), "x": counts(J, K), "mean": reals(J), "share": 1.0},
    "pooled_rate": {"n": counts(J, K), "x": counts(J, K)},
    "add_real_row": {**SUMS, **ONE_ROW, "sign": 1},
    "add_event_row": {
        "n": counts(J, K),
        "x": counts(J, K),
        "log_factorial": counts(J, K, 2),
        "low": 0,
        "values": np.array([1.0, np.nan]),
        "terms": reals(J),
        "code": 1,
        "sign": 1,
    },
    "add_flag_row": {"no": counts(J, K), "yes": counts(J, K), **ONE_ROW, "sign": 1},
    "count_value_row": {"table": counts(T, K), "totals": counts(J, K), **ONE_ROW},
    "count_flags": {"columns": [np.ones(N), np.zeros(N)], **COUNTED, **ROWS},
    "count_values": {**NUMBERED, "sizes": integers(3, 4), **COUNTED, **ROWS},
    "count_cells": {"columns": columns(), **COUNTED, "limit": 9, **ROWS},
    "count_cell_pairs": {"cells": CELLS, "sizes": integers(2, 2), **COUNTED, **ROWS},
    "sum_cell_pairs": {"cells": CELLS, "sizes": integers(2, 2), "values": reals(N, J), **ROWS},
    "log_loss": {**EVIDENCE, "base": reals(K, N), "codes": codes(), "row_weights": reals(N)},
    "add_one_dependence": {
        "cells": CELLS,
        "sizes": integers(2, 2),
        "single": reals(T, K),
        "pair": reals(T, T, K),
        "is_parent": np.array([True, False, True, True]),
        **SCORED,
    },
    "count_bags": {**bag(), **COUNTED, "n_tokens": T, **ROWS},
    "count_bags_dense": {**bag(), **COUNTED, "n_tokens": T, **ROWS},
    "add_student": {
        "columns": columns(),
        "units": reals(J),
        **{name: reals(J, K) for name in ("mean", "mean_low", "inverse", "half", "log_constant")},
        **SCORED,
    },
    "add_normal": {
        "columns": columns(),
        "units": reals(J),
        **{name: reals(J, K) for name in ("mean", "mean_low", "inverse", "log_constant")},
        **SCORED,
    },
    "add_flags": {"columns": [np.ones(N), np.zeros(N)], "log_no": reals(J, K), "log_yes": reals(J, K), **SCORED},
    "add_codes": {**NUMBERED, "offsets": integers(0, 2, 4), **TABLE, **SCORED},
    "add_steps": {"columns": columns(), "offsets": integers(0, 2, 4), "edges": np.arange(4.0), **TABLE, **SCORED},
    "add_events": {
        "columns": [np.ones(N), np.zeros(N)],
        "shape": reals(J, K),
        "rate": reals(J, K),
        "silent": np.zeros((J, K), bool),
        "weights": reals(J, K),
        **SCORED,
    },
    "add_laplace": {
        "slots": np.tile([1.0, -1.0], (N, 1)),
        "counts": counts(T, K),
        "totals": reals(J, K),
        "k": 1.0,
        "n_values": reals(J),
        "silent": False,
        **SCORED,
    },
    "add_slots": {"slots": np.tile([1.0, -1.0], (N, 1)), "known": np.ones(T, bool), **TABLE, **SCORED},
    "add_bags": {**bag(), **TABLE, **SCORED},
    "softmax": SCORED,
    "log_softmax": SCORED,
    "add_pairs": {"column": np.arange(N) % 2, "origin": 0, "codes": codes(), "table": reals(2 * K, K), **SCORED},
    "add_step_pairs": {
        "column": np.arange(N) / 4,
        "edges": np.arange(2.0),
        "codes": codes(),
        "table": reals(2 * K, K),
        **SCORED,
    },
    "average_binnings": {"counts": reals(T, K), "offsets": integers(0, 2, 4), "strengths": reals(1), "rates": reals(1)},
    "binnings_leave_one_out": {
        "counts": 4 * reals(T, K),
        "p": np.full(K, 1 / K),
        "strength": 1.0,
        "rate": 0.5,
        "codes": integers(0, 2),
        "weights": np.ones(2),
    },
    "add_student_leave_one_out": {
        "columns": columns(),
        "codes": codes(),
        "weights": reals(N),
        "units": integers(0, 1),
        "pooled": reals(3, J),
        "n": 4 * reals(J, K),
        "moments": reals(3, J, K),
        "kappa": 1.0,
        "nu": 1.0,
        "shared": False,
        **SCORED,
    },
    "add_normal_leave_one_out": {
        "columns": columns(),
        "codes": codes(),
        "weights": reals(N),
        **MOMENTS,
        "shared": True,
        **SCORED,
    },
    "log_amounts": {"indptr": bag()["indptr"], "amounts": np.ones(6, np.int32), "unit": True},
    "sum_documents": {**bag(np.int32), **COUNTED, "n_tokens": T, "unit": True, "first": 0, "last": K},
    "sort_entries": {"first": integers(0, 1), "second": integers(1, 0), "third": integers(0, 0)},
    "merge_cells": {"cells_a": np.arange(2), "sums_a": counts(3, 2), "cells_b": np.arange(3), "sums_b": counts(3, 3)},
    "fingerprint_documents": {**bag(np.int32), "data": np.zeros(8, np.uint8), "offsets": integers(0, 1, 2, 2, 8)},
    "score_documents_leave_one_out": {
        **TABLE,
        "whole": reals(T),
        "totals": reals(K),
        "n_tokens": 4.0,
        **{name: part for name, part in bag(np.int32).items() if name != "amounts"},
        "own": reals(6),
        "amounts": reals(6),
        "codes": codes(),
        "weights": reals(N),
        "k": 1.0,
        "complement": False,
    },
    "correction_gradient": {
        **TABLE,
        "base": reals(N, K),
        **{name: part for name, part in bag(np.int32).items() if name != "amounts"},
        "amounts": reals(6),
        "codes": codes(),
        "weights": reals(N),
    },
    "number_words": {
        "offsets": integers(0, 1, 3, dtype=np.int32),
        "data": np.zeros(3, np.uint8),
        "valid": np.ones(2, bool),
    },
}
EVERY_ROW = ("add_pairs", "add_step_pairs", "log_loss", "correction_gradient")  # every row has a class
# Arrays that may be shorter along an axis: they set the size, or their length is free.
FREE = {
    *((name, "out", 1) for name in ("softmax", "log_softmax")),
    *(
        ("average_binnings", name, axis)
        for name, axis in (("strengths", 0), ("rates", 0), ("counts", 1), ("offsets", 0))
    ),
    ("hash_texts", "offsets", 0),
    ("add_laplace", "counts", 0),
    ("add_slots", "slots", 1),
    ("add_step_pairs", "edges", 0),
    ("binnings_leave_one_out", "counts", 0),
    ("sum_cell_pairs", "values", 1),
    ("count_value_row", "table", 0),
    ("fingerprint_documents", "data", 0),
    ("fingerprint_documents", "indptr", 0),
    ("log_amounts", "indptr", 0),
    ("number_words", "data", 0),
}


def copied(value: Any) -> Any:
    return [part.copy() for part in value] if isinstance(value, list) else getattr(value, "copy", lambda: value)()


def outcome(module: Any, kernel: str, arguments: dict[str, Any]) -> str:
    """The message of the error, or nothing."""
    try:
        getattr(module, kernel)(*(copied(value) for value in arguments.values()))
    except DataError as error:
        return str(error)
    return ""


def refused(kernel: str, **changes: Any) -> str:
    """What both implementations say about a call with some arguments changed."""
    arguments = CALLS[kernel] | changes
    native, plain = (outcome(module, kernel, arguments) for module in (kernels.active, reference))
    assert native == plain
    return native


def test_every_kernel_is_called_here() -> None:
    functions = {name for name in reference.__all__ if callable(getattr(reference, name)) and name.islower()}
    without_addresses = {"laplace", "log_shares", "pack_texts", "read_row", "round_digits"}
    assert functions - without_addresses == set(CALLS)


@pytest.mark.parametrize("kernel", CALLS)
def test_a_good_call_is_accepted(kernel: str) -> None:
    assert refused(kernel) == ""


@pytest.mark.parametrize(
    ("kernel", "name", "axis"),
    [
        (kernel, name, axis)
        for kernel, arguments in CALLS.items()
        for name, value in arguments.items()
        if isinstance(value, np.ndarray)
        for axis in range(value.ndim)
        if (kernel, name, axis) not in FREE
        and not (value.ndim == 3 and axis == 2 and name not in ("moments", "pair", "evidence"))  # digits: any width
    ],
)
def test_an_array_that_is_too_short_is_refused(kernel: str, name: str, axis: int) -> None:
    array = CALLS[kernel][name]
    short = np.ascontiguousarray(np.delete(array, -1, axis))
    assert "expected " in refused(kernel, **{name: short})


@pytest.mark.parametrize("kernel", [kernel for kernel, arguments in CALLS.items() if "columns" in arguments])
def test_a_column_that_is_too_short_is_refused(kernel: str) -> None:
    first, second = CALLS[kernel]["columns"]
    assert refused(kernel, columns=[first, second[:-1]]) == "expected column of shape (at least 5,), got (4,)"
    assert "got" in refused(kernel, columns=[first, second, second]) or kernel in (
        "sum_columns",
        "count_flags",
        "count_cells",
    )


@pytest.mark.parametrize("kernel", [kernel for kernel, arguments in CALLS.items() if "stop" in arguments])
@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (3, 2), (0, 6), (0, 2**62)])
def test_rows_out_of_range_are_refused(kernel: str, start: int, stop: int) -> None:
    assert "expected " in refused(kernel, start=start, stop=stop)


@pytest.mark.parametrize("kernel", [kernel for kernel, arguments in CALLS.items() if "codes" in arguments])
def test_a_class_code_that_is_too_large_is_named_with_its_row(kernel: str) -> None:
    bad = CALLS[kernel]["codes"].copy()
    bad[1] = K
    if kernel == "sum_bags":  # takes the classes from `first` to `last`
        assert refused(kernel, codes=bad) == ""
    elif kernel == "binnings_leave_one_out":
        assert refused(kernel, codes=bad) == "expected codes from 0 to below 3, got 3"
    else:
        below = "from 0 to below" if "leave_one_out" in kernel or kernel in EVERY_ROW else "below"
        assert refused(kernel, codes=bad) == f"row 1: expected a class code {below} 3, got 3"


@pytest.mark.parametrize("kernel", [*EVERY_ROW, *(name for name in CALLS if "leave_one_out" in name)])
def test_a_row_without_a_class_is_refused_where_it_would_be_left_out(kernel: str) -> None:
    bad = CALLS[kernel]["codes"].copy()
    bad[1] = -1
    assert refused(kernel, codes=bad).endswith("from 0 to below 3, got -1")


@pytest.mark.parametrize("kernel", [kernel for kernel, arguments in CALLS.items() if "code" in arguments])
@pytest.mark.parametrize("code", [-1, 3, 2**40])
def test_a_single_class_code_out_of_range_is_refused(kernel: str, code: int) -> None:
    assert refused(kernel, code=code) == f"expected a class code from 0 to below 3, got {code}"


@pytest.mark.parametrize("kernel", [kernel for kernel, arguments in CALLS.items() if "indices" in arguments])
@pytest.mark.parametrize("index", [-1, 4, 2**31 - 1])
def test_an_index_out_of_range_is_refused(kernel: str, index: int) -> None:
    bad = CALLS[kernel]["indices"].copy()
    bad[3] = index
    assert refused(kernel, indices=bad).endswith(f"from 0 to below 4, got {index}")


@pytest.mark.parametrize("kernel", [kernel for kernel, arguments in CALLS.items() if "indptr" in arguments])
@pytest.mark.parametrize("indptr", [[0, 2, 3, 1, 5, 6], [0, 2, 3, 3, 5, 7], [-1, -1, 3, 3, 5, 6], [0, 2, 99, 3, 5, 6]])
def test_a_wrong_indptr_is_refused(kernel: str, indptr: list[int]) -> None:
    assert "not decrease, from 0 to at most 6, got" in refused(kernel, indptr=integers(*indptr))


@pytest.mark.parametrize("kernel", [kernel for kernel, arguments in CALLS.items() if "offsets" in arguments])
def test_wrong_offsets_are_refused(kernel: str) -> None:
    good = CALLS[kernel]["offsets"]
    for place, value in ((0, -1), (-1, 99), (1, 50)):
        bad = good.copy()
        bad[place] = value
        assert "offsets that do not decrease, from 0 to at most" in refused(kernel, offsets=bad)


@pytest.mark.parametrize("kernel", ["add_laplace", "add_slots", "count_value_row"])
@pytest.mark.parametrize("slot", [4.0, 1e300, np.inf, -2.0])
def test_a_slot_out_of_range_is_refused(kernel: str, slot: float) -> None:
    name = "values" if kernel == "count_value_row" else "slots"
    bad = CALLS[kernel][name].copy()
    bad[-1] = slot
    assert refused(kernel, **{name: bad}).endswith(f"to below 4, got {slot!r}")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_to_be_summed_exactly_are_finite(bad: float) -> None:
    for kernel, name in (
        ("sum_columns", "weights"),
        ("sum_groups", "weights"),
        ("sum_groups", "values"),
        ("sum_bags", "weights"),
        ("sum_bags", "amounts"),
    ):
        array = CALLS[kernel][name].copy()
        array[2] = bad
        assert refused(kernel, **{name: array}) == f"expected finite {name}, got {bad!r}"


def test_negative_sizes_are_refused() -> None:
    assert refused("count_flags", n_classes=-1) == "expected n_classes from 0 on, got -1"
    assert refused("count_bags", n_tokens=-1) == "expected n_tokens from 0 on, got -1"
    assert refused("sum_groups", n_groups=-1) == "expected n_groups from 0 on, got -1"
    assert refused("count_values", sizes=integers(3, -1)) == "expected sizes from 0 on, got -1"
    assert refused("count_cells", limit=0) == "expected limit from 1 on, got 0"
    assert refused("mean_variance", units=integers(0, 5000)).startswith(
        "expected units within the exponents of doubles"
    )


@pytest.mark.parametrize(
    "kernel", ["add_real_row", "add_flag_row", "add_event_row", "count_value_row", "beta", "student"]
)
def test_kernels_for_single_rows_refuse_arrays_of_other_types(kernel: str) -> None:
    """They read arrays without conversion: a wrong type would be read as other numbers."""
    for name, value in CALLS[kernel].items():
        if isinstance(value, np.ndarray):
            changed = CALLS[kernel] | {name: value.astype(np.float32)}
            with pytest.raises(TypeError, match="expected a NumPy array of another dtype"):
                getattr(kernels.active, kernel)(*map(copied, changed.values()))


def test_an_array_that_cannot_be_written_is_refused() -> None:
    arguments = {name: copied(value) for name, value in CALLS["add_flag_row"].items()}
    arguments["no"].flags.writeable = False
    with pytest.raises(TypeError, match="writeable"):
        kernels.active.add_flag_row(*arguments.values())
    frozen = np.zeros((N, K))
    frozen.flags.writeable = False
    for out in (frozen, np.zeros((N, K), np.float32), np.asfortranarray(np.zeros((N, K)))):
        with pytest.raises(TypeError):
            kernels.active.softmax(out, 0, N)
