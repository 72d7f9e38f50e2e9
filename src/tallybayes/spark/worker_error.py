"""Errors about data, from the worker that met them to the driver: as data, so that there is no Java stack trace.

>>> text = error_to_text(DataError("a number", got="x", column="age", row=7), 3)
>>> raise error_from_text(text)
Traceback (most recent call last):
    ...
tallybayes.errors.DataError: partition 3, column 'age', row 7: expected a number, got 'x'
"""

from __future__ import annotations

import json

from tallybayes import errors
from tallybayes.errors import DataError, Described, EngineError, TallyError, shorten

__all__ = ["driver_error", "error_from_text", "error_to_text"]

_FACTS = ("column", "row", "file", "line", "hint")


def error_to_text(error: TallyError, partition: int) -> str:
    """An error as text; rows are numbered within their partition, unless they are of a file."""
    facts = {name: getattr(error, name) for name in _FACTS}
    if error.file is None and error.row is not None:
        facts["file"] = f"partition {partition}"
    got = None if error.got is None else shorten(error.got)
    return json.dumps({"type": type(error).__name__, "expected": error.expected, "got": got} | facts)


def error_from_text(text: str) -> TallyError:
    """The error again."""
    facts = json.loads(text)
    kind, expected, got = facts.pop("type"), facts.pop("expected"), facts.pop("got")
    error_class: type[TallyError] = getattr(errors, kind, DataError)
    return error_class(expected, **facts) if got is None else error_class(expected, got=Described(got), **facts)


def driver_error(error: Exception) -> EngineError | None:
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
