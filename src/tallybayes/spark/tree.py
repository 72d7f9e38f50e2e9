"""Map and reduce over bytes on Spark: one value per task, combined by a tree of tasks, then by the driver.

    rows --mapInArrow--> one value per partition --groupBy(number % width).applyInArrow--> width values
         --repartition--> the driver

Values are data of the job, not side effects: a task that is run again or twice replaces its value, and cannot count
twice. The driver reads the last values one after the other, each once, and holds two at a time. It reads one partition
per job, so the last level of the tree has to be done by then: the shuffle after it lets its tasks run side by side.

Errors about data come from the worker that met them as data, too, so that there is no Java stack trace.

>>> text = _error_to_text(DataError("a number", got="x", column="age", row=7), 3)
>>> raise _error_from_text(text)
Traceback (most recent call last):
    ...
tallybayes.errors.DataError: partition 3, column 'age', row 7: expected a number, got 'x'
"""

from __future__ import annotations

import itertools
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa

from tallybayes import errors
from tallybayes.errors import DataError, Described, EngineError, ParameterError, TallyError, check_integer, shorten

__all__ = ["WIDTHS", "Mapped", "on_driver", "reduce_partitions"]

WIDTHS = (32,)  # values that are left after each level of the tree
_COLUMNS = "number int, value binary, error string"
_FACTS = ("column", "row", "file", "line", "hint")  # of an error
_MOST_BYTES = 2**31 - 2**16  # bytes of one value: Java and Arrow count the bytes of a cell by 32 bits

Batches = Iterator[pa.RecordBatch]
Mapped = Callable[[int, Batches], bytes]  # of the number of a partition and its rows
Combined = Callable[[Iterable[bytes]], bytes]
Total = TypeVar("Total")


def reduce_partitions(
    df: Any,
    value_of: Mapped,
    combine: Combined,
    total: Callable[[Iterable[bytes]], Total],
    *,
    widths: Sequence[int] = WIDTHS,
) -> Total | None:
    """The total of all partitions; None if there are no partitions.

    combine: of tasks, bytes to bytes; total: of the driver, which need not write as bytes what it goes on with.
    """
    from pyspark.sql import functions

    if not widths:
        raise ParameterError("widths: the number of values after each level of the tree", got=widths)
    for width in widths:
        check_integer("widths", width, at_least=1)
    with on_driver():
        large = df.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
        values = df.mapInArrow(_mapper(value_of, large=large), _COLUMNS)
        for width in widths:
            key = (functions.col("number") % functions.lit(width)).alias("key")
            values = values.groupBy(key).applyInArrow(_merger(combine, large=large), _COLUMNS)
        values = values.repartition("number")
        failed: dict[int, str] = {}
        left = _values(values.toLocalIterator(), failed)
        first = next(left, None)
        result = None if first is None else total(itertools.chain([first], left))
    if failed:
        raise _error_from_text(failed[min(failed)])
    return result


@contextmanager
def on_driver() -> Iterator[None]:
    """A context for calls to Spark: errors about the workers are told as such."""
    with warnings.catch_warnings():  # functions of Arrow tables load pandas, but do not use it
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        try:
            yield
        except TallyError:
            raise
        except Exception as error:
            if (known := _driver_error(error)) is None:
                raise
            raise known from None


def _values(rows: Iterable[Any], failed: dict[int, str]) -> Iterator[bytes]:
    """The values of rows up to the first error; errors are put into `failed`."""
    for row in rows:
        if row["error"] is not None:
            failed[row["number"]] = row["error"]
        elif not failed:
            yield bytes(row["value"])


def _mapper(value_of: Mapped, *, large: bool) -> Callable[[Batches], Batches]:
    """The function of one partition."""

    def map_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        os.environ["TALLYBAYES_THREADS"] = "1"  # Spark runs a task on each core
        task = TaskContext.get()
        number = 0 if task is None else task.partitionId()
        yield _row(number, *_attempt(number, lambda: value_of(number, batches)), large=large)

    return map_batches


def _merger(combine: Combined, *, large: bool) -> Callable[[Batches], Batches]:
    """The function of a group of values."""

    def merge_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        os.environ["TALLYBAYES_THREADS"] = "1"
        numbers: list[int] = []
        failed: dict[int, str] = {}

        def rows() -> Iterator[dict[str, Any]]:
            for batch in batches:
                for i in range(batch.num_rows):
                    row = {name: batch.column(name)[i].as_py() for name in ("number", "value", "error")}
                    numbers.append(row["number"])
                    yield row

        def value() -> bytes:
            left = _values(rows(), failed)
            first = next(left, None)
            return b"" if first is None else combine(itertools.chain([first], left))

        total = _attempt(0, value)
        number = min(failed or numbers)
        yield _row(number, *((None, failed[number]) if failed else total), large=large)

    return merge_batches


def _attempt(number: int, value: Callable[[], bytes]) -> tuple[bytes | None, str | None]:
    """A value, or the error about the data that it raised."""
    try:
        content = value()
        if len(content) > _MOST_BYTES:
            hint = "limit the vocabulary: families={'column': 'text:max_tokens=1000000'}"
            raise EngineError("a sum of less than 2 GB", got=Described(f"{len(content):,} bytes"), hint=hint)
    except TallyError as error:
        return None, _error_to_text(error, number)
    return content, None


def _row(number: int, value: bytes | None, error: str | None, *, large: bool) -> pa.RecordBatch:
    """A row with a value or an error, of the types that the session of Spark expects.

    large: whether its bytes and texts have offsets of 64 bits.
    """
    binary, string = (pa.large_binary(), pa.large_string()) if large else (pa.binary(), pa.string())
    columns = [pa.array([number], pa.int32()), pa.array([value], binary), pa.array([error], string)]
    return pa.RecordBatch.from_arrays(columns, names=["number", "value", "error"])


def _error_to_text(error: TallyError, partition: int) -> str:
    """An error as text; rows are numbered within their partition, unless they are of a file."""
    facts = {name: getattr(error, name) for name in _FACTS}
    if error.file is None and error.row is not None:
        facts["file"] = f"partition {partition}"
    got = None if error.got is None else shorten(error.got)
    return json.dumps({"type": type(error).__name__, "expected": error.expected, "got": got} | facts)


def _error_from_text(text: str) -> TallyError:
    """The error again."""
    facts = json.loads(text)
    kind, expected, got = facts.pop("type"), facts.pop("expected"), facts.pop("got")
    error_class: type[TallyError] = getattr(errors, kind, DataError)
    return error_class(expected, **facts) if got is None else error_class(expected, got=Described(got), **facts)


def _driver_error(error: Exception) -> EngineError | None:
    """What an error of Spark means, if it is about the workers and not about the data; None if it is something else."""
    text = str(error)
    if "No module named 'tallybayes" in text:
        hint = "install tallybayes on the workers, or ship the environment with --archives; see docs/scale.md"
        return EngineError("tallybayes on the workers of Spark", got=Described("workers without it"), hint=hint)
    if "spark.driver.maxResultSize" in text:
        hint = (
            "raise spark.driver.maxResultSize, or limit the vocabulary: families={'column': 'text:max_tokens=1000000'}"
        )
        return EngineError("a sum that the driver may receive", got=Described("a larger one"), hint=hint)
    return None
