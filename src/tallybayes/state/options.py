"""The options of `fit`, each declared once: its name, type, default, domain and help text.

Everything that has these options derives them from here: the signatures and docstrings of `fit`, `tune`,
`cross_validate`, `compare` and `prequential`, the fields of `Settings`, the parameters of the scikit-learn and river
estimators, the options of the command line, the settings in a model file, and the table in docs/options.md. A new
option is one entry here, and the code that uses it.

>>> OPTIONS["estimate"].default, OPTIONS["estimate"].domain.words
('bayes', "'bayes' or 'mle'")
"""

import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar

from tallybayes.errors import Described, ParameterError, UnsupportedError, did_you_mean
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
    PRESET,
    SCHEMA,
    STRENGTH,
    STRENGTHS,
    SWITCHES,
    TABLE,
    WEIGHTS,
    Domain,
    choice,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from tallybayes.columns.schema import Schema
    from tallybayes.families import Family, Smoothing
    from tallybayes.families.family import Unseen
    from tallybayes.state.column_weights import ColumnWeights
    from tallybayes.state.prior_values import ColumnPrior, Dirichlet
    from tallybayes.typing import TableLike

__all__ = [
    "LABELLED",
    "OPTIONS",
    "PRESETS",
    "SETTINGS",
    "UNLABELLED",
    "UNWEIGHTED",
    "FitOptions",
    "Option",
    "SettingOptions",
    "check_names",
    "complete",
    "with_options",
]

_Declared = TypeVar("_Declared", bound=Callable[..., Any])


@dataclass(frozen=True)
class Option:
    """An option: the values it takes, its default, what it means, and its name on the command line if it differs."""

    domain: Domain
    default: Any
    help: str
    flag: str | None = None


class ColumnOptions(TypedDict, total=False):
    """Options that determine the columns and their families; a model keeps the result as its schema."""

    families: Annotated[
        "Mapping[str | tuple[str, ...], str | Family] | str | Family | None",
        Option(
            FAMILIES,
            None,
            "Families of columns, such as gaussian or tags:separator=;. The families of other columns are inferred."
            " Several columns, named by a tuple or with commas between them, may have one together: joint_gaussian for"
            " numbers, full_joint or one_dependence for any.",
            flag="as",
        ),
    ]
    ignore: Annotated["Iterable[str] | None", Option(NAMES, (), "Columns to exclude.")]
    only: Annotated["Iterable[str] | None", Option(NAMES, None, "The only columns to use.")]
    group: Annotated[
        "str | Iterable[Any] | None",
        Option(
            GROUP,
            None,
            "The column of groups: rows with the same value are held out together, wherever weights are fitted and"
            " training rows are evaluated. It is not used as a column, unless it is given a family.",
        ),
    ]
    bins: Annotated[
        "int | Iterable[float] | None",
        Option(
            BINS,
            None,
            "Cut a label of numbers into classes: a number of ranges with about as many rows each, or the edges between"
            " them, such as 10,100 for the classes < 10, 10 to 100 and >= 100.",
        ),
    ]
    schema: Annotated[
        "Schema | None",
        Option(SCHEMA, None, "A saved schema, which fixes the families. Other options take precedence over it."),
    ]
    dependence: Annotated[
        "Literal['none', 'one', 'gaussian', 'full']",
        Option(
            choice("none", "one", "gaussian", "full"),
            "none",
            "Dependence between columns given the class: none (naive Bayes), one (averaged one-dependence estimators:"
            " every column depends on one other column, averaged over all of these), gaussian (all columns of"
            " numbers together have a joint normal distribution), or full (a few columns have a probability for each"
            " combination of their values).",
        ),
    ]


