"""Options that several subcommands share, and help that begins with an example."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from tallybayes.data.source import Progress, Source
    from tallybayes.model import Model

__all__ = [
    "Command",
    "Data",
    "Debug",
    "Group",
    "Json",
    "LeaveOneOut",
    "ModelFile",
    "Output",
    "Reader",
    "adds",
    "check_label_column",
    "class_named",
    "debugging",
    "learned_model",
    "reads",
]

Verb = Callable[..., None]

_NUMBERS = {"int_parsing": "an integer", "float_parsing": "a number"}  # by what pydantic calls the error

_debug = False


def debugging() -> bool:
    """Whether errors are shown with a traceback."""
    return _debug


def _set_debug(requested: bool) -> None:
    global _debug
    _debug = _debug or requested


class _ExampleFirst:
    """Help that shows an example before anything else."""

    epilog: str | None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the example, then the usual help."""
        for line in (self.epilog or "").strip().splitlines():
            formatter.write(f"  {line}\n")
        formatter.write("\n")
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: the example is at the top."""


class Command(_ExampleFirst, TyperCommand):
    """A subcommand, whose arguments are shown as their metavars say: MODEL DATA..."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; a value that is not a number is reported in our words."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            for one in getattr(error.__cause__, "errors", list)():
                if one["type"] in _NUMBERS:
                    error.message = f"expected {_NUMBERS[one['type']]}, got {one['input']!r}"
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line after the name of the command."""
        return ["[OPTIONS]", *(name for name, _ in self._arguments())]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options with their help."""
        shown = [one.get_help_record(ctx) for one in self.get_params(ctx) if one.param_type_name == "option"]
        for title, records in (("Arguments", self._arguments()), ("Options", [one for one in shown if one])):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def _arguments(self) -> list[tuple[str, str]]:
        """The metavar and the help of each argument."""
        found: list[Any] = [one for one in self.params if one.param_type_name == "argument"]
        return [(one.metavar, one.help) for one in found]


class Group(_ExampleFirst, TyperGroup):
    """The command `tally`."""


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...", help="Files, folders, globs, an SQL query, or - for standard input.", show_default=False
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file (*.tally).", show_default=False)]
Output = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file instead of standard output.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Debug = Annotated[
    bool, typer.Option("--debug", callback=_set_debug, help="Show the traceback of an error.", is_eager=True)
]
LeaveOneOut = Annotated[
    bool, typer.Option("--leave-one-out", help="The model has learned this data: score each row without itself.")
]


def _flag(name: str, help: str) -> tuple[Any, Any]:
    return Annotated[bool, typer.Option(name, help=help)], False


def _value(metavar: str, help: str, kind: Any = str) -> tuple[Any, Any]:
    return Annotated[kind | None, typer.Option(metavar=metavar, help=help)], None


_READING: dict[str, tuple[Any, Any]] = {  # the annotation and the default of each option
    "format": _value("NAME", "csv, tsv, json, parquet, duckdb, sqlite, text, mail or mbox. [detected]"),
    "delimiter": _value("C", "The delimiter of a CSV file. [detected]"),
    "decimal": _value("C", "The decimal separator, . or , [detected]"),
    "thousands": _value("C", "The thousands separator, one of , . ' or a space. [detected]"),
    "encoding": _value("NAME", "The encoding of text. [detected]"),
    "missing": _value("WORD", "One more word for missing values besides NA, null, ? ... (repeatable).", list[str]),
    "missing_only": _value("WORD", "A word for missing values instead of the usual ones (repeatable).", list[str]),
    "no_header": _flag("--no-header", "The first line is data; the columns are named x0, x1, ..."),
    "table": _value("NAME", "A table of a database file, or an SQL query."),
    "skip_bad": _flag("--skip-bad", "Skip and count rows that cannot be read."),
    "debug": (Debug, False),
}


class Reader:
    """Opens data with the options for reading."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    def __call__(self, data: list[str], progress: Progress | None = None) -> Source:
        """Return the data as a source."""
        from tallybayes.data.read import read
        from tallybayes.errors import ParameterError

        for path in data:
            if path.endswith(".tally"):
                hint = "this is a model file; see --help for the order of arguments"
                raise ParameterError("data", got=path, hint=hint)
        given = dict(self._options)
        given.pop("debug")
        header = not given.pop("no_header")
        words: dict[str, Any] = {name: given.pop(name) or None for name in ("missing", "missing_only")}
        if given["delimiter"] is not None:
            given["delimiter"] = given["delimiter"].replace("\\t", "\t")
        return read(data, header=header, **words, progress=progress, **given)


def adds(name: str, options: dict[str, tuple[Any, Any]], make: Callable[..., Any]) -> Callable[[Verb], Verb]:
    """A decorator that replaces the parameter `name` of a command by options, and passes make(**options) for it."""

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def wrapped(**given: Any) -> None:
            own = {option: given.pop(option) for option in options}
            verb(**{name: make(**own)}, **given)

        signature = inspect.signature(verb, eval_str=True)
        added = [
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for option, (annotation, default) in options.items()
        ]
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            parameters += added if parameter.name == name else [parameter]
        wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del wrapped.__wrapped__
        return wrapped

    return decorate


reads = adds("reader", _READING, Reader)


def check_label_column(source: Source, label: Any) -> None:
    """Raise a DataError that names the columns of the data unless the label is one of them."""
    from tallybayes.data.label import check_label
    from tallybayes.errors import DataError

    head = source.head()
    try:
        check_label(label, head.columns)
    except DataError as error:
        raise head.located(error) from None


def learned_model(path: str) -> Model:
    """A model file with at least one class."""
    from tallybayes.errors import DataError, Described
    from tallybayes.model.saved_model import load

    model = load(path)
    if not model.classes:
        raise DataError("a model that has learned rows", got=Described("an empty model"), file=path)
    return model


def class_named(classes: list[Any], text: str) -> Any:
    """The class of a model with this printed form."""
    from tallybayes.errors import ParameterError, did_you_mean
    from tallybayes.formatting import shown

    known = {shown(label): label for label in classes}
    if text not in known:
        raise ParameterError("a class of the model", got=text, hint=did_you_mean(text, known, "classes"))
    return known[text]
