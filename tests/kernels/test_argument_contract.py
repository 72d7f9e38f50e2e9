"""Every kernel refuses arguments that do not fit together, and both implementations say so in the same words."""

from typing import Any

import numpy as np
import pytest
from argument_mutations import SINGLES, copied
from fuzz_arguments import failures
from kernel_calls import CALLS, EVERY_ROW, FREE, K, N, integers

from tallybayes import kernels
from tallybayes.errors import DataError
from tallybayes.kernels import reference

pytestmark = pytest.mark.skipif(kernels.IMPLEMENTATION != "native", reason="built without a C++ compiler")


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
    without_addresses = {
        "laplace",
        "learn_row",
        "log_shares",
        "pack_texts",
        "read_real_columns",
        "read_row",
        "round_digits",
        "trim_digits",
    }
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


@pytest.mark.parametrize("number", [2**24 + 1, 2**31, 2**62, 2**63 - 1])
def test_sizes_beyond_what_a_table_can_have_are_refused(number: int) -> None:
    for kernel, arguments in CALLS.items():
        if "n_classes" in arguments:
            assert refused(kernel, n_classes=number) == f"expected n_classes up to 16777216, got {number}"
        if number > 2**31 and isinstance(arguments.get("n_tokens"), int):
            assert refused(kernel, n_tokens=number) == f"expected n_tokens up to 2147483647, got {number}"
    if number >= 2**31:
        assert (
            refused("count_values", sizes=integers(3, number)) == f"expected sizes from 0 to 2147483647, got {number}"
        )


@pytest.mark.parametrize("count", [-5.0, -np.inf, np.inf, np.nan])
def test_counts_of_reals_are_finite_and_not_negative(count: float) -> None:
    for kernel, name in (
        ("binnings_leave_one_out", "counts"),
        ("add_student_leave_one_out", "n"),
        ("add_normal_leave_one_out", "n"),
        ("fit_temperature", "row_weights"),
    ):
        array = CALLS[kernel][name].copy()
        array.reshape(-1)[1] = count
        assert refused(kernel, **{name: array}) == f"expected finite {name} from 0 on, got {count!r}"


def test_arguments_for_which_a_loop_would_not_end_are_refused() -> None:
    assert refused("fit_temperature", n_steps=2**31) == f"expected n_steps from 0 to 1000, got {2**31}"
    assert refused("fit_temperature", n_halvings=-1) == "expected n_halvings from 0 to 1000, got -1"
    assert refused("fit_temperature", enough=np.nan) == "expected finite enough from 0 on, got nan"
    for kernel in ("student", "pooled_student"):
        negative = CALLS[kernel]["n"].copy()
        negative[1, 1] = -(2**31)
        assert refused(kernel, n=negative) == f"expected n from 0 on, got {-(2**31)}"
        assert refused(kernel, nu=-np.inf) == "expected a finite nu above 0, got -inf"
        assert refused(kernel, share=-np.inf) == "expected share from 0 to 1, got -inf"


def test_a_table_that_has_nan_gives_nan() -> None:
    """add_student looks for columns that share a factor; NaN does not equal itself."""
    arguments = {name: copied(value) for name, value in CALLS["add_student"].items()}
    arguments["half"][0, 1] = np.nan
    kernels.active.add_student(*arguments.values())
    assert np.isnan(arguments["out"][1:, 1]).all()
    assert not np.isnan(arguments["out"][:, [0, 2]]).any()


@pytest.mark.slow
def test_changed_arguments_are_refused_or_answered_by_both() -> None:
    """A part of the calls of fuzz_arguments.py, in a process of their own."""
    combined = range(len(SINGLES), len(SINGLES) + 500)
    assert failures([*range(0, len(SINGLES), 7), *combined]) == []


def test_negative_sizes_are_refused() -> None:
    assert refused("count_flags", n_classes=-1) == "expected n_classes from 0 on, got -1"
    assert refused("count_bags", n_tokens=-1) == "expected n_tokens from 0 on, got -1"
    assert refused("sum_groups", n_groups=-1) == "expected n_groups from 0 on, got -1"
    assert refused("count_values", sizes=integers(3, -1)) == "expected sizes from 0 to 2147483647, got -1"
    assert refused("count_cells", limit=1) == "expected limit from 2 on, got 1"
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
