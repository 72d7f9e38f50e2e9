"""What the command says to people: data and answers to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallybayes.data.source import Source

__all__ = ["answer", "complain", "note", "progress", "tell_bad"]

_MOMENT = 0.5  # seconds before a bar is worth a look
_SHOWN = 5  # bad rows that are told one by one


def answer(value: Any) -> None:
    """Print an answer: text as it is, anything else as JSON."""
    print(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str))


def note(text: str) -> None:
    """Say something by the way."""
    print(text, file=sys.stderr)


def complain(text: str) -> None:
    """Say what went wrong, in red where that can be seen."""
    start = "error:"
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        start = f"\033[31m{start}\033[0m"
    print(f"{start} {text}", file=sys.stderr)


def tell_bad(source: Source) -> None:
    """Say which rows were left out."""
    if source.bad is None or not source.bad.count:
        return
    note(f"left out {source.bad.count} bad row{'s' if source.bad.count > 1 else ''}:")
    for error in sorted(source.bad.examples, key=lambda error: (error.file or "", error.line or 0))[:_SHOWN]:
        note(f"  {str(error).partition(chr(10))[0]}")
    if source.bad.count > _SHOWN:
        note(f"  and {source.bad.count - _SHOWN} more")


@contextlib.contextmanager
def progress(what: str, *, unless_shown: bool = False, unit: str = "rows") -> Iterator[Any]:
    """A bar with rows, speed and the time left, while a file is read for longer than a moment.

    There is none off a terminal, and (`unless_shown`) none where the data itself is shown on the terminal. Without a
    unit only the share that is done is shown, of what the step is told it is about.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb" or (unless_shown and sys.stdout.isatty()):
        yield None
        return
    began = time.monotonic()
    bar: Any = None
    with contextlib.ExitStack() as stack:

        def step(rows: int, share: float | None, size: int, about: str = what) -> None:
            nonlocal bar
            seconds = max(time.monotonic() - began, 1e-9)
            if bar is None and seconds > _MOMENT:
                bar = stack.enter_context(_bar(unit))
                bar.add_task(what, total=None, rows=0, speed="")
            if bar is not None:
                speed = (
                    f"{size * share / seconds / 1e6:.0f} MB/s" if share and size else f"{rows / seconds:,.0f} rows/s"
                )
                total = None if share is None else 1.0
                bar.update(
                    bar.task_ids[0], rows=rows, total=total, completed=share or 0.0, speed=speed, description=about
                )

        yield step


def _bar(unit: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    figures = (TextColumn("{task.fields[rows]:,} rows"), TextColumn("{task.fields[speed]}"), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), *(figures if unit else ()))
    return Progress(*columns, console=Console(stderr=True), transient=True)
