"""How the options of subcommands are declared, and those that several subcommands share.

An option is the default of a parameter: `folds: int = option("N", "The number of folds.", 5)`. A parameter whose type
is a group (`Reading`, `Fitting` in `fit_options.py`, `Checking` in `doubt_list.py`) stands for all options of the
group; one that is a context is entered while the command runs.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

from tallybayes.cli.messages import detail, is_verbose, set_talk, timed

if TYPE_CHECKING:
    from tallybayes.tables.source import Progress, Source

__all__ = [
    "DATA",
    "DEBUG",
    "JSON",
    "LEAVE_ONE_OUT",
    "MODEL",
    "OUTPUT",
    "InputReader",
    "Reading",
    "argument",
    "check_label_column",
    "debugging",
    "flag",
    "option",
    "with_options",
]

Verb = Callable[..., None]

_debug = False


def debugging() -> bool:
    """Whether errors are shown with a traceback."""
    return _debug


def _set_debug(requested: bool) -> None:
    global _debug
    _debug = _debug or requested


def argument(metavar: str, help: str, default: Any = ...) -> Any:
    """Declare an argument; without a default it is required."""
    return typer.Argument(default, metavar=metavar, help=help, show_default=False)


def option(metavar: str, help: str, default: Any = None, *names: str) -> Any:
    """Declare an option with a value; it is called --parameter unless names are given."""
    return typer.Option(default, *names, metavar=metavar, help=help)


def flag(*names: str, help: str, **more: Any) -> Any:
    """Declare an option without a value."""
    return typer.Option(False, *names, help=help, **more)


DATA = argument("DATA...", "Files, folders, globs, an SQL query, or - for standard input.")
MODEL = argument("MODEL", "A model file (*.tally).")
OUTPUT = option("FILE", "Write to this file instead of standard output.", None, "-o", "--output")
JSON = flag("--json", help="Print JSON.")
DEBUG = flag("--debug", help="Show the traceback of an error.", callback=_set_debug, is_eager=True)
LEAVE_ONE_OUT = flag("--leave-one-out", help="The model has learned these rows and others: score each without itself.")


@dataclass(frozen=True)
class InputReader:
    """Opens data with the options for reading."""

    format: str | None = option(
        "NAME",
        "csv, tsv, json, parquet, arrow, excel, arff, sas, stata, spss, duckdb, sqlite, text, mail or mbox. [detected]",
    )
    delimiter: str | None = option("C", "The delimiter of a CSV file. [detected]")
    decimal: str | None = option("C", "The decimal separator, . or , [detected]")
    thousands: str | None = option("C", "The thousands separator, one of , . ' or a space. [detected]")
    encoding: str | None = option("NAME", "The encoding of text. [detected]")
    missing: list[str] | None = option("WORD", "One more word for missing values besides NA, null, ? ... (repeatable).")
    missing_only: list[str] | None = option("WORD", "A word for missing values instead of the usual ones (repeatable).")
    no_header: bool = flag("--no-header", help="The first line is data; the columns are named x0, x1, ...")
    table: str | None = option(
        "NAME", "A table of a database, a sheet of a workbook, a file in a zip archive, or an SQL query."
    )
    skip_lines: int = option("N", "Skip N lines, such as a title, before the header.", 0)
    comment: str | None = option("C", "Skip lines that begin with this. [#, before the header only; none: never]")
    quote: str | None = option("C", 'The quote around cells of text, or none. ["]')
    skip_bad: bool = flag("--skip-bad", help="Skip and count rows that cannot be read.")

    def __call__(self, data: list[str], progress: Progress | None = None) -> Source:
        """Return the data as a source."""
        from tallybayes.errors import ParameterError
        from tallybayes.io.read import read

        for path in data:
            if path.endswith(".tally"):
                hint = "this is a model file; see --help for the order of arguments"
                raise ParameterError("data", got=path, hint=hint)
        options = dict(vars(self))
        header = not options.pop("no_header")
        words: dict[str, Any] = {name: options.pop(name) or None for name in ("missing", "missing_only")}
        if self.delimiter is not None:
            options["delimiter"] = self.delimiter.replace("\\t", "\t")
        source = read(data, header=header, **words, progress=progress, **options)
        if is_verbose():
            with timed("reading the first rows"):
                facts = {"format": getattr(source, "kind", None), "columns": len(source.head().columns)}
            facts |= getattr(source, "facts", dict)()
            detail("detected: " + ", ".join(f"{name} {value!r}" for name, value in facts.items()))
        return source


Reading = Annotated[InputReader, InputReader]  # the type of the parameter, and the function of the options


def _set_messages(
    debug: bool = DEBUG,
    quiet: bool = flag("-q", "--quiet", help="Print no notes, warnings and progress; errors are printed."),
    verbose: bool = flag("-v", "--verbose", help="Print what was detected and how long each step took."),
    no_config: bool = flag("--no-config", help="Ignore tally.toml."),
) -> None:
    """Take the options that all commands have: --debug acts by its callback, --no-config in `Command`."""
    from tallybayes.errors import Described, ParameterError

    if quiet and verbose:
        raise ParameterError("--quiet or --verbose", got=Described("both"))
    set_talk("quiet" if quiet else "verbose" if verbose else "usual")


def with_options(verb: Verb) -> Verb:
    """A command as typer takes it: groups are replaced by their options, and those of all commands are added."""
    groups: dict[str, Callable[..., Any]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        if get_origin(parameter.annotation) is Annotated:
            groups[parameter.name] = get_args(parameter.annotation)[1]
            parameters += _parameters(groups[parameter.name])
        else:
            parameters.append(parameter)

    def run(**arguments: Any) -> None:
        def call(group: Callable[..., Any]) -> Any:
            return group(**{parameter.name: arguments.pop(parameter.name) for parameter in _parameters(group)})

        call(_set_messages)
        values = {name: call(group) for name, group in groups.items()}
        with timed("total"), contextlib.ExitStack() as stack:
            for value in values.values():
                if isinstance(value, contextlib.AbstractContextManager):
                    stack.enter_context(value)
            verb(**values, **arguments)

    run.__signature__ = inspect.Signature([*parameters, *_parameters(_set_messages)])  # type: ignore[attr-defined]
    run.__name__ = verb.__name__
    return run


def _parameters(group: Callable[..., Any]) -> list[inspect.Parameter]:
    """The options of a group."""
    parameters = inspect.signature(group, eval_str=True).parameters.values()
    return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]


def check_label_column(source: Source, label: Any) -> None:
    """Raise a DataError that names the columns of the data unless the label is one of them."""
    from tallybayes.columns.label_spec import check_label
    from tallybayes.errors import DataError

    source.look_for([label])
    head = source.head()
    try:
        check_label(label, head.columns)
    except DataError as error:
        raise head.locate(error) from None
