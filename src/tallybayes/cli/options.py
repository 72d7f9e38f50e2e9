"""Options that several verbs share, and help that begins with an example."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from tallybayes.data.files import Progress
    from tallybayes.data.source import Source

__all__ = [
    "Command",
    "Data",
    "Debug",
    "Group",
    "Json",
    "ModelFile",
    "Output",
    "Reader",
    "adds",
    "class_named",
    "debugging",
    "reads",
]

Verb = Callable[..., None]

_debug = False


def debugging() -> bool:
    """Whether a traceback is wanted."""
    return _debug


def _set_debug(asked: bool) -> None:
    global _debug
    _debug = _debug or asked


class _ExampleFirst:
    """Help that shows an example before anything else."""

    epilog: str | None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The example, then the usual."""
        for line in (self.epilog or "").strip().splitlines():
            formatter.write(f"  {line}\n")
        formatter.write("\n")
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Nothing: it was shown at the top."""


class Command(_ExampleFirst, TyperCommand):
    """A verb."""


class Group(_ExampleFirst, TyperGroup):
    """The command itself."""


Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Files, folders, globs, a query, or - for standard input.", show_default=False),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file (*.tally).", show_default=False)]
Output = Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", help="Write there, not to the screen.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]
Debug = Annotated[
    bool, typer.Option("--debug", callback=_set_debug, help="Show the traceback of an error.", is_eager=True)
]
_Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="csv, tsv, json, parquet, duckdb, sqlite, text, mail or mbox; found out otherwise.",
    ),
]
_Delimiter = Annotated[str | None, typer.Option(metavar="C", help="The delimiter of a CSV file; found out otherwise.")]
_Decimal = Annotated[str | None, typer.Option(metavar="C", help="The decimal sign, . or , ; found out otherwise.")]
_Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="The encoding of text; found out otherwise.")]
_Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD", help="A word that stands for a missing value (repeatable). [NA, null, ? and the like]"
    ),
]
_NoHeader = Annotated[bool, typer.Option("--no-header", help="The first line is data; columns are x0, x1, ...")]
_Table = Annotated[str | None, typer.Option(metavar="NAME", help="The table of a database file, or a query on it.")]
_SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out and count rows that cannot be read.")]

_READING: dict[str, tuple[Any, Any]] = {
    "format": (_Format, None),
    "delimiter": (_Delimiter, None),
    "decimal": (_Decimal, None),
    "encoding": (_Encoding, None),
    "missing": (_Missing, None),
    "no_header": (_NoHeader, False),
    "table": (_Table, None),
    "skip_bad": (_SkipBad, False),
    "debug": (Debug, False),
}


class Reader:
    """Data read the way the options say."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    def __call__(self, data: list[str], progress: Progress | None = None) -> Source:
        """The source."""
        from tallybayes.data.files import read
        from tallybayes.errors import ParameterError

        for path in data:
            if path.endswith(".tally"):
                raise ParameterError("data", got=path, hint="this is the name of a model; see --help for the order")
        given = dict(self._options)
        given.pop("debug")
        header, missing = not given.pop("no_header"), given.pop("missing") or None
        if given["delimiter"] is not None:
            given["delimiter"] = given["delimiter"].replace("\\t", "\t")
        return read(data, header=header, missing=missing, progress=progress, **given)


def adds(name: str, options: dict[str, tuple[Any, Any]], make: Callable[..., Any]) -> Callable[[Verb], Verb]:
    """A decorator: in place of its parameter `name` a verb gets options, and is given what `make` makes of them."""

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


def class_named(classes: list[Any], text: str) -> Any:
    """A class of a model by what it is shown as."""
    from tallybayes.errors import ParameterError, did_you_mean
    from tallybayes.formatting import shown

    known = {shown(label): label for label in classes}
    if text not in known:
        raise ParameterError("a class of the model", got=text, hint=did_you_mean(text, known))
    return known[text]
