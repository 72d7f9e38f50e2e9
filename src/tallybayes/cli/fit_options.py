"""The options of `fit` on the command line, from their declarations in `state/options.py`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from tallybayes.cli.shared_options import option
from tallybayes.state.option_domains import (
    AUTO_OR_POSITIVE,
    BINS,
    CLASS_PRIOR,
    CLASS_WEIGHTS,
    COLUMN_PRIORS,
    FAMILIES,
    FAMILY,
    GROUP,
    MODEL,
    NAMES,
    POSITIVE,
    SCHEMA,
    STRENGTH,
    STRENGTHS,
    SWITCHES,
    TABLE,
    WEIGHTS,
)
from tallybayes.state.options import LABELLED, OPTIONS, UNWEIGHTED, FitOptions, Option

if TYPE_CHECKING:
    from tallybayes.tables.source import Source
    from tallybayes.tables.table import Table

__all__ = ["LABEL", "NOT_GIVEN", "SAMPLE_WEIGHT", "Fitting", "LabelledFitting", "UnweightedFitting", "fit_options"]

LABEL = option("COL", "The column to predict; COL=VALUE makes a boolean label.")
SAMPLE_WEIGHT = option("COL", "The column with the weight of each row.")
NOT_GIVEN: Any = (None, [], ())  # the value of an option that is not given, which may also be repeatable

_REPEATABLE = {
    FAMILIES: "COL[,COL]=FAMILY",
    NAMES: "COL",
    STRENGTHS: "[COL=]K",
    CLASS_PRIOR: "[CLASS=]P",
    CLASS_WEIGHTS: "CLASS=W|balanced",
    SWITCHES: "[COL=]yes|no|auto",
    WEIGHTS: "auto|none|COL=W",
}
_YES_OR_NO = {"yes": True, "no": False, "true": True, "false": False, "auto": "auto"}
_SINGLE = {BINS: "N|EDGES", SCHEMA: "FILE", FAMILY: "FAMILY", GROUP: "COL", STRENGTH: "K"}
_SINGLE |= {COLUMN_PRIORS: "FILE", MODEL: "MODEL", POSITIVE: "FACTOR", TABLE: "FILE", AUTO_OR_POSITIVE: "auto|FACTOR"}


def _group(names: Iterable[str]) -> Callable[..., dict[str, Any]]:
    """A function of some options of `fit`, as the command line has them, that returns their values by name."""

    def values(**given: Any) -> dict[str, Any]:
        return given

    values.__signature__ = inspect.Signature([_declare(name, OPTIONS[name]) for name in names])  # type: ignore[attr-defined]
    return values


def _declare(name: str, declared: Option) -> inspect.Parameter:
    """An option of `fit` as a parameter of a command; its value is None where it is not given."""
    domain, repeated = declared.domain, _REPEATABLE.get(declared.domain)
    default = f" [{declared.default}]" if declared.default not in (None, ()) else ""
    metavar = repeated or "|".join(domain.choices) or _SINGLE[domain]
    help = f"{declared.help}{' (repeatable)' if repeated else ''}{default}"
    kind: Any = list[str] if repeated else float if domain in (STRENGTH, POSITIVE) else str
    shown = option(metavar, help, None, f"--{(declared.flag or name).replace('_', '-')}")
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=shown, annotation=kind | None)


Fitting = Annotated[dict[str, Any], _group(OPTIONS)]
LabelledFitting = Annotated[dict[str, Any], _group(LABELLED)]
UnweightedFitting = Annotated[dict[str, Any], _group(UNWEIGHTED)]


def fit_options(source: Source, label: str | None, *, sample_weight: str | None = None, **values: Any) -> FitOptions:
    """The values given on the command line as options of `tallybayes.fit`; there must be a label or a schema."""
    from tallybayes.cells.date_format import DATE_PARTS
    from tallybayes.columns.label_spec import label_column
    from tallybayes.columns.readers.date_reader import part_name
    from tallybayes.errors import NONE, Described, ParameterError, shorten

    source.look_for(["label" if label is None else label])
    columns = list(source.head().columns)
    has_schema = values["schema"] is not None or values["base_model"] is not None
    if label is None and not has_schema and not (source.head().holds_documents and "label" in columns):
        hint = f"the columns are {shorten(columns, 200)}"
        raise ParameterError("--label COL, the column to predict", got=NONE, hint=hint)
    apart = (sample_weight, label_column(label or "", columns)[0])
    names = [name for name in columns if name not in apart]
    parts = [part_name(name, part) for name in names for part in DATE_PARTS]  # if they are dates
    parts += _inner_names(source.head(), values.get("families") or ())
    options: Any = {
        name: _value(OPTIONS[name], value, names, parts, source, label)
        for name, value in values.items()
        if value not in NOT_GIVEN and name != "column_priors"
    }
    if (path := values["column_priors"]) is not None:
        from tallybayes.cli.priors_file import read_priors

        of_file = read_priors(path, source, label)
        if "class_prior" in options and "class_prior" in of_file:
            hint = f"remove one of them: {path} has the other"
            raise ParameterError(f"--class-prior or class_prior in {path}", got=Described("both"), hint=hint)
        options = of_file | options
    return options  # type: ignore[no-any-return]


def _inner_names(head: Table, texts: Sequence[str]) -> list[str]:
    """Names before the sign = that lead into objects, or are objects that were divided into columns."""
    before = [text[:place] for text in texts for place, sign in enumerate(text) if sign == "="]
    wanted = [name for name in before if name not in head.columns]
    found = head.with_names(wanted).columns if wanted else {}
    return [name for name in wanted if name in found and any(value is not None for value in found[name])]


def _value(option: Option, value: Any, names: list[str], parts: list[str], source: Source, label: str | None) -> Any:
    """The value of an option from the words on the command line, by its domain."""
    both = [*names, *parts]
    if option.domain is FAMILIES:
        return dict(_split_family(f"--{option.flag}", text, both) for text in value)
    if option.domain is SCHEMA:
        from tallybayes.columns.schema import Schema

        return Schema.load(value)
    if option.domain is WEIGHTS:
        return _column_weights(value, both)
    if option.domain is BINS:
        return _bins(value)
    if option.domain is AUTO_OR_POSITIVE:
        return _auto_or_number(option, value)
    if option.domain is STRENGTHS:
        expected = "--smoothing: auto, a number from 0 to inf, or COL=K"
        return _by_column(value, names, both, lambda text: text if text == "auto" else float(text), expected)
    if option.domain is SWITCHES:
        expected = "--missing-as-value: yes, no or auto, or COL=yes"
        return _by_column(value, names, both, lambda text: _YES_OR_NO[text.lower()], expected)
    if option.domain in (CLASS_PRIOR, CLASS_WEIGHTS) and (len(value) > 1 or "=" in value[0]):
        is_prior = option.domain is CLASS_PRIOR
        forms = "prior: empirical, uniform, or CLASS=P for every class" if is_prior else "weight: balanced, or CLASS=W"
        return _by_class(value, label or "", source, f"--class-{forms}")
    return value[0] if option.domain in (CLASS_PRIOR, CLASS_WEIGHTS) else value


def _auto_or_number(option: Option, text: str) -> Any:
    """The word auto, or a number."""
    from tallybayes.errors import ParameterError

    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise ParameterError(f"an option to be {option.domain.words}", got=text) from None


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


def _split_family(option: str, text: str, names: list[str]) -> tuple[str | tuple[str, ...], str]:
    """The column and the family of COL=FAMILY, or the columns of COL,COL=FAMILY."""
    from tallybayes.columns.label_spec import split_name

    columns, equals, family = text.partition("=")
    if split_name(text, names) is not None or "," not in columns or not equals:
        return _split(option, text, names)
    return tuple(_split(option, f"{column.strip()}={family}", names)[0] for column in columns.split(",")), family


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


def _by_column(
    texts: list[str], columns: list[str], names: list[str], parse: Callable[[str], Any], expected: str
) -> Any:
    """One value for all columns, or values by column: a value without a column is that of the other columns.

    names: of the columns and of what may become columns;  expected: the option and its forms, for errors.
    """
    from tallybayes.errors import ParameterError

    by_column: dict[str, Any] = {}
    others = []
    for text in texts:
        name, value = _split(expected.partition(":")[0], text, names) if "=" in text else (None, text)
        try:
            parsed = parse(value)
        except (ValueError, KeyError):
            raise ParameterError(expected, got=text) from None
        if name is None:
            others.append(parsed)
        else:
            by_column[name] = parsed
    if not by_column:
        return others[-1]
    return {**dict.fromkeys(columns, others[-1]), **by_column} if others else by_column


def _by_class(texts: list[str], label: str, source: Source, expected: str) -> dict[Any, float]:
    """Numbers by label; the labels have the type that they have in the data."""
    from tallybayes.cli.known_keys import known_keys
    from tallybayes.errors import ParameterError

    labels, result = known_keys(source, label), dict[Any, float]()
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            result[labels.get(name, name)] = float(value)
        except ValueError:
            raise ParameterError(expected, got=text) from None
    return result
