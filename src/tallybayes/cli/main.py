"""The command `tally`: its subcommands, and the one place where errors become messages and exit codes.

0 success, 1 failure, 2 wrong usage, 130 interrupted. After 1 and 130 a message names the files that were already
written, if there are any.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from types import FrameType

import typer

from tallybayes.atomic_file import replaced_files
from tallybayes.cli import (
    bayes_error_command,
    change_command,
    compare_command,
    decide_command,
    demo_command,
    evaluate_command,
    explain_command,
    fit_command,
    from_probabilities_command,
    importance_command,
    inspect_command,
    log_command,
    predict_command,
    report_command,
    sample_command,
    serve_command,
    split_command,
    tune_command,
)
from tallybayes.cli.messages import note, print_error, warnings_as_notes
from tallybayes.cli.shared_options import DEBUG, debugging, flag
from tallybayes.cli.subcommand import Group, add_command
from tallybayes.errors import NOTHING_CHANGED, ParameterError, TallyError

__all__ = ["app", "main"]

EXAMPLE = """
tally fit data.csv --label species            # writes data.tally
tally predict data.tally new.csv              # predictions as CSV
tally evaluate data.csv --label species       # 10-fold cross-validation
"""

app = typer.Typer(
    cls=Group,
    name="tally",
    help="Naive Bayes by exact counting: fit tables of any kind, get one model file.",
    epilog=EXAMPLE,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for verb in (
    fit_command.fit,
    tune_command.tune,
    predict_command.predict,
    evaluate_command.evaluate,
    compare_command.compare,
    decide_command.calibrate,
    decide_command.decide,
    report_command.report,
    explain_command.explain,
    importance_command.importance,
    bayes_error_command.bayes_error,
    change_command.learn,
    change_command.forget,
    change_command.merge,
    inspect_command.inspect,
    split_command.split,
    sample_command.sample,
    from_probabilities_command.from_probabilities,
    serve_command.serve,
    serve_command.key,
    demo_command.demo,
):
    add_command(app, verb)
app.add_typer(log_command.log, name="log", help=log_command.HELP, epilog=log_command.EXAMPLE)


def _version(requested: bool) -> None:
    if requested:
        from tallybayes import __version__, kernels

        print(f"tally {__version__} ({kernels.IMPLEMENTATION} kernels)")
        raise typer.Exit


@app.callback()
def tally(
    version: bool = flag(
        "--version", help="Print the version and the kernels in use.", callback=_version, is_eager=True
    ),
    debug: bool = DEBUG,
) -> None:
    """Naive Bayes by exact counting: fit tables of any kind, get one model file."""


def main() -> None:
    """Run the command; a mistake of the user is reported in a few lines, without a traceback."""
    interrupts = _watch_for_interrupts()
    # The threads that NumPy starts for BLAS wait in a loop of 2**26 rounds: longer, in sum, than a prediction takes.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2**4 rounds, the least; then they sleep
    gc.set_threshold(50_000)  # imports allocate much and free little: 700, the default, looks through it all the time
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    warnings_as_notes()
    try:
        app()
    except BrokenPipeError:  # the reader has closed the pipe (| head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)  # the exit code of a process that the signal has ended
    except _Interrupted:
        _report_interrupt()
    except Exception as error:
        if interrupts:  # a library that was being imported has replaced the exception by its own
            _report_interrupt()
        _report_error(error)


def _report_error(error: Exception) -> None:
    if debugging() or not isinstance(error, (TallyError, OSError, MemoryError)):
        raise error
    print_error(str(error) or type(error).__name__)
    if written := replaced_files():
        note(f"already written: {', '.join(written)}")
    sys.exit(2 if isinstance(error, ParameterError) else 1)


def _report_interrupt() -> None:
    written = replaced_files()
    print_error(f"interrupted; already written: {', '.join(written)}" if written else f"interrupted; {NOTHING_CHANGED}")
    sys.exit(130)


class _Interrupted(BaseException):
    """Ctrl-C was pressed. Not a KeyboardInterrupt, which typer would handle."""


def _watch_for_interrupts() -> list[int]:
    """Return a list that receives an entry when Ctrl-C is pressed."""
    interrupts: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        raise _Interrupted

    signal.signal(signal.SIGINT, interrupt)
    return interrupts


if __name__ == "__main__":
    main()
