"""New columns of a DataFrame by an Arrow function of some of its columns; all other columns stay as they are.

Spark may give such a function the columns of a reader (Parquet, a cached table) without making rows of them. That path
fails if any column of the DataFrame, or the result, is of a type of its own, as the vectors of Spark ML are. Then the
rows are filtered by a condition that all of them meet, which makes Spark pass rows instead of columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallybayes.spark.data_frame import SIMPLE_TYPES, SparkRows, quote

__all__ = ["with_scored_columns"]

_LEAST_HASH = -(2**31)
_HASHED = 3  # columns: more than one, as Spark would compute the condition beforehand if a column were a constant
_PASSED = SIMPLE_TYPES - {"void"}  # in columns, by the names of the types


def with_scored_columns(rows: SparkRows, used: list[str], scorer: Any, kind: Any, names: Mapping[str, str]) -> Any:
    """A DataFrame with the fields of the structure that a function of the columns `used` returns.

    kind: the type of the structure, as text if its fields are of simple types.
    names: the name of the new column of each field.
    """
    from pyspark.sql import functions

    score = functions.arrow_udf(scorer, kind)  # type: ignore[attr-defined] # missing in its types
    whole = "tallybayes"
    while whole.lower() in {name.lower() for name in rows.types}:
        whole += "_"
    results = [] if isinstance(kind, str) else [kind]
    passed = all(_is_passed_in_columns(column_type) for column_type in [*rows.types.values(), *results])
    df = rows.df if passed else rows.df.where(_always(rows, used))
    scored = df.withColumn(whole, score(functions.struct(*rows.columns(used))))
    return scored.withColumns({name: functions.col(whole).getField(part) for part, name in names.items()}).drop(whole)


def _always(rows: SparkRows, used: list[str]) -> Any:
    """A condition that every row meets, which Spark cannot know before it reads the row."""
    from pyspark.sql import functions

    columns = [(functions.col(quote(name)), rows.types[name].typeName()) for name in used[:_HASHED]]
    hashed = functions.hash(*[functions.size(column) if kind == "map" else column for column, kind in columns])
    return hashed >= functions.lit(_LEAST_HASH)


def _is_passed_in_columns(kind: Any) -> bool:
    """Whether Spark can pass values of a type in columns."""
    name = kind.typeName()
    if name == "struct":
        return all(_is_passed_in_columns(field.dataType) for field in kind.fields)
    if name == "array":
        return _is_passed_in_columns(kind.elementType)
    if name == "map":
        return _is_passed_in_columns(kind.keyType) and _is_passed_in_columns(kind.valueType)
    return name in _PASSED
