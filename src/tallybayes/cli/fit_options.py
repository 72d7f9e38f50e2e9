"""The options of `fit` on the command line, from their declarations in `state/options.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallybayes.cli.shared_options import adds
from tallybayes.state.option_domains import (
    BINS,
    CLASS_PRIOR,
    CLASS_WEIGHTS,
    FAMILIES,
    FAMILY,
    NAMES,
    SCHEMA,
    STRENGTH,
    STRENGTHS,
    SWITCHES,
    WEIGHTS,
)
from tallybayes.state.options import OPTIONS, UNWEIGHTED, FitOptions, Option

if TYPE_CHECKING:
    from tallybayes.tables.source import Source

__all__ = ["NOT_GIVEN", "Label", "SampleWeight", "fit_options", "fits", "fits_unweighted"]

Label = Annotated[
    str | None,
    typer.Option(
        "--label", metavar="COL", help="The column to predict; COL=VALUE makes a boolean label.", show_default=False
    ),
]
SampleWeight = Annotated[str | None, typer.Option(metavar="COL", help="The column with the weight of each row.")]

_REPEATABLE = {
    FAMILIES: "COL=FAMILY",
    NAMES: "COL",
    STRENGTHS: "[COL=]K",
    CLASS_PRIOR: "[CLASS=]P",
    CLASS_WEIGHTS: "CLASS=W|balanced",
    SWITCHES: "[COL=]yes|no|auto",
    WEIGHTS: "auto|none|COL=W",
}
_YES_OR_NO = {"yes": True, "no": False, "true": True, "false": False, "auto": "auto"}
_SINGLE = {BINS: "N|EDGES", SCHEMA: "FILE", FAMILY: "FAMILY", STRENGTH: "K"}


def _declare(name: str, option: Option) -> tuple[Any, Any]:
    """The annotation of an option for typer, and None, its value where it is not given."""
    flag, domain = f"--{(option.flag or name).replace('_', '-')}", option.domain
    default = f" [{option.default}]" if option.default not in (None, ()) else ""
    if metavar := _REPEATABLE.get(domain):
        shown = typer.Option(flag, metavar=metavar, help=f"{option.help} (repeatable){default}")
        return Annotated[list[str] | None, shown], None
    metavar = "|".join(domain.choices) or _SINGLE[domain]
    kind = float if domain is STRENGTH else str
    return Annotated[kind | None, typer.Option(flag, metavar=metavar, help=f"{option.help}{default}")], None


_FITTING = {name: _declare(name, option) for name, option in OPTIONS.items()}
fits = adds("fitting", _FITTING, dict)
fits_unweighted = adds("fitting", {name: _FITTING[name] for name in UNWEIGHTED}, dict)
NOT_GIVEN: Any = (None, [], ())  # the value of an option that is not given, which may also be repeatable


def fit_options(source: Source, label: str | None, *, sample_weight: str | None = None, **values: Any) -> FitOptions:
    """The values given on the command line as options of `tallybayes.fit`; there must be a label or a schema."""
    from tallybayes.cells.date_format import DATE_PARTS
    from tallybayes.columns.label_spec import label_column
    from tallybayes.columns.readers.date_reader import part_name
    from tallybayes.errors import NONE, ParameterError, shorten

    columns = list(source.head().columns)
    if label is None and values["schema"] is None:
        hint = f"the columns are {shorten(columns, 200)}"
        raise ParameterError("--label COL, the column to predict", got=NONE, hint=hint)
    apart = (sample_weight, label_column(label or "", columns)[0])
    names = [name for name in columns if name not in apart]
    parts = [part_name(name, part) for name in names for part in DATE_PARTS]  # if they are dates
    options: Any = {
        name: _value(OPTIONS[name], value, names, parts, source, label)
        for name, value in values.items()
        if value not in NOT_GIVEN
    }
    return options  # type: ignore[no-any-return]


def _value(option: Option, value: Any, names: list[str], parts: list[str], source: Source, label: str | None) -> Any:
    """The value of an option from the words on the command line, by its domain."""
    both = [*names, *parts]
    if option.domain is FAMILIES:
        return dict(_split(f"--{option.flag}", text, both) for text in value)
    if option.domain is SCHEMA:
        from tallybayes.columns.schema import Schema

        return Schema.load(value)
    if option.domain is WEIGHTS:
        return _column_weights(value, both)
    if option.domain is BINS:
        return _bins(value)
    if option.domain is STRENGTHS:
        return _by_column([_strength(text, both) for text in value], names)
    if option.domain is SWITCHES:
        return _by_column([_switch(text, both) for text in value], names)
    if option.domain in (CLASS_PRIOR, CLASS_WEIGHTS):
        flag = "class-prior" if option.domain is CLASS_PRIOR else "class-weight"
        return _by_class(flag, value, label or "", source) if len(value) > 1 or "=" in value[0] else value[0]
    return value


def _bins(text: str) -> Any:
    """A number of bins, or edges with commas between them; a comma at the end makes a single edge."""
    from tallybayes.errors import ParameterError

    try:
        if "," not in text:
            return int(text)
        return [float(edge) for edge in text.removesuffix(",").split(",")]
    except ValueError:
        hint = "--bins 4 makes four classes, --bins 10,100 three, and --bins 10, two"
        raise ParameterError(
            "--bins: a number of bins, or edges with commas between them", got=text, hint=hint
        ) from None


def _split(option: str, text: str, names: list[str]) -> tuple[str, str]:
    """The column and the value of COL=VALUE."""
    from tallybayes.columns.label_spec import split_name
    from tallybayes.errors import ParameterError, did_you_mean

    if (pair := split_name(text, names)) is not None:
        return pair
    name = text.partition("=")[0]
    if "=" not in text:
        raise ParameterError(f"{option} COL=VALUE", got=text)
    hint = did_you_mean(name, names, "columns")
    raise ParameterError(f"the name of a column for {option}", got=name, hint=hint)


def _strength(text: str, names: list[str]) -> tuple[str | None, Any]:
    from tallybayes.errors import ParameterError

    name, value = _split("--smoothing", text, names) if "=" in text else (None, text)
    try:
        return name, value if value == "auto" else float(value)
    except ValueError:
        raise ParameterError("--smoothing: auto, a number from 0 to inf, or COL=K", got=text) from None


def _column_weights(texts: list[str], names: list[str]) -> Any:
    """auto, None, or weights by column."""
    from tallybayes.errors import ParameterError

    if texts in (["auto"], ["none"]):
        return "auto" if texts == ["auto"] else None
    try:
        pairs = [_split("--column-weights", text, names) for text in texts]
        return {name: float(weight) for name, weight in pairs}
    except ValueError:
        raise ParameterError("--column-weights: auto, none, or COL=W", got=", ".join(texts)) from None


def _switch(text: str, names: list[str]) -> tuple[str | None, Any]:
    from tallybayes.errors import ParameterError

    name, value = _split("--missing-as-value", text, names) if "=" in text else (None, text)
    if value.lower() not in _YES_OR_NO:
        raise ParameterError("--missing-as-value: yes, no or auto, or COL=yes", got=text)
    return name, _YES_OR_NO[value.lower()]


def _by_column(pairs: list[tuple[str | None, Any]], names: list[str]) -> Any:
    """One value for all columns, or values by column: a value without a column is that of the other columns."""
    by_column = {name: value for name, value in pairs if name is not None}
    others = [value for name, value in pairs if name is None]
    if not by_column:
        return others[-1]
    return {**dict.fromkeys(names, others[-1]), **by_column} if others else by_column


def _by_class(flag: str, texts: list[str], label: str, source: Source) -> dict[Any, float]:
    """Numbers by label; the labels have the type that they have in the data."""
    from tallybayes.columns.label_spec import LabelSpec
    from tallybayes.formatting import shown

    labels = {shown(key): key for key in [False, True, *LabelSpec().read(source.head(), label).keys]}
    return {labels.get(name, name): value for name, value in (_number_of_class(flag, text) for text in texts)}


def _number_of_class(flag: str, text: str) -> tuple[str, float]:
    from tallybayes.errors import ParameterError

    forms = {"class-prior": "empirical, uniform, or CLASS=P for every class", "class-weight": "balanced, or CLASS=W"}
    name, sign, value = text.rpartition("=")
    try:
        return name if sign else "", float(value)
    except ValueError:
        raise ParameterError(f"--{flag}: {forms[flag]}", got=text) from None