class SettingOptions(TypedDict, total=False):
    """Options that determine how sums become probabilities; a model keeps them as its `Settings`."""

    smoothing: Annotated[
        "Smoothing | Mapping[str, Smoothing]",
        Option(
            STRENGTHS,
            "auto",
            "Laplace smoothing k: auto (selected by evidence), a number from 0 (maximum likelihood) to inf (uniform),"
            " or one per column.",
        ),
    ]
    numeric: Annotated[
        "str | Family", Option(FAMILY, "histogram", "Family of the columns of numbers, such as gaussian.")
    ]
    column_priors: Annotated[
        "Mapping[str, ColumnPrior | Mapping[Any, Any]] | None",
        Option(
            COLUMN_PRIORS,
            None,
            "Priors of columns by name, which take the place of their smoothing: pseudo-counts of booleans (Beta) and"
            " categories (Dirichlet), also by class; a mean and a scale of numbers (NormalInverseGamma); or"
            " pseudo-counts of single values and words beside the smoothing, such as {'text': {'viagra': {'spam': 5}}}."
            " On the command line a file of TOML or JSON with `columns` and `class_prior`.",
            flag="priors",
        ),
    ]
    class_prior: Annotated[
        "Literal['empirical', 'uniform'] | Mapping[Any, float] | Dirichlet",
        Option(
            CLASS_PRIOR,
            "empirical",
            "Class prior: empirical (class frequencies), uniform, a probability for each class, or pseudo-counts"
            " (Dirichlet) that are added to the rows of the classes.",
        ),
    ]
    class_smoothing: Annotated[
        "float", Option(STRENGTH, 1.0, "Number of rows added to each class for the empirical class prior.")
    ]
    estimate: Annotated[
        "Literal['bayes', 'mle']",
        Option(
            choice("bayes", "mle"),
            "bayes",
            "Parameters: bayes (averaged over their posterior) or mle (maximum likelihood).",
        ),
    ]
    unseen: Annotated[
        "Unseen",
        Option(
            choice("prior", "missing"),
            "prior",
            "A category that was never seen has its prior probability (prior) or counts as missing (missing).",
        ),
    ]
    missing_as_value: Annotated[
        "bool | Literal['auto'] | Mapping[str, bool | Literal['auto']]",
        Option(
            SWITCHES,
            "auto",
            "Whether a missing value is evidence, like a value of its own: auto (where column weights are fitted),"
            " True, False, or one of these per column.",
        ),
    ]
    class_weight: Annotated[
        "Literal['balanced'] | Mapping[Any, float] | None",
        Option(
            CLASS_WEIGHTS,
            None,
            "Weights of the classes, by which the class prior is multiplied: a weight for each class (others have 1),"
            " or balanced (inverse to the class frequencies). Weighting the rows of a class has the same effect, apart"
            " from the smoothing.",
        ),
    ]
    infer: Annotated[
        "Literal['data', 'type']",
        Option(
            choice("data", "type"),
            "data",
            "Infer families from the values (data), or from their types alone (type), the same for any batches.",
        ),
    ]


class WeightOptions(TypedDict, total=False):
    """The option that determines how columns are weighted; a model keeps the result as its `ColumnWeights`."""

    column_weights: Annotated[
        "Literal['auto'] | Mapping[str, float | Mapping[Any, float]] | ColumnWeights | None",
        Option(
            WEIGHTS,
            "auto",
            "Weights of columns: auto (fitted on held-out rows of a sample), None (all are 1: plain naive Bayes), or a"
            " weight for some columns (others have 1).",
        ),
    ]


class BaseOptions(TypedDict, total=False):
    """Options that give a model another one as its base, whose sums lie beneath its own."""

    base_model: Annotated[
        "Any",
        Option(
            MODEL,
            None,
            "A model, or the path of one, whose sums lie beneath those of the data, such as a common filter beneath a"
            " personal one. They cannot be forgotten, and models with the same base merge. Schema and settings are"
            " those of the base, unless they are given.",
        ),
    ]
    base_strength: Annotated[
        "float", Option(POSITIVE, 1.0, "How much a row of the base counts, compared with a row of the data.")
    ]


class UnlabelledOptions(TypedDict, total=False):
    """Options for rows without a label, which `fit` divides among the classes by expectation-maximisation."""

    unlabelled: Annotated[
        "TableLike | None",
        Option(
            TABLE,
            None,
            "Rows without a label, as data of any kind, which are divided among the classes by"
            " expectation-maximisation. They cannot be forgotten one by one.",
        ),
    ]
    missing_labels: Annotated[
        "Literal['skip', 'em']",
        Option(
            choice("skip", "em"),
            "skip",
            "Rows of the data without a label: skip (they are counted and said), or em (they are divided among the"
            " classes like unlabelled rows).",
        ),
    ]
    unlabelled_weight: Annotated[
        "float | Literal['auto']",
        Option(
            AUTO_OR_POSITIVE,
            "auto",
            "How much an unlabelled row counts, compared with a labelled one: auto (by the log loss of labelled rows"
            " that are held out; not at all, if that is best) or a number.",
        ),
    ]


class PresetOptions(TypedDict, total=False):
    """The option that stands for values of several others."""

    preset: Annotated[
        "Literal['textbook'] | None",
        Option(
            PRESET,
            None,
            "Values of several options: textbook (numeric='gaussian', smoothing=1, column_weights=None), the naive"
            " Bayes of lectures. An option given beside it takes precedence.",
        ),
    ]


