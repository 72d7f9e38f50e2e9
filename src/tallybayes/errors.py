"""What can go wrong, and how it is said.

    TallyError
    ├── DataError (ValueError)          the data does not fit: a wrong type, an infinity, a missing label column
    │   └── ForgetError                 asked to take back rows that were never learned
    ├── ParameterError (ValueError)     an argument has no meaning: an unknown family, a negative smoothing
    ├── CountError (OverflowError)      a count left the range of 64 bits
    └── UnsupportedError (TypeError)    the question has no answer for this model: sampling a complement score

Every message says what was wanted, what came and where, and ends with a hint where there is one. The facts are
attributes too, so that a program need not read the text.

>>> raise DataError("a finite number", came=float("inf"), column="age", row=7, hint="leave the cell empty")
Traceback (most recent call last):
    ...
tallybayes.errors.DataError: column 'age', row 7: wanted a finite number, came inf
hint: leave the cell empty
"""

from typing import Any

__all__ = ["CountError", "DataError", "ForgetError", "ParameterError", "TallyError", "UnsupportedError"]

_NOTHING = object()


class TallyError(Exception):
    """Any error that tallybayes raises on purpose."""

    def __init__(
        self,
        wanted: str,
        *,
        came: Any = _NOTHING,
        column: str | None = None,
        row: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.wanted, self.column, self.row, self.hint = wanted, column, row, hint
        self.came = None if came is _NOTHING else came
        places = [f"column {column!r}"] if column is not None else []
        places += [f"row {row}"] if row is not None else []
        text = f"{', '.join(places)}: " if places else ""
        text += wanted if came is _NOTHING else f"wanted {wanted}, came {shorten(came)}"
        super().__init__(text + (f"\nhint: {hint}" if hint else ""))


class DataError(TallyError, ValueError):
    """The data does not fit the model or the column's family."""


class ForgetError(DataError):
    """Rows were to be taken back that cannot have been learned."""


class ParameterError(TallyError, ValueError):
    """An argument is outside its domain."""


class CountError(TallyError, OverflowError):
    """A count left the range of 64-bit integers."""


class UnsupportedError(TallyError, TypeError):
    """The question has no answer for this kind of model."""


def shorten(value: Any, width: int = 60) -> str:
    """The repr of a value, cut to be read in one line.

    >>> shorten("x" * 100, width=12)
    "'xxxxxxx..."
    """
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    text = repr(value)
    return text if len(text) <= width else f"{text[: width - 4]}..."
