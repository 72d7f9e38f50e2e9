"""What was dropped, guessed or changed while data was read, and how to have it otherwise.

Whoever reads data says what is doubtful where it is found (`doubt`), at any depth. Whoever was asked by the user
collects it (`collect_doubts`): `fit` gives one warning with the list and keeps it as `Model.doubts`, the command prints
it above its result, the page of a server shows it with the rows that it was given. Where nobody collects, each doubt
is a warning.

>>> with collect_doubts() as found:
...     doubt("rows", "3 rows were skipped", hint="mend them")
>>> found
[Doubt(kind='rows', text='3 rows were skipped', column=None, hint='mend them')]
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from tallybayes.errors import ParameterError, warn

__all__ = [
    "Doubt",
    "DoubtKind",
    "as_family",
    "collect_doubts",
    "doubt",
    "ignored",
    "list_doubts",
    "tell_doubts",
    "tell_together",
    "withdraw_doubts",
]

DoubtKind = Literal[  # in the order in which they are listed
    "labels",  # rows without a label because a word was taken for missing, labels that are written differently
    "rows",  # rows that were skipped, totals among the rows
    "file",  # header, encoding, quotes, nested values
    "missing words",  # words for missing values that may be values, and the other way round
    "odd cells",  # a word, a unit or an odd cell decided about the column, or was dropped
    "number format",  # decimal commas and thousands separators that could be the other
    "dates",  # the order of day and month, the century
    "categories",  # values outside an order, values of which only some have labels
    "excluded column",  # a column that is not used though most of its cells are filled
    "groups",  # rows that seem to belong together
    "possible leak",  # a column that tells the label
    "unlabelled rows",  # rows without a label that are not used
    "priors",  # a prior of a column that counts little
]
_LISTED = 20  # doubts in a list


@dataclass(frozen=True)
class Doubt:
    """One thing to check.

    kind: what it is about; text: what was done; column: where; hint: what to type to have it otherwise.

    >>> print(Doubt("rows", "3 rows were skipped", hint="mend them"))
    3 rows were skipped
    hint: mend them
    """

    kind: DoubtKind
    text: str
    column: str | None = None
    hint: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(DoubtKind):
            raise ParameterError(f"a kind of doubt ({', '.join(get_args(DoubtKind))})", got=self.kind)
        for value in (self.text, self.column or "", self.hint or ""):
            if not isinstance(value, str):
                raise ParameterError("the text of a doubt", got=value)

    @property
    def where(self) -> str:
        """The column, as the beginning of a sentence."""
        return "" if self.column is None else f"column {self.column!r}: "

    def __str__(self) -> str:
        return f"{self.where}{self.text}" + ("" if self.hint is None else f"\nhint: {self.hint}")

    def to_dict(self) -> dict[str, Any]:
        """As plain values; only what is known."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, facts: Any) -> Doubt:
        """From plain values, checked."""
        if (
            not isinstance(facts, dict)
            or facts.keys() - {"kind", "text", "column", "hint"}
            or not {"kind", "text"} <= facts.keys()
        ):
            raise ParameterError("a doubt: kind, text, column and hint", got=facts)
        return cls(**facts)


_collector: ContextVar[list[Doubt] | None] = ContextVar("collector of doubts", default=None)


def doubt(kind: DoubtKind, text: str, *, column: str | None = None, hint: str | None = None) -> None:
    """Say what was dropped, guessed or changed; the same is said once."""
    tell_doubts([Doubt(kind, text, column, hint)])


def tell_doubts(doubts: Iterable[Doubt]) -> None:
    """Hand doubts to the one who collects them; warn of each if nobody does."""
    collector = _collector.get()
    for one in doubts:
        if collector is None:
            warn(one.text, column=one.column, hint=one.hint)
        elif one not in collector:
            collector.append(one)


def withdraw_doubts(doubts: Iterable[Doubt]) -> None:
    """Take back doubts that more of the data has settled, as far as they are still collected."""
    collector = _collector.get()
    if collector is not None:
        gone = set(doubts)
        collector[:] = [one for one in collector if one not in gone]


@contextlib.contextmanager
def collect_doubts() -> Iterator[list[Doubt]]:
    """A context in which doubts are collected in a list, those of its threads too."""
    found: list[Doubt] = []
    token = _collector.set(found)
    try:
        yield found
    finally:
        _collector.reset(token)


@contextlib.contextmanager
def tell_together() -> Iterator[list[Doubt]]:
    """A context whose doubts are told at its end: to the one who collects them, or by one warning."""
    try:
        with collect_doubts() as found:
            yield found
    except BaseException:
        if _collector.get() is not None:  # they may explain the error
            tell_doubts(found)
        raise
    if _collector.get() is None and len(found) > 1:
        warn(list_doubts(found))
    else:
        tell_doubts(found)


def as_family(column: str, family: str) -> str:
    """How to give a column a family, as it is typed in the library and in a shell.

    >>> print(as_family("unit price", "histogram"))
    families={"unit price": "histogram"} (--as 'unit price=histogram')
    """
    return f'families={{"{column}": "{family}"}} (--as {shlex.quote(f"{column}={family}")})'


def ignored(column: str) -> str:
    """How to leave out a column, as it is typed in the library and in a shell.

    >>> print(ignored("unit price"))
    ignore=['unit price'] (--ignore 'unit price')
    """
    return f"ignore=[{column!r}] (--ignore {shlex.quote(column)})"


def list_doubts(doubts: Sequence[Doubt]) -> str:
    """Doubts as a list for people, sorted by kind.

    >>> print(list_doubts([Doubt("rows", "3 rows were skipped", hint="mend them"), Doubt("dates", "1951", "born")]))
    please check:
    - 3 rows were skipped
      hint: mend them
    - column 'born': 1951
    """
    ordered = sorted(doubts, key=lambda one: get_args(DoubtKind).index(one.kind))
    lines = ["- " + str(one).replace("\nhint: ", "\n  hint: ") for one in ordered[:_LISTED]]
    more = [f"- and {len(doubts) - _LISTED} more"] if len(doubts) > _LISTED else []
    return "\n".join(["please check:", *lines, *more])
