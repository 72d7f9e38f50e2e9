"""Options that several subcommands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallybayes.cli.messages import detail, is_verbose, set_talk, timed

if TYPE_CHECKING:
    from tallybayes.model import Model
    from tallybayes.tables.source import Progress, Source

__all__ = [
    "Data",
    "Debug",
    "InputReader",
    "Json",
    "LeaveOneOut",
    "ModelFile",
    "Output",
    "adds",
    "check_label_column",
    "debugging",
    "find_class",
    "learned_model",
    "load_model",
    "reads",
    "with_common_options",
]

Verb = Callable[..., None]

_debug = False


def debugging() -> bool:
    """Whether errors are shown with a traceback."""
    return _debug


def _set_debug(requested: bool) -> None:
    global _debug
    _debug = _debug or requested


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
    bool,
    typer.Option("--leave-one-out", help="The model has learned these rows and others: score each without itself."),
]


def _flag(name: str, help: str) -> tuple[Any, Any]:
    return Annotated[bool, typer.Option(name, help=help)], False


def _value(metavar: str, help: str, kind: Any = str) -> tuple[Any, Any]:
    return Annotated[kind | None, typer.Option(metavar=metavar, help=help)], None


_READING: dict[str, tuple[Any, Any]] = {  # the annotation and the default of each option
    "format": _value(
        "NAME",
        "csv, tsv, json, parquet, arrow, excel, arff, sas, stata, spss, duckdb, sqlite, text, mail or mbox. [detected]",
    ),
    "delimiter": _value("C", "The delimiter of a CSV file. [detected]"),
    "decimal": _value("C", "The decimal separator, . or , [detected]"),
    "thousands": _value("C", "The thousands separator, one of , . ' or a space. [detected]"),
    "encoding": _value("NAME", "The encoding of text. [detected]"),
    "missing": _value("WORD", "One more word for missing values besides NA, null, ? ... (repeatable).", list[str]),
    "missing_only": _value("WORD", "A word for missing values instead of the usual ones (repeatable).", list[str]),
    "no_header": _flag("--no-header", "The first line is data; the columns are named x0, x1, ..."),
    "table": _value("NAME", "A table of a database, a sheet of a workbook, a file in a zip archive, or an SQL query."),
    "skip_lines": (
        Annotated[int, typer.Option(metavar="N", help="Skip N lines, such as a title, before the header.")],
        0,
    ),
    "comment": _value("C", "Skip lines that begin with this. [#, before the header only; none: never]"),
    "quote": _value("C", 'The quote around cells of text, or none. ["]'),
    "skip_bad": _flag("--skip-bad", "Skip and count rows that cannot be read."),
    "debug": (Debug, False),
}


class InputReader:
    """Opens data with the options for reading."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    def __call__(self, data: list[str], progress: Progress | None = None) -> Source:
        """Return the data as a source."""
        from tallybayes.errors import ParameterError
        from tallybayes.io.read import read

        for path in data:
            if path.endswith(".tally"):
                hint = "this is a model file; see --help for the order of arguments"
                raise ParameterError("data", got=path, hint=hint)
        options = dict(self._options)
        options.pop("debug")
        header = not options.pop("no_header")
        words: dict[str, Any] = {name: options.pop(name) or None for name in ("missing", "missing_only")}
        if options["delimiter"] is not None:
            options["delimiter"] = options["delimiter"].replace("\\t", "\t")
        source = read(data, header=header, **words, progress=progress, **options)
        if is_verbose():
            with timed("reading the first rows"):
                facts = {"format": getattr(source, "kind", None), "columns": len(source.head().columns)}
            facts |= getattr(source, "facts", dict)()
            detail("detected: " + ", ".join(f"{name} {value!r}" for name, value in facts.items()))
        return source


def adds(name: str, options: dict[str, tuple[Any, Any]], make: Callable[..., Any]) -> Callable[[Verb], Verb]:
    """A decorator that replaces the parameter `name` of a command by options, and passes make(**options) for it."""

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def wrapped(**arguments: Any) -> None:
            values = {option: arguments.pop(option) for option in options}
            verb(**{name: make(**values)}, **arguments)

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


reads = adds("reader", _READING, InputReader)


def _flag_of(*names: str, help: str) -> Any:
    return Annotated[bool, typer.Option(*names, help=help)]


_COMMON: dict[str, tuple[Any, Any]] = {
    "quiet": (_flag_of("-q", "--quiet", help="Print no notes, warnings and progress; errors are printed."), False),
    "verbose": (_flag_of("-v", "--verbose", help="Print what was detected and how long each step took."), False),
    "no_config": (_flag_of("--no-config", help="Ignore tally.toml."), False),
}


def with_common_options(verb: Verb) -> Verb:
    """A command with the options that all commands have."""

    def run(common: dict[str, Any], **arguments: Any) -> None:
        from tallybayes.errors import Described, ParameterError

        if common["quiet"] and common["verbose"]:
            raise ParameterError("--quiet or --verbose", got=Described("both"))
        set_talk("quiet" if common["quiet"] else "verbose" if common["verbose"] else "usual")
        with timed("total"):
            verb(**arguments)

    signature = inspect.signature(verb, eval_str=True)
    common = inspect.Parameter("common", inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), common])  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = verb.__name__, verb.__doc__
    return adds("common", _COMMON, dict)(run)


def check_label_column(source: Source, label: Any) -> None:
    """Raise a DataError that names the columns of the data unless the label is one of them."""
    from tallybayes.columns.label_spec import check_label
    from tallybayes.errors import DataError

    head = source.head()
    try:
        check_label(label, head.columns)
    except DataError as error:
        raise head.locate(error) from None


def load_model(path: str) -> Model:
    """A model file, read."""
    from tallybayes.formatting import rows_of
    from tallybayes.model.saved_model import load

    with timed(f"reading {path}"):
        model = load(path)
    rows = "given probabilities" if model.is_given else rows_of(sum(model.class_counts.values()))
    detail(f"{path}: {len(model.classes)} classes, {len(model.schema.families)} columns, {rows}")
    return model


def learned_model(path: str) -> Model:
    """A model file with at least one class."""
    from tallybayes.errors import DataError, Described

    model = load_model(path)
    if not model.classes:
        raise DataError("a model that has learned rows", got=Described("an empty model"), file=path)
    return model


def find_class(classes: list[Any], text: str) -> Any:
    """The class of a model with this printed form."""
    from tallybayes.errors import ParameterError, did_you_mean
    from tallybayes.formatting import shown

    known = {shown(label): label for label in classes}
    if text not in known:
        raise ParameterError("a class of the model", got=text, hint=did_you_mean(text, known, "classes"))
    return known[text]
