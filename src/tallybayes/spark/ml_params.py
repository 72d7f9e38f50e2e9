"""The parameters of the Spark ML estimator: columns by the names of Spark ML, and every option of `fit`.

The options are those of `tallybayes.fit`, in camel case: `class_smoothing` is `classSmoothing`; `only` is
`featuresCols`. Their values are checked when they are set, and kept as plain values that JSON can hold: a family is its
text, a schema is what `Schema.to_dict` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasProbabilityCol, HasRawPredictionCol, HasWeightCol

from tallybayes.columns.schema import Schema
from tallybayes.errors import ParameterError
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.options import OPTIONS
from tallybayes.storage.keys import key_text, text_key

__all__ = ["OPTION_PARAMS", "FittingParams", "ScoringParams", "from_json", "to_json"]


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


OPTION_PARAMS = {_camel_case(name): name for name in OPTIONS if name != "only"}  # by the name of the Param

_LABELS = "by label"  # marks a dict whose keys are labels, because keys of JSON objects are text


class ScoringParams(HasLabelCol, HasPredictionCol, HasProbabilityCol, HasRawPredictionCol):
    """Params of the estimator and of its models: the columns that are read and written.

    An empty name of an output column means that the column is not computed.
    """

    featuresCol: Param[str] = Param(  # noqa: N815
        Params._dummy(),
        "featuresCol",
        "a column of vectors with the features, instead of featuresCols",
        typeConverter=TypeConverters.toString,
    )
    featuresCols: Param[list[str]] = Param(  # noqa: N815
        Params._dummy(),
        "featuresCols",
        "the columns of the features (default: every column except label and weight)",
        typeConverter=TypeConverters.toListString,
    )

    def getFeaturesCol(self) -> str | None:  # noqa: N802
        """The column of vectors, if it was set."""
        return self.getOrDefault(self.featuresCol) if self.isDefined(self.featuresCol) else None

    def getFeaturesCols(self) -> list[str] | None:  # noqa: N802
        """The columns of the features, if they were set."""
        return self.getOrDefault(self.featuresCols) if self.isDefined(self.featuresCols) else None

    def setPredictionCol(self, value: str) -> Any:  # noqa: N802
        """Set the name of the column for the answers."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Any:  # noqa: N802
        """Set the name of the column for the probabilities of the classes."""
        return self._set(probabilityCol=value)

    def setRawPredictionCol(self, value: str) -> Any:  # noqa: N802
        """Set the name of the column for the logs of the probabilities of the classes."""
        return self._set(rawPredictionCol=value)


class FittingParams(ScoringParams, HasWeightCol):
    """Params of the estimator: columns, and the options of `fit`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(**{param: OPTIONS[name].default for param, name in OPTION_PARAMS.items()})

    def setLabelCol(self, value: str) -> Any:  # noqa: N802
        """Set the name of the column of labels."""
        return self._set(labelCol=value)

    def setWeightCol(self, value: str) -> Any:  # noqa: N802
        """Set the name of the column of weights of rows."""
        return self._set(weightCol=value)

    def setFeaturesCol(self, value: str) -> Any:  # noqa: N802
        """Set the name of the column of vectors."""
        return self._set(featuresCol=value)

    def setFeaturesCols(self, value: list[str]) -> Any:  # noqa: N802
        """Set the names of the columns of the features."""
        return self._set(featuresCols=value)

    def fit_options(self) -> dict[str, Any]:
        """The options of `fit` that were set."""
        options = {name: self.getOrDefault(param) for param, name in OPTION_PARAMS.items() if self.isSet(param)}
        if options.get("schema") is not None:
            options["schema"] = Schema.from_dict(options["schema"])
        return options


def _checker(name: str) -> Callable[[Any], Any]:
    """The type converter of an option: its domain checks the value, which becomes plain."""

    def convert(value: Any) -> Any:
        if name == "schema" and isinstance(value, Mapping):
            value = Schema.from_dict(value)
        if isinstance(value, ColumnWeights):
            hint = "set the weights of columns as a dict, or fit with tallybayes.spark.fit"
            raise ParameterError("'auto', None or a dict of weights as a Param", got=value, hint=hint)
        OPTIONS[name].domain.check(name, value)
        return value.to_dict() if isinstance(value, Schema) else _plain(value)

    return convert


def _plain(value: Any) -> Any:
    """A checked value as strings, numbers, lists and dicts."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (str, int, float)) or value is None:
        return value
    if hasattr(value, "__iter__"):
        return [_plain(part) for part in value]
    return str(value)  # a family


def to_json(value: Any) -> Any:
    """The value of a Param for a JSON file; labels keep their types.

    >>> to_json({0: 0.5, 1: 0.5}), from_json(to_json({0: 0.5, 1: 0.5}))
    ({'by label': [['i0', 0.5], ['i1', 0.5]]}, {0: 0.5, 1: 0.5})
    """
    if not isinstance(value, Mapping):
        return value
    if all(isinstance(key, str) for key in value):
        return {key: to_json(part) for key, part in value.items()}
    return {_LABELS: [[key_text(key), to_json(part)] for key, part in value.items()]}


def from_json(value: Any) -> Any:
    """The inverse of `to_json`."""
    if not isinstance(value, dict):
        return value
    if value.keys() == {_LABELS} and isinstance(value[_LABELS], list):
        return {text_key(key): from_json(part) for key, part in value[_LABELS]}
    return {key: from_json(part) for key, part in value.items()}


def _add_option(param: str, name: str) -> None:
    """Add the Param of an option to the class, with its getter and setter."""
    option, suffix = OPTIONS[name], param[0].upper() + param[1:]
    doc = f"{option.help} (default: {option.default!r})"
    setattr(FittingParams, param, Param(Params._dummy(), param, option.help, typeConverter=_checker(name)))

    def getter(self: Any) -> Any:
        return self.getOrDefault(param)

    def setter(self: Any, value: Any) -> Any:
        return self._set(**{param: value})

    for prefix, method, verb in (("get", getter, "The value of"), ("set", setter, "Set")):
        method.__name__, method.__doc__ = prefix + suffix, f"{verb} {param}: {doc}"
        method.__qualname__ = f"FittingParams.{method.__name__}"
        setattr(FittingParams, method.__name__, method)


for _param, _name in OPTION_PARAMS.items():
    _add_option(_param, _name)
