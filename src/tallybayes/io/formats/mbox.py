"""The messages of an mbox: one after the other in a file, each after a line that begins with "From ".

Such a line starts a message if it is the first or follows a blank line, and if it contains a time or is followed by a
header: a sentence in a message may begin with "From " too. Python's `mailbox` module reads the whole file first to
index the messages; here they are found while reading, so that the file may be of any size, compressed, or a pipe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

__all__ = ["LONGEST", "is_mbox", "messages"]

LONGEST = 2**26  # bytes of a message that are read: the rest is an attachment

_PIECE = 2**16  # bytes of a line read at once
_TIMED = re.compile(rb"From \S.*\d:\d\d")
_HEADER = re.compile(rb">?[!-9;-~]+:")
_QUOTED = re.compile(rb">+From ")


def messages(file: IO[bytes], longest: int = LONGEST) -> Iterator[bytes]:
    r"""The messages of a file, without the "From " line of each; ">From " in them becomes "From " again.

    >>> import io
    >>> one = b"From ann@example.org Tue Apr  6 11:45:20 2004\nSubject: a\n\nFrom me.\n\nFrom now on\nand ever.\n\n"
    >>> list(messages(io.BytesIO(one + b"From bob@example.org\nSubject: b\n\n>From you.\n")))
    [b'Subject: a\n\nFrom me.\n\nFrom now on\nand ever.\n\n', b'Subject: b\n\nFrom you.\n']
    """
    held: list[bytes] = []
    n_bytes, begun, after_blank, at_start = 0, False, True, True  # begun: whether there was a "From " line
    following = file.readline(_PIECE)
    while line := following:
        following = file.readline(_PIECE)
        if at_start and after_blank and _begins(line, following, first=not begun and not held):
            if begun or held:
                yield b"".join(held)
            held, n_bytes, begun = [], 0, True
        elif n_bytes < longest and (begun or line.strip()):
            line = line[1:] if at_start and _QUOTED.match(line) else line
            held.append(line)
            n_bytes += len(line)
        after_blank = at_start and not line.strip(b"\r\n")
        at_start = line.endswith(b"\n")
    if begun or held:
        yield b"".join(held)


def is_mbox(start: bytes) -> bool:
    r"""Whether a file begins like an mbox.

    >>> is_mbox(b"From ann@example.org Tue Apr  6 11:45:20 2004\nTo: bob@example.org\n"), is_mbox(b"From now on\n")
    (True, False)
    """
    first, _, rest = start.lstrip(b"\r\n").partition(b"\n")
    return _TIMED.match(first) is not None and (not rest or _HEADER.match(rest) is not None)


def _begins(line: bytes, following: bytes, *, first: bool) -> bool:
    return line.startswith(b"From ") and bool(first or _TIMED.match(line) or _HEADER.match(following))
