"""What DuckDB reports about a line of text that is not a row, as errors of this library."""

from __future__ import annotations

import re

from tallybayes.errors import DataError, TallyError, shorten
from tallybayes.io.formats.delimited_text import DelimitedText
from tallybayes.io.formats.duckdb_format import line_in
from tallybayes.io.formats.input_file import without_compression_suffix

__all__ = ["OtherEncodingError", "UnusualQuoteError", "line_error", "reason_of"]

_SKIP = "skip_bad=True (--skip-bad) skips and counts such lines"


class OtherEncodingError(DataError):
    """A line that is not in the encoding of the file."""


class UnusualQuoteError(DataError):
    """A quote that is never closed, or is not at the end of its cell."""


def line_error(error: BaseException, text: DelimitedText) -> TallyError | None:
    """The error for a line that is not a row: a wrong number of cells, an open quote, another encoding; else None."""
    message = re.split(r"\n\s*file = ", str(error))[0]  # what follows are DuckDB's options
    found_line = line_in(message)
    line, name = None if found_line is None else text.original_line(found_line), text.name
    if "unicode" in message.lower() or "encoded" in message.lower():
        hint = "name the encoding with encoding= (--encoding), for example latin-1 or cp1252"
        return OtherEncodingError(f"the text is not in {text.encoding}", file=name, line=line, hint=hint)
    if found := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        hint = f"the line is {shorten(_original(message), 80)}; {_SKIP}"
        if found_line == text.skip + 2 and int(found[2]) > int(found[1]):
            hint = f"if the lines before it are a title: skip_lines= (--skip-lines); {hint}"
        if without_compression_suffix(name).endswith(".txt"):
            hint = "if this is a text and not a table: format='text' (--format text)"
        return DataError(f"{found[1]} cells", got=int(found[2]), file=name, line=line, hint=hint)
    if "unterminated quote" in message.lower():
        hint = f"quote='none' (--quote none) takes quotes for signs like any other; {_SKIP}"
        return UnusualQuoteError("a closing quote", got=_original(message), file=name, line=line, hint=hint)
    if line is not None:
        what = next((m for m in message.splitlines()[1:] if m and not m.startswith("Original Line")), message)
        words = f"a line that can be read ({reason_of(what)})"
        return DataError(words, got=_original(message), file=name, line=line, hint=_SKIP)
    return None


def reason_of(message: str) -> str:
    """DuckDB's reason, shorter."""
    return re.sub(r"Expected Number of Columns: (\d+) Found: (\d+)", r"\2 cells instead of \1", message).rstrip(".")


def _original(message: str) -> str:
    """The line that DuckDB shows below blank ones, without the spaces around it unless it has nothing else."""
    found = re.search(r"Original Line: ?(?:\r?\n)*(.*)", message)
    return (found[1].strip() or found[1]) if found else ""
