"""What is to be checked about the data, printed above the result of a command."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

from tallybayes.cli.messages import note
from tallybayes.cli.shared_options import flag
from tallybayes.doubts import collect_doubts, list_doubts
from tallybayes.errors import DataError

if TYPE_CHECKING:
    from tallybayes.doubts import Doubt

__all__ = ["Checking", "DoubtList"]


class DoubtList:
    """The doubts of a command, from where it begins on; `show` prints those that were not printed yet."""

    def __init__(
        self,
        strict: bool = flag("--strict", help="Stop, and write nothing, if there is anything to check about the data."),
        yes: bool = flag("--yes", help="Do not list what is to be checked about the data."),
    ) -> None:
        self._strict, self._is_silent = strict, yes
        self._found: list[Doubt] = []
        self._n_shown = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._found = self._stack.enter_context(collect_doubts())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()
        self._print() if error is not None else self.show()

    def show(self) -> None:
        """Print the doubts so far, before the result is printed or written; an error with them if it is to be one."""
        if self._strict and self._found:
            hint = "without --strict it is done and the list is printed; with --yes the list is not printed"
            self._n_shown = len(self._found)
            raise DataError(f"--strict: {list_doubts(self._found)}", hint=hint)
        self._print()

    def _print(self) -> None:
        new, self._n_shown = self._found[self._n_shown :], len(self._found)
        if new and not self._is_silent:
            note(list_doubts(new) + "\n")

    def to_list(self) -> list[dict[str, Any]]:
        """The doubts for JSON."""
        return [one.to_dict() for one in self._found]


Checking = Annotated[DoubtList, DoubtList]  # the type of the parameter, and the function of the options
