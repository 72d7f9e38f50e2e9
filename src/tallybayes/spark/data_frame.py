"""A DataFrame of Spark as a source of rows: its types are checked, a few rows are read, and columns are selected.

Classic and Connect DataFrames are the same here: only what both have is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tallybayes.columns.batch import columns_to_read
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, Described, ParameterError, warn
from tallybayes.spark.tree import on_driver
from tallybayes.spark.vector_columns import Forms, forms_of_schema, n_elements, with_vectors

__all__ = ["SAMPLE", "SIMPLE_TYPES", "SparkRows", "named_batches", "quote"]

SAMPLE = 20_000  # rows from which a schema is inferred
_CELLS = 20_000_000  # of these rows: of very many columns fewer rows are read
_LEAST_ROWS = 1000
_MORE = 1.02  # times the rows that are wanted, as Spark draws a share of the rows, which varies
_NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal", "boolean")
_OTHERS = ("string", "char", "varchar", "date", "timestamp", "timestamp_ntz", "binary", "void")
SIMPLE_TYPES = {*_NUMBERS, *_OTHERS}  # types of single values, by their names in Spark
_VECTOR = "VectorUDT"


class SparkRows:
    """A DataFrame whose columns the data layer can read.

    may_stream: whether a stream will do, because every row is answered by itself.
    """

    def __init__(self, df: Any, *, may_stream: bool = False) -> None:
        from pyspark.sql import DataFrame

        if not isinstance(df, DataFrame):
            raise ParameterError("a DataFrame of Spark", got=type(df).__name__)
        self.df = df
        with on_driver():
            self.types = {field.name: field.dataType for field in df.schema.fields}
            names = df.columns
            tells_case = df.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
        if not may_stream and getattr(df, "isStreaming", False):
            hint = "learn its batches in foreachBatch: tallybayes.spark.StreamLearner"
            raise ParameterError("a DataFrame that ends", got=Described("a stream"), hint=hint)
        n_of_name = Counter(name if tells_case else name.lower() for name in names)
        self.ambiguous = {name for name in names if n_of_name[name if tells_case else name.lower()] > 1}

    @property
    def vectors(self) -> list[str]:
        """The columns of vectors of Spark ML."""
        kinds = {name: type(kind).__name__ for name, kind in self.types.items() if name not in self.ambiguous}
        return [name for name, kind in kinds.items() if kind == _VECTOR]

    def check_types(self, names: Iterable[str]) -> None:
        """Raise a DataError if one of the columns has a type that has no meaning here, or a name that others have."""
        for name in names:
            if name in self.ambiguous:
                hint = "rename one of them (Spark tells names apart by case only if spark.sql.caseSensitive is true)"
                raise DataError("column names that differ", got=name, hint=hint)
            if name in self.types and not _is_readable(self.types[name]):
                hint = f"select its parts as columns, or leave it out: df.drop({name!r})"
                expected = "numbers, text, booleans, dates, arrays, maps or vectors"
                raise DataError(expected, got=Described(self.types[name].simpleString()), column=name, hint=hint)

    def tell_other_cases(self, absent: Iterable[str]) -> None:
        """Warn about columns of a model that are here in another case, which Spark would take for the same."""
        here = {name.lower(): name for name in self.types}
        for name in absent:
            if name not in self.types and name.lower() in here:
                other = here[name.lower()]
                hint = f"rename it: df.withColumnRenamed({other!r}, {name!r})"
                warn(
                    f"the model has this column and the DataFrame {other!r}: it is read as missing",
                    column=name,
                    hint=hint,
                )

    def readable(self) -> list[str]:
        """The columns whose types and names can be read."""
        return [name for name, kind in self.types.items() if _is_readable(kind) and name not in self.ambiguous]

    def select(self, names: Collection[str]) -> Any:
        """A DataFrame with only these columns, vectors as structures with their parts.

        The columns are named c0, c1 and so on, because functions of Arrow tables refuse some names (`named_batches`).
        """
        return self.df.select(*[column.alias(f"c{i}") for i, column in enumerate(self.columns(names))])

    def columns(self, names: Collection[str]) -> list[Any]:
        """These columns, vectors as structures with their parts."""
        return [self._column(name) for name in self.types if name in names]

    def needed(self, schema: Schema, label: str, sample_weight: str | None, forms: Forms) -> list[str]:
        """The columns that have to be read to count rows by a schema."""
        wanted = {*columns_to_read(schema, label, sample_weight), *(name for name, form in forms.items() if form)}
        return [name for name in self.types if name in wanted]

    def scored(
        self, schema: Schema, label: str | None = None, renamed: Mapping[str, str] | None = None
    ) -> tuple[dict[str, str], Forms]:
        """The columns that have to be read to score rows, each with its name in the model, and the forms of vectors.

        renamed: columns whose names in the model are others.
        """
        known = renamed or {}
        names = {name: known.get(name, name) for name in self.types if name in known or name not in known.values()}
        forms = forms_of_schema(schema, [names[name] for name in self.vectors if name in names])
        wanted = {*columns_to_read(schema, label), *(name for name, form in forms.items() if form)}
        used = {name: in_model for name, in_model in names.items() if in_model in wanted}
        self.check_types(used)
        self.tell_other_cases(name for name in columns_to_read(schema) if name not in names.values())
        return used, {name: form for name, form in forms.items() if name in used.values()}

    def sample(self, names: Collection[str] | None = None, *, vectors: Collection[str] = ()) -> pa.Table:
        """The first rows that Spark returns.

        vectors: columns of vectors whose sizes are needed; if none of these rows has one, there is a row more that has.
        """
        wanted = [name for name in self.types if names is None or name in names]
        n_rows = max(_LEAST_ROWS, min(SAMPLE, _CELLS // max(len(wanted), 1)))
        with on_driver():
            rows = self.df.select(*self._sampled_columns(wanted))
            sampled = rows.limit(n_rows).toArrow()
            for name in self.vectors:
                if name in vectors and not n_elements(sampled, name):
                    more = rows.where(f"{quote(name)}.type IS NOT NULL").limit(1).toArrow()
                    sampled = pa.concat_tables([sampled, more.cast(sampled.schema)])
            return sampled

    def random_rows(self, n_rows: int, seed: int) -> pa.Table:
        """About so many rows, drawn at random; all rows if there are fewer."""
        with on_driver():
            rows, total = self.df.select(*self._sampled_columns(list(self.types))), self.df.count()
            if total > n_rows:
                rows = rows.sample(min(1.0, _MORE * n_rows / total), seed)
            return rows.limit(n_rows).toArrow()

    def _sampled_columns(self, names: Collection[str]) -> list[Any]:
        """Columns by their names; those that cannot be read are empty."""
        from pyspark.sql import functions

        readable, nothing = set(self.readable()), functions.lit(None).cast("string")
        return [self._column(name) if name in readable else nothing.alias(name) for name in names]

    def with_values(self, names: Collection[str]) -> pa.Table:
        """Rows in which one of these columns has a value."""
        from pyspark.sql import functions

        there = functions.lit(False)
        for name in names:
            there = there | functions.col(quote(name)).isNotNull()
        with on_driver():
            return self.df.where(there).select(*self.columns(names)).limit(SAMPLE).toArrow()

    def _column(self, name: str) -> Any:
        """A column by its name; the parts of a vector are null where there is none."""
        from pyspark.sql import functions

        column = functions.col(quote(name))
        if name in self.vectors:
            vector = functions.unwrap_udt(column)
            parts = [vector.getField(part).alias(part) for part in ("type", "size", "indices", "values")]
            column = functions.struct(*parts)
        return column.alias(name)


def quote(name: str) -> str:
    """The name of a column as Spark reads it, whatever characters it has.

    >>> quote("price.net")
    '`price.net`'
    """
    return "`" + name.replace("`", "``") + "`"


def named_batches(batches: Iterator[pa.RecordBatch], names: Sequence[str], forms: Forms) -> Iterator[pa.RecordBatch]:
    """Batches of `SparkRows.select` with the names of their columns, and vectors as columns or bags."""
    for batch in batches:
        yield with_vectors(pa.RecordBatch.from_arrays(batch.columns, names=list(names)), forms)


def _is_readable(kind: Any) -> bool:
    """Whether a type of Spark has a meaning in the data layer."""
    name = kind.typeName()
    if type(kind).__name__ == _VECTOR:
        return True
    if name == "array":
        return kind.elementType.typeName() in SIMPLE_TYPES
    if name == "map":
        return kind.keyType.typeName() in SIMPLE_TYPES and kind.valueType.typeName() in SIMPLE_TYPES
    return name in SIMPLE_TYPES