class FitOptions(
    ColumnOptions, SettingOptions, WeightOptions, BaseOptions, UnlabelledOptions, PresetOptions, total=False
):
    """Every option of `fit`, for `**options: Unpack[FitOptions]`."""


def _collect_options(options: type) -> dict[str, Option]:
    return {name: annotation.__metadata__[0] for name, annotation in options.__annotations__.items()}


OPTIONS: Mapping[str, Option] = _collect_options(FitOptions)
UNLABELLED: Mapping[str, Option] = _collect_options(UnlabelledOptions)
SETTINGS: Mapping[str, Option] = _collect_options(SettingOptions)
LABELLED: Mapping[str, Option] = {name: option for name, option in OPTIONS.items() if name not in UNLABELLED}
UNWEIGHTED: Mapping[str, Option] = {name: option for name, option in LABELLED.items() if name != "column_weights"}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "textbook": {"numeric": "gaussian", "smoothing": 1.0, "column_weights": None}
}

_LIKELY = {
    "weight": "sample_weight",
    "weights": "column_weights",
    "prior": "class_prior",
}  # what may be meant by a name
_LIKELY |= {"prior_smoothing": "class_smoothing", "alpha": "smoothing", "priors": "class_prior"}


def complete(given: Mapping[str, Any], options: Mapping[str, Option] = OPTIONS) -> dict[str, Any]:
    """A value for every option: the given one, that of the preset, or the default. An unknown name is an error.

    >>> complete({"estimate": "mle"}, {"estimate": OPTIONS["estimate"], "only": OPTIONS["only"]})
    {'estimate': 'mle', 'only': None}
    >>> textbook = complete({"preset": "textbook", "smoothing": 2.0})
    >>> textbook["numeric"], textbook["smoothing"], textbook["column_weights"]
    ('gaussian', 2.0, None)
    """
    check_names(given, options)
    preset = PRESET.check("preset", given.get("preset"))
    given = {**PRESETS.get(preset, {}), **given}
    return {name: given.get(name, option.default) for name, option in options.items()}


def check_names(given: Mapping[str, Any], options: Mapping[str, Option] = OPTIONS) -> None:
    """Raise a ParameterError with a hint if a name is not that of an option."""
    for name in given:
        if name not in options and name in _read_options():
            hint = f"it is an option of reading: give tb.read(path, {name}=...) instead of the path"
            raise ParameterError("the name of an option", got=name, hint=hint)
        if name not in options and name in UNLABELLED:
            hint = "tb.fit takes unlabelled rows (tally fit --unlabelled)"
            raise UnsupportedError("labelled rows alone", got=Described(f"the option {name}"), hint=hint)
        if name not in options:
            meant = _LIKELY.get(name, name)
            hint = (
                did_you_mean(meant, [*options, *{meant} & {"sample_weight"} - {name}])
                or f"the options are {', '.join(options)}"
            )
            raise ParameterError("the name of an option", got=name, hint=hint)


def _read_options() -> Collection[str]:
    """The names of the options of `tallybayes.read`."""
    from tallybayes.io.read import read

    return [name for name, one in inspect.signature(read).parameters.items() if one.kind is one.KEYWORD_ONLY]


def with_options(options: Mapping[str, Option] = OPTIONS) -> Callable[[_Declared], _Declared]:
    """A decorator that puts options into the signature and the docstring of a function or class.

    In the signature they replace `**options`, in the docstring the line `{options}`.
    """

    def declare(target: _Declared) -> _Declared:
        is_class = isinstance(target, type)
        function: Any = target.__init__ if is_class else target
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        function.__signature__ = signature.replace(
            parameters=parameters + [_parameter(*item) for item in options.items()]
        )
        if target.__doc__ is not None:  # python -OO has no docstrings
            text = "\n".join(_describe(name, option, numpydoc=is_class) for name, option in options.items())
            target.__doc__ = target.__doc__.replace("    {options}", textwrap.indent(text, "    "))
        return target

    return declare


def _parameter(name: str, option: Option) -> inspect.Parameter:
    annotation = FitOptions.__annotations__[name].__origin__.__forward_arg__
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=annotation)


def _describe(name: str, option: Option, *, numpydoc: bool) -> str:
    if not numpydoc:
        return textwrap.fill(f"{name}: {option.help}", 116, break_on_hyphens=False)
    text = textwrap.indent(textwrap.fill(option.help, 112, break_on_hyphens=False), "    ")
    return f"{name} : {option.domain.words}, default={option.default!r}\n{text}"
