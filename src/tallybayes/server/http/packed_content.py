"""Bodies that are compressed, archives or databases: refused, because a small one could grow without bound.

The limits of a server are on the bytes of a body and on its rows. What can be unpacked has other sizes than it shows.
"""

from __future__ import annotations

__all__ = ["packed_kind"]

_STARTS = {  # the first bytes of a file
    b"PK\x03\x04": "a zip archive or a workbook",
    b"\x1f\x8b": "a compressed file",
    b"BZh": "a compressed file",
    b"\xfd7zXZ": "a compressed file",
    b"\x28\xb5\x2f\xfd": "a compressed file",
    b"SQLite format 3\x00": "a database",
    b"\xd0\xcf\x11\xe0": "a workbook",
}


def packed_kind(body: bytes) -> str | None:
    r"""What a body is, if it cannot be read as it is.

    >>> packed_kind(b"PK\x03\x04...")
    'a zip archive or a workbook'
    >>> packed_kind(b"age,pet\n7,cat\n")
    """
    if body[8:12] == b"DUCK":
        return "a database"
    return next((kind for start, kind in _STARTS.items() if body.startswith(start)), None)
