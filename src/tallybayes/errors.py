"""What can go wrong, and how it is said.

    TallyError
    ├── DataError (ValueError)          the data does not fit: a wrong type, an infinity, a missing label column
    │   └── ForgetError                 asked to take back rows that were never learned
    ├── FileError (ValueError)          a file cannot be read or written, is damaged, or is not what it should be
    ├── ParameterError (ValueError)     an argument has no meaning: an unknown family, a negative smoothing
    ├── CountError (OverflowError)      a count left the range of 64 bits
    ├── EngineError (RuntimeError)      an engine cannot do its work: workers without tallybayes, too large sums
    └── UnsupportedError (TypeError)    the question has no answer for this model: sampling a complement score

What was read, but may not be what the user means, is a DataWarning (`warn`); the command prints these as notes.

Every message says what was expected, what was given and where, and ends with a hint where there is one. The facts are
attributes too, so that a program need not read the text.

>>> raise DataError("a finite number", got=float("inf"), column="age", row=7, hint="leave the cell empty")
Traceback (most recent call last):
    ...
tallybayes.errors.DataError: column 'age', row 7: expected a finite number, got inf
hint: leave the cell empty
"""

import contextlib
import difflib
import numbers
import os
import sys
import warnings
from collections.abc import Iterable
from typing import Any, Self

__all__ = [
    "NONE",
    "NOTHING_CHANGED",
    "CountError",
    "DataError",
    "DataWarning",
    "Described",
    "EngineError",
    "FileError",
    "ForgetError",
    "ParameterError",
    "TallyError",
    "UnsupportedError",
    "check_integer",
    "did_you_mean",
    "is_real_number",
    "shorten",
    "warn",
]

NOTHING_CHANGED = "nothing was changed"

_NOTHING = object()
_LONGEST = 200  # characters of a name that are compared: the time grows with their square
_NEAR = 0.65  # of difflib: 'dgo' is near 'dog' (0.67), 'nope' is not near 'one' (0.57)


class DataWarning(UserWarning):
    """Data that can be used, but that may not mean what it was taken for: what was assumed, and how to change it."""


class Described(str):
    """What was given, in words instead of its value: shown without quotes.

    >>> str(ParameterError("a file", got=Described("a folder")))
    'expected a file, got a folder'
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


NONE = Described("none")


class TallyError(Exception):
    """Any error that tallybayes raises on purpose."""

    def __init__(
        self,
        expected: str,
        *,
        got: Any = _NOTHING,
        column: str | None = None,
        row: int | None = None,
        file: str | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.expected, self.column, self.row, self.hint = expected, column, row, hint
        self.file, self.line = file, line
        self.got = None if got is _NOTHING else got
        self._facts = {"got": got, "column": column, "row": row, "file": file, "line": line, "hint": hint}
        places = [file] if file is not None else []
        places += [f"line {line}"] if line is not None else []
        places += [f"column {column!r}"] if column is not None else []
        places += [f"row {row}"] if row is not None and line is None else []  # a line says it better
        text = f"{', '.join(places)}: " if places else ""
        text += expected if got is _NOTHING else f"expected {expected}, got {shorten(got)}"
        super().__init__(text + (f"\nhint: {hint}" if hint else ""))

    def at(self, **facts: Any) -> Self:
        """The same error with more known about it: `row=`, `file=`, `line=`, `hint=`.

        >>> str(DataError("a number", got="x", row=3).at(file="a.csv", line=5))
        "a.csv, line 5: expected a number, got 'x'"
        """
        return type(self)(self.expected, **(self._facts | facts))


class DataError(TallyError, ValueError):
    """The data does not fit the model or the column's family."""


class ForgetError(DataError):
    """The rows to forget cannot have been learned."""

    def __init__(self, expected: str, **facts: Any) -> None:
        hint = f"forget needs exactly the rows, weights and labels given to fit or learn; {NOTHING_CHANGED}"
        super().__init__(expected, **{"hint": hint} | facts)


class FileError(TallyError, ValueError):
    """A file cannot be read or written, is damaged, or is not what it should be."""


class ParameterError(TallyError, ValueError):
    """An argument is outside its domain."""


class CountError(TallyError, OverflowError):
    """A count left the range of 64-bit integers."""


class EngineError(TallyError, RuntimeError):
    """An engine that counts in pieces cannot do its work."""


class UnsupportedError(TallyError, TypeError):
    """The question has no answer for this kind of model."""


def check_integer(name: str, value: Any, *, at_least: int) -> int:
    """Return an argument as an int; raise a ParameterError unless it is an integer (of any type) of at least this.

    >>> check_integer("folds", 4, at_least=2)
    4
    >>> check_integer("folds", True, at_least=0)
    Traceback (most recent call last):
        ...
    tallybayes.errors.ParameterError: expected folds to be an integer of at least 0, got True
    """
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < at_least:
        raise ParameterError(f"{name} to be an integer of at least {at_least}", got=value)
    return int(value)


def is_real_number(value: Any) -> bool:
    """Whether an argument is a real number of any type, a boolean excepted.

    >>> is_real_number(2), is_real_number(True)
    (True, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def shorten(value: Any, width: int = 60) -> str:
    """The repr of a value, cut to be read in one line.

    >>> shorten("x" * 100, width=12)
    "'xxxxxxx..."
    """
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    text = repr(value)
    return text if len(text) <= width else f"{text[: width - 4]}..."


def did_you_mean(name: Any, names: Iterable[Any], what: str | None = None) -> str | None:
    """A hint for a misspelt name; if none is near, a list of the names, or None unless it is said `what` they are.

    >>> did_you_mean("labl", ["label", "age"])
    "did you mean 'label'?"
    >>> did_you_mean("year", ["label", "age"], "columns")
    "the columns are ['label', 'age']"
    """
    known = {str(known).lower(): known for known in names}
    near = difflib.get_close_matches(str(name)[:_LONGEST].lower(), known, n=1, cutoff=_NEAR)
    if near:
        meant = known[near[0]]
        return f"did you mean {meant if type(meant) in (bool, int, float) else repr(str(meant))}?"
    return f"the {what} are {shorten(list(known.values()), 200)}" if what and known else None


def warn(
    text: str, *, column: str | None = None, hint: str | None = None, category: type[Warning] = DataWarning
) -> None:
    """Warn about data that may not mean what it was taken for; the warning names the line of the user.

    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     warn("5,201 was read as 5201", column="price", hint="decimal=',' reads 5.201")
    >>> print(found[0].message)
    column 'price': 5,201 was read as 5201
    hint: decimal=',' reads 5.201
    """
    where = "" if column is None else f"column {column!r}: "
    text = f"{where}{text}" + ("" if hint is None else f"\nhint: {hint}")
    warnings.warn(text, category, stacklevel=_callers_level())


def _callers_level() -> int:
    """The level of the stack at which the user has called: the first outside this package and its contexts.

    scikit-learn puts a function of its `base` module around the methods of an estimator: that is not the user.
    """
    package, around = os.path.dirname(__file__) + os.sep, (contextlib.__file__, os.path.join("sklearn", "base.py"))
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        name = frame.f_code.co_filename
        if not name.startswith(package) and not name.endswith(around):
            break
        level, frame = level + 1, frame.f_back
    return level
