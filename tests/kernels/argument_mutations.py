"""Calls of kernels with changed arguments, the same in every process: call i changes what i says."""

import contextlib
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from kernel_calls import CALLS

__all__ = ["SINGLES", "Call", "mutated_call"]

Change = Callable[[Any], Any]

INTEGERS = (0, 1, -1, 2, 3, 1022, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62, 2**63 - 1, -(2**63))
REALS = (0.0, -0.0, 1.0, -1.0, -5.0, 0.5, 5e-324, 1e-300, 1e300, 1.7976931348623157e308, 2.0**53, 2.0**63)
REALS = (*REALS, float("inf"), float("-inf"), float("nan"))
DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u1", "?", "c16", "O", "U3", "M8[s]", ">f8", ">i8")


def put(value: Any, place: int | None) -> Change:
    """A value at a place, or at every place, as far as the type of the array has it."""

    def change(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array.reshape(-1)[slice(None) if place is None else place] = np.array(value).astype(array.dtype)
        return array

    return change


def swap_two(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    flat = array.reshape(-1)
    flat[0], flat[-1] = flat[-1].copy(), flat[0].copy()
    return array


def spread(array: np.ndarray) -> np.ndarray:
    """The same numbers, with gaps between them."""
    wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
    every_other = tuple(slice(None, None, 2) for _ in array.shape)
    wide[every_other] = array
    return wide[every_other]


def backwards(array: np.ndarray) -> np.ndarray:
    """The same numbers, from the end of the memory to its beginning."""
    turn = tuple(slice(None, None, -1) for _ in array.shape)
    return array[turn].copy()[turn]


def unaligned(array: np.ndarray) -> np.ndarray:
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
    raw[:] = np.frombuffer(array.tobytes(), np.uint8)
    return raw.view(array.dtype).reshape(array.shape)


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def resized(axis: int, n: int) -> Change:
    """Shorter or longer by n along an axis; -9: empty."""

    def change(array: np.ndarray) -> np.ndarray:
        if n < 0:
            return np.ascontiguousarray(array[(slice(None),) * axis + (slice(0, max(array.shape[axis] + n, 0)),)])
        return np.concatenate([array] + [array[(slice(None),) * axis + (slice(-1, None),)]] * n, axis)

    return change


def array_changes(array: np.ndarray) -> dict[str, Change]:
    changes: dict[str, Change] = {
        f"shape {axis} {n:+}": resized(axis, n) for axis in range(array.ndim) for n in (-1, -9, 1)
    }
    changes |= {f"as {dtype}": lambda own, dtype=dtype: own.astype(dtype) for dtype in DTYPES}
    changes |= {
        "negative": lambda own: -own if own.dtype.kind in "if" else own,
        "swapped": swap_two,
        "spread": spread,
        "backwards": backwards,
        "fortran": np.asfortranarray,
        "unaligned": unaligned,
        "read-only": read_only,
        "repeated": lambda own: np.broadcast_to(own.reshape(-1)[:1].reshape((1,) * own.ndim), own.shape),
        "more dimensions": lambda own: own[None],
        "flat": lambda own: own.reshape(-1),
        "a number": lambda own: own.reshape(-1)[0],
        "a list": lambda own: own.tolist(),
        "None": lambda own: None,
    }
    values = REALS if array.dtype.kind == "f" else INTEGERS
    if array.dtype.kind != "f":
        last = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
        values = [n for n in values if last is None or last.min <= n <= last.max]
    for value in values:
        changes |= {f"{value} at {place}": put(value, place) for place in (None, 0, array.size // 2, array.size - 1)}
    return changes


def column_changes(columns: list[np.ndarray]) -> dict[str, Change]:
    def within(change: Change) -> Change:
        return lambda own: [*own[:-1], change(own[-1])]

    def of_all(change: Change) -> Change:
        return lambda own: [change(column) for column in own]

    changes = {f"last {name}": within(change) for name, change in array_changes(columns[0]).items()}
    changes |= {f"all {name}": of_all(change) for name, change in array_changes(columns[0]).items()}
    return changes | {
        "no columns": lambda own: [],
        "one column less": lambda own: own[:-1],
        "one column more": lambda own: [*own, own[-1]],
        "a matrix": lambda own: np.stack(own, axis=1),
        "a matrix by columns": lambda own: np.stack(own).T,
        "a tuple": tuple,
        "None": lambda own: None,
    }


def changes_of(value: Any) -> dict[str, Change]:
    if isinstance(value, list):
        return column_changes(value)
    if isinstance(value, np.ndarray):
        return array_changes(value)
    values: Any = REALS
    others: Any = (None, 1, 10**400, "1")  # Python's integers go beyond those of kernels
    if isinstance(value, bool):
        values, others = (True, False), (None, 2, 0.5)
    elif isinstance(value, int):
        values, others = INTEGERS, (None, 0.5, 2**63, -(2**64), True)
    changes = {f"{to}": lambda own, to=to: to for to in values}
    return changes | {f"type {type(to).__name__} {i}": lambda own, to=to: to for i, to in enumerate(others)}


CHANGES = {kernel: {name: changes_of(value) for name, value in own.items()} for kernel, own in CALLS.items()}
SINGLES = [(kernel, name, change) for kernel, own in CHANGES.items() for name in own for change in own[name]]
TYPES = re.compile(r"\b(as|type|None$|a number|a list|a tuple|more dimensions|flat)\b")
VALUES = re.compile(r"^(?!shape).*(\d|inf|nan|negative|swapped|repeated)")  # other numbers
LAYOUTS = ("spread", "backwards", "fortran", "unaligned", "read-only", "repeated")
# Results that are not defined: such numbers cannot come from data, and to look for them would cost more than the work.
UNDEFINED = {
    "add_event_row": "terms",
    "add_events": "shape weights",
    "add_laplace": "k n_values",
    "add_normal": "inverse mean mean_low units",
    "add_normal_leave_one_out": "moments",
    "add_one_dependence": "pair single",
    "add_real_row": "values x xx",
    "add_student": "half inverse mean mean_low units",
    "add_student_leave_one_out": "kappa moments n nu weights",
    "average_binnings": "counts rates strengths",
    "binnings_leave_one_out": "counts p",
    "count_bags_dense": "start stop",  # lengths without a table
    "count_known_cells": "offsets cells",
    "count_value_row": "values",
    "fit_temperature": "row_weights",
    "log_loss": "base evidence slopes tables weights",
    "log_softmax": "out",
    "mean_variance": "x xx",
    "pooled_moments": "x xx",
    "pooled_student": "n x xx",
    "score_documents_leave_one_out": "amounts classes counts k n_tokens own totals weights",
    "softmax": "out",
    "student": "x xx",
    "sum_documents": "indptr",
    "sum_log_counts": "tokens",
}


@dataclass(frozen=True)
class Call:
    """A call of a kernel with changed arguments."""

    number: int
    kernel: str
    changes: tuple[tuple[str, str], ...]  # the names of arguments, and what is changed

    def __str__(self) -> str:
        changes = ", ".join(f"{name}: {change}" for name, change in self.changes)
        return f"call {self.number}: {self.kernel}({changes})"

    def arguments(self) -> dict[str, Any]:
        """New arguments: kernels write into some."""
        arguments = {name: copied(value) for name, value in CALLS[self.kernel].items()}
        for name, change in self.changes:
            # a second change of one argument may not fit the first
            with contextlib.suppress(ValueError, IndexError, TypeError, AttributeError, OverflowError):
                arguments[name] = CHANGES[self.kernel][name][change](arguments[name])
        # NumPy's single dates have a buffer without strides, which nanobind 3.1 does not expect: it crashes
        return {name: value.item() if isinstance(value, np.datetime64) else value for name, value in arguments.items()}

    @property
    def changes_type(self) -> bool:
        """Whether an argument has another type; one implementation may take more types than the other."""
        return any(TYPES.search(change) for _, change in self.changes)

    @property
    def changes_layout(self) -> bool:
        """Whether an array lies in the memory in another way; native kernels do not write into all of them."""
        return any(change.endswith(LAYOUTS) for _, change in self.changes)

    @property
    def is_undefined(self) -> bool:
        """Whether the result is not defined."""
        return self.changes_type or any(
            name in UNDEFINED.get(self.kernel, "").split() and VALUES.search(change) for name, change in self.changes
        )


def mutated_call(i: int) -> Call:
    """Call i: one change of one argument for the first calls, then two or three at random."""
    if i < len(SINGLES):
        kernel, name, change = SINGLES[i]
        return Call(i, kernel, ((name, change),))
    rng = random.Random(i)
    kernel = rng.choice(list(CALLS))
    names = rng.choices(list(CALLS[kernel]), k=rng.choice((2, 3)))
    return Call(i, kernel, tuple((name, rng.choice(list(CHANGES[kernel][name]))) for name in names))


def copied(value: Any) -> Any:
    return [part.copy() for part in value] if isinstance(value, list) else getattr(value, "copy", lambda: value)()
