"""The command `tally`: its verbs, and the one place where errors become words and exit codes.

0 all went well, 1 it could not be done (and nothing was changed), 2 the command was not understood.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from tallybayes.cli import (
    change_command,
    compare_command,
    decide_command,
    demo_command,
    evaluate_command,
    explain_command,
    fit_command,
    importance_command,
    inspect_command,
    predict_command,
    report_command,
    sample_command,
    tune_command,
)
from tallybayes.cli.messages import complain
from tallybayes.cli.options import Command, Debug, Group, debugging

__all__ = ["app", "main"]

EXAMPLE = """
tally fit data.csv --label species            # learn; writes data.tally
tally predict data.tally new.csv              # the label of every row, as CSV
tally evaluate data.csv --label species       # how good is it? 10-fold cross-validation
"""

app = typer.Typer(
    cls=Group,
    name="tally",
    help="Naive Bayes by exact counting: any table in, one file out.",
    epilog=EXAMPLE,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for module in (
    fit_command,
    tune_command,
    predict_command,
    evaluate_command,
    compare_command,
    decide_command,
    report_command,
    explain_command,
    importance_command,
    change_command,
    inspect_command,
    sample_command,
    demo_command,
):
    for verb, example in module.VERBS:
        app.command(cls=Command, epilog=example, help=verb.__doc__)(verb)


def _version(asked: bool) -> None:
    if asked:
        from tallybayes import __version__, kernels

        print(f"tally {__version__} ({kernels.IMPLEMENTATION} kernels)")
        raise typer.Exit


@app.callback()
def tally(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and the kernels.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Naive Bayes by exact counting: any table in, one file out."""


def main() -> None:
    """Run the command; a user's mistake is told in a few lines, without a traceback."""
    stopped = _watch_for_interrupts()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        app()
    except BrokenPipeError:  # the reader has seen enough (| head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)  # as if it had been ended by the signal
    except _Stopped:
        _say_stopped()
    except Exception as error:
        if stopped:  # while a library was being loaded, which made something else of it
            _say_stopped()
        _say_why(error)


def _say_why(error: Exception) -> None:
    from tallybayes.errors import ParameterError, TallyError

    if debugging() or not isinstance(error, (TallyError, OSError, MemoryError)):
        raise error
    complain(str(error) or type(error).__name__)
    sys.exit(2 if isinstance(error, ParameterError) else 1)


def _say_stopped() -> None:
    complain("stopped; nothing was changed")
    sys.exit(130)


class _Stopped(BaseException):
    """Ctrl-C was pressed. Not a KeyboardInterrupt, which others would handle without a word."""


def _watch_for_interrupts() -> list[int]:
    """A list that is filled when Ctrl-C is pressed."""
    stopped: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        raise _Stopped

    signal.signal(signal.SIGINT, stop)
    return stopped


if __name__ == "__main__":
    main()
