"""The one contract for the arguments of all kernels: shapes, ranges of rows, class codes and indices.

Kernels use codes and indices as addresses, so every kernel checks them before it reads anything; what does not fit is
a DataError. `native/base/contract.h` has the same checks with the same words. A kernel of `kernels/reference` declares

    @checked("columns: columns; codes: rows | codes classes; out: rows, classes")

the shapes of its arguments ("low, high: columns" for several) and, behind a bar, the rule for their values (a method of
`_Contract`). Sizes have names:
the first array with a name sets its size, later ones must agree. `n_classes`, `n_tokens` and `n_groups` set a size by
themselves. Where rows `start` to `stop` are used, `rows` means at least `stop`, and rules look at these rows only.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans, Floats
from tallybayes.errors import DataError, shorten

__all__ = ["checked"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_NUMBERS = {"n_classes": "classes", "n_tokens": "tokens", "n_groups": "groups"}
_MOST_CLASSES, _MOST, _MOST_PLACES = 2**24, 2**31 - 1, 2**20  # `native/base/contract.h` says why


def checked(declaration: str) -> Callable[[Kernel], Kernel]:
    """A kernel that checks its arguments first.

    >>> add = checked("values: rows; groups: rows | below groups")(lambda values, groups, n_groups: None)
    >>> add(np.ones(2), np.array([0, 3]), 2)
    Traceback (most recent call last):
        ...
    tallybayes.errors.DataError: expected groups from 0 to below 2, got 3
    """
    declared = []
    for part in declaration.split(";"):
        names, _, rest = part.partition(":")
        shape, _, rule = rest.partition("|")
        sizes = [size.strip() for size in shape.split(",") if size.strip()]
        declared += [(name.strip(), sizes, rule.split()) for name in names.split(",")]

    def wrap(kernel: Kernel) -> Kernel:
        parameters = list(inspect.signature(kernel).parameters)

        @functools.wraps(kernel)
        def call(*arguments: Any) -> Any:
            named = dict(zip(parameters, arguments, strict=True))
            contract = _Contract(named)
            for name, shape, rule in declared:
                contract.check(name, shape, rule)
            if isinstance(matrix := named.get("columns"), np.ndarray):
                named["columns"] = list(matrix.T)
            return kernel(*named.values())

        return call  # type: ignore[return-value]

    return wrap


class _Contract:
    """The arguments of a call, and the sizes met so far."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.arguments, self.sizes = arguments, dict[str, int]()
        self.start, self.stop = arguments.get("start", 0), arguments.get("stop")
        if self.stop is not None and not 0 <= self.start <= self.stop:
            raise DataError("rows in order, from 0 on", got=(self.start, self.stop))
        for name, size in _NUMBERS.items():
            if name not in arguments or isinstance(value := arguments[name], float):
                continue
            if value < 0:
                raise DataError(f"{name} from 0 on", got=value)
            if value > (most := _MOST_CLASSES if size == "classes" else _MOST):
                raise DataError(f"{name} up to {most}", got=value)
            self.sizes[size] = value

    def check(self, name: str, shape: list[str], rule: list[str]) -> None:
        """Refuse an argument that is not as declared; None is no argument."""
        value = self.arguments[name]
        if value is None:
            return
        if name == "columns":
            self._check_columns(value)
        elif shape:
            if not isinstance(value, np.ndarray) or value.ndim != len(shape):
                raise TypeError(f"expected {name} as an array of {len(shape)} dimensions, got {shorten(value)}")
            self._check_shape(name, value.shape, shape)
        if rule:
            values = value[self.start : self.stop] if shape[:1] == ["rows"] else value
            size = int(rule[-1]) if rule[-1].isdecimal() else self.sizes.get(rule[-1], 0)
            getattr(self, rule[0])(name, values, size)

    def _check_columns(self, columns: Any) -> None:
        if isinstance(columns, np.ndarray):
            self.sizes["columns"] = columns.shape[1]
            self._check_shape("columns", columns.shape, ["rows", "columns"])
        else:
            for column in columns:
                if not isinstance(column, np.ndarray) or column.ndim != 1:
                    raise TypeError(f"expected columns of numbers: 1-d arrays, or a matrix, got {shorten(column)}")
                self._check_shape("column", column.shape, ["rows"])
            self.sizes["columns"] = len(columns)

    def _check_shape(self, name: str, got: tuple[int, ...], shape: list[str]) -> None:
        fits, wanted = True, []
        for size, length in zip(shape, got, strict=True):
            axis, more = size.removesuffix("+1"), int(size.endswith("+1"))
            if axis == "rows" and self.stop is not None:
                fits &= length >= self.stop + more
                wanted.append(f"at least {self.stop + more}")
                continue
            known = int(axis) if axis.isdecimal() else self.sizes.setdefault(axis, max(length - more, 0))
            fits &= length == known + more
            wanted.append(str(known + more))
        if shape[-1] in ("width", "squares") and not got[-1]:
            raise DataError("sums of at least one digit", got=0)
        if not fits:
            raise DataError(f"{name} of shape ({', '.join(wanted)}{',' * (len(wanted) == 1)})", got=got)

    def codes(self, name: str, values: NDArray[Any], n_classes: int) -> None:
        """Class codes; a negative one is no class."""
        self._refuse_rows(values, values >= n_classes, f"a class code below {n_classes}")

    def own_codes(self, name: str, values: NDArray[Any], n_classes: int) -> None:
        """Class codes of rows that all have a class."""
        strange = (values < 0) | (values >= n_classes)
        self._refuse_rows(values, strange, f"a class code from 0 to below {n_classes}")

    def code(self, name: str, value: int, n_classes: int) -> None:
        """A single class code."""
        if not 0 <= value < n_classes:
            raise DataError(f"a class code from 0 to below {n_classes}", got=value)

    def _refuse_rows(self, values: NDArray[Any], strange: Booleans, expected: str) -> None:
        if strange.any():
            row = int(np.argmax(strange))
            raise DataError(expected, got=int(values[row]), row=row + self.start)

    def below(self, name: str, values: NDArray[Any], limit: int) -> None:
        """Indices from 0 to below a size."""
        _refuse(values, (values < 0) | (values >= limit), f"{name} from 0 to below {limit}")

    def slots(self, name: str, values: NDArray[Any], limit: int) -> None:
        """Indices as doubles: NaN is missing, -1 a value never seen."""
        _refuse(values, (values < -1) | (values >= limit), f"slots from -1 to below {limit}")

    def known_slots(self, name: str, values: NDArray[Any], limit: int) -> None:
        """Indices as doubles: NaN is missing."""
        _refuse(values, (values < 0) | (values >= limit), f"slots from 0 to below {limit}")

    def ends(self, name: str, values: NDArray[Any], last: int) -> None:
        """Places that do not decrease."""
        _refuse(values, _falls(values) | (values > last), f"{name} that do not decrease, from 0 to at most {last}")

    def bags(self, name: str, values: NDArray[Any], n_tokens: int) -> None:
        """The indices of bags in compressed sparse rows, and their indptr."""
        n_rows = self.sizes.get("rows", 0) if self.stop is None else self.stop
        ends = self.arguments["indptr"][self.start : n_rows + 1]
        strange = _falls(ends) | (ends > len(values))
        self._refuse_rows(ends, strange, f"an indptr that does not decrease, from 0 to at most {len(values)}")
        indices = values[ends[0] : ends[-1]]
        if (strange := (indices < 0) | (indices >= n_tokens)).any():
            entry = int(np.argmax(strange))
            row = int(np.searchsorted(ends, ends[0] + entry, side="right")) - 1 + self.start
            raise DataError(f"an index from 0 to below {n_tokens}", got=int(indices[entry]), row=row)

    def finite(self, name: str, values: NDArray[Any], _: int) -> None:
        """Neither NaN nor infinite."""
        _refuse(values, ~np.isfinite(values), f"finite {name}")

    def above(self, name: str, values: Any, _: int) -> None:
        """Numbers above 0."""
        _refuse(np.atleast_1d(values), ~(np.atleast_1d(values) > 0), f"{name} above 0")

    def at_least(self, name: str, values: Any, least: int) -> None:
        """Integers from a number on."""
        _refuse(np.atleast_1d(values), np.atleast_1d(values) < least, f"{name} from {least} on")

    def counts(self, name: str, values: Any, _: int) -> None:
        """Finite numbers from 0 on."""
        values = np.atleast_1d(values)
        _refuse(values, ~((values >= 0) & (values < np.inf)), f"finite {name} from 0 on")

    def normal(self, name: str, values: Floats, _: int) -> None:
        """Finite numbers that are neither 0 nor denormal."""
        strange = ~((values >= np.finfo(np.float64).tiny) & (values < np.inf))
        _refuse(values, strange, f"finite {name} from the smallest normal double on")

    def positive(self, name: str, value: float, _: int) -> None:
        """A finite number above 0."""
        if not 0 < value < np.inf:
            raise DataError(f"a finite {name} above 0", got=value)

    def known(self, name: str, value: float, _: int) -> None:
        """A number, finite or not."""
        if np.isnan(value):
            raise DataError(f"a {name} that is not NaN", got=value)

    def up_to(self, name: str, values: Any, most: int) -> None:
        """Integers from 0 up to a number."""
        values = np.atleast_1d(values)
        _refuse(values, (values < 0) | (values > most), f"{name} from 0 to {most}")

    def ascending(self, name: str, values: NDArray[Any], _: int) -> None:
        """Each not below the one before it."""
        _refuse(values, ~np.append(values[:1] == values[:1], values[1:] >= values[:-1]), f"{name} in increasing order")

    def increasing(self, name: str, values: NDArray[Any], _: int) -> None:
        """Each above the one before it."""
        _refuse(values, np.append(values[:1] != values[:1], values[1:] <= values[:-1]), f"{name} in increasing order")

    def moments(self, name: str, values: Floats, _: int) -> None:
        """Means, their low parts and variances: finite, and the variances from 0 on."""
        self.finite(name, values, 0)
        _refuse(values[2], values[2] < 0, f"{name} with variances from 0 on")

    def part(self, name: str, value: float, _: int) -> None:
        """A number from 0 to 1."""
        if not 0 <= value <= 1:
            raise DataError(f"{name} from 0 to 1", got=value)

    def share(self, name: str, value: float, _: int) -> None:
        """A number between 0 and 1."""
        if not 0 < value < 1:
            raise DataError(f"{name} between 0 and 1", got=value)

    def lowest_place(self, name: str, value: int, _: int) -> None:
        """The place of the lowest digit of exact sums."""
        if not -_MOST_PLACES <= value <= _MOST_PLACES:
            raise DataError("a lowest place within 2**20 digits", got=value)

    def sign(self, name: str, value: int, _: int) -> None:
        """Whether a row is added or taken away."""
        if value not in (1, -1):
            raise DataError("a sign of 1 or -1", got=value)

    def units(self, name: str, values: NDArray[Any], _: int) -> None:
        """Exponents of doubles."""
        _refuse(values, (values < -1022) | (values > 1022), "units within the exponents of doubles, -1022 to 1022")


def _falls(values: NDArray[Any]) -> Booleans:
    """Whether a value is below 0 or below the one before it; differences might overflow."""
    return np.asarray((values < 0) | np.append(values[:1] != values[:1], values[1:] < values[:-1]))


def _refuse(values: NDArray[Any], strange: Booleans, expected: str) -> None:
    if strange.any():
        raise DataError(expected, got=values[np.unravel_index(np.argmax(strange), values.shape)].item())
