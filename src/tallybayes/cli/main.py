"""The command `tally`: its verbs, and the one place where errors become words and exit codes.

0 all went well, 1 it could not be done (and nothing was changed), 2 the command was not understood.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from tallybayes.cli import change, demo, evaluate, explain, fit, inspect, predict, sample
from tallybayes.cli.options import Command, Group, debugging
from tallybayes.cli.talk import complain

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
for module in (fit, predict, evaluate, explain, change, inspect, sample, demo):
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
) -> None:
    """Naive Bayes by exact counting: any table in, one file out."""


def main() -> None:
    """Run the command; a user's mistake is told in a few lines, without a traceback."""
    from tallybayes.errors import ParameterError, TallyError

    try:
        app()
    except BrokenPipeError:  # the reader has seen enough (| head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        complain("stopped; nothing was changed")
        sys.exit(130)
    except TallyError as error:
        if debugging():
            raise
        complain(str(error))
        sys.exit(2 if isinstance(error, ParameterError) else 1)
    except (OSError, MemoryError) as error:
        if debugging():
            raise
        complain(str(error) or type(error).__name__)
        sys.exit(1)


if __name__ == "__main__":
    main()
