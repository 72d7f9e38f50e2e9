"""What kind of object some input is, told by its type alone.

The columns of a pandas frame are attributes of it, under any name. So `hasattr(frame, "format")` does not
show what it is; an attribute of its type does.
"""

from __future__ import annotations

from typing import Any

__all__ = ["has_attribute", "is_frame", "is_pandas_frame", "library_of"]


def has_attribute(data: Any, name: str) -> bool:
    """Whether the type of an object has an attribute or method of this name."""
    return hasattr(type(data), name)


def library_of(data: Any) -> str:
    """The library that the type of an object belongs to.

    >>> import pyarrow as pa
    >>> library_of(pa.table({"a": [1]})), library_of([1])
    ('pyarrow', 'builtins')
    """
    return type(data).__module__.partition(".")[0]


def is_pandas_frame(data: Any) -> bool:
    """Whether data is a data frame of pandas; pandas is not imported for it."""
    return library_of(data) == "pandas" and has_attribute(data, "columns")


def is_frame(data: Any) -> bool:
    """Whether data has named columns: a data frame of any library, an Arrow table or record batch.

    >>> import pyarrow as pa
    >>> is_frame(pa.table({"a": [1]})), is_frame(pa.array([1])), is_frame({"a": [1]})
    (True, False, False)
    """
    return has_attribute(data, "columns")
