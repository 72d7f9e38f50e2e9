"""Messages of the command: results to standard output, everything else to standard error.

`--quiet` silences notes, warnings and progress, but not errors; `--verbose` adds what was detected and how long each
step took.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from tallybayes.errors import DataWarning
from tallybayes.formatting import json_text, printable

if TYPE_CHECKING:
    from tallybayes.tables.source import Source

__all__ = [
    "detail",
    "is_verbose",
    "note",
    "note_bad_rows",
    "print_error",
    "print_result",
    "progress",
    "set_talk",
    "timed",
    "warnings_as_notes",
]

_talk: Literal["quiet", "usual", "verbose"] = "usual"

_DELAY = 0.5  # seconds before a progress bar appears
_SHOWN = 5  # bad rows that are listed one by one


def print_result(value: Any) -> None:
    """Print a result to standard output: text for people, anything else as JSON."""
    print(printable(value, keep="\n") if isinstance(value, str) else json_text(value, indent=2))


def set_talk(talk: Literal["quiet", "usual", "verbose"]) -> None:
    """Set how much is printed to standard error beside errors."""
    global _talk
    _talk = talk


def note(text: str) -> None:
    """Print a note to standard error, unless the command is quiet."""
    if _talk != "quiet":
        print(printable(text, keep="\n"), file=sys.stderr)


def detail(text: str) -> None:
    """Print a note if the command is verbose."""
    if is_verbose():
        note(text)


def is_verbose() -> bool:
    """Whether details are printed."""
    return _talk == "verbose"


@contextlib.contextmanager
def timed(what: str) -> Iterator[None]:
    """If the command is verbose, print how long a step took."""
    began = time.perf_counter()
    yield
    detail(f"{what}: {time.perf_counter() - began:.2f} s")


def warnings_as_notes() -> None:
    """From now on, print every warning about data as a note, and those of other kinds as Python does."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if _talk == "quiet":
            return
        if issubclass(category, DataWarning):
            note(f"warning: {message}")
        else:
            usual(message, category, *where, **more)

    warnings.showwarning = show
    warnings.simplefilter("always", DataWarning)


def print_error(text: str) -> None:
    """Print an error to standard error, on a terminal in red."""
    start = "error:"
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        start = f"\033[31m{start}\033[0m"
    print(f"{start} {printable(text, keep=chr(10))}", file=sys.stderr)


def note_bad_rows(source: Source, what: str = "skipped {}") -> None:
    """Print a note about the rows that could not be read, with the first few of them."""
    if source.bad is None or not source.bad.count:
        return
    note(what.format(f"{source.bad.count} bad row{'s' if source.bad.count > 1 else ''}") + ":")
    for error in sorted(source.bad.examples, key=lambda error: (error.file or "", error.line or 0))[:_SHOWN]:
        note(f"  {str(error).partition(chr(10))[0]}")
    if source.bad.count > _SHOWN:
        note(f"  and {source.bad.count - _SHOWN} more")


@contextlib.contextmanager
def progress(what: str, *, unless_shown: bool = False, unit: str = "rows") -> Iterator[Any]:
    """Show a progress bar with rows (or another unit), speed and the time left, once it takes longer than a moment.

    There is no bar unless standard error is a terminal, and (with `unless_shown`) none if the data itself is printed to
    the terminal. Without a unit, only the share that is done is shown, with a description given by each step.
    """
    hidden = _talk == "quiet" or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb"
    with timed(what):
        if hidden or (unless_shown and sys.stdout.isatty()):
            yield None
        else:
            with _progress_bar(what, unit) as step:
                yield step


@contextlib.contextmanager
def _progress_bar(what: str, unit: str) -> Iterator[Any]:
    """A bar that appears after a moment, and the function that moves it."""
    began = time.monotonic()
    bar: Any = None
    with contextlib.ExitStack() as stack:

        def step(rows: int, share: float | None, size: int, about: str = what) -> None:
            nonlocal bar
            seconds = max(time.monotonic() - began, 1e-9)
            if bar is None and seconds > _DELAY:
                bar = stack.enter_context(_bar(unit))
                bar.add_task(what, total=None, rows=0, speed="")
            if bar is not None:
                speed = f"{rows / seconds:,.0f} {unit}/s"
                if share and size:
                    speed = f"{size * share / seconds / 1e6:.0f} MB/s"
                shown = {"rows": rows, "speed": speed, "description": about}
                bar.update(bar.task_ids[0], total=None if share is None else 1.0, completed=share or 0.0, **shown)

        yield step


def _bar(unit: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    figures = (TextColumn(f"{{task.fields[rows]:,}} {unit}"), TextColumn("{task.fields[speed]}"), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), *(figures if unit else ()))
    return Progress(*columns, console=Console(stderr=True), transient=True)
