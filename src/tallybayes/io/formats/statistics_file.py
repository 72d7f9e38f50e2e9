"""Files of SAS (.sas7bdat, .xpt), Stata (.dta) and SPSS (.sav, .zsav, .por), read by pyreadstat.

Where the values of a column have labels in the file (1 is "never", 2 is "sometimes"), the labels are read; values
without one stay among them if they are few. Where only some values have one, as at the ends of a scale, the values are
kept; labels that say so ("refused") make their values missing. Values declared missing, and empty texts, are missing.
The rows are copied to an Arrow file first, so that memory does not grow with their number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tallybayes.doubts import Doubt
from tallybayes.errors import Described, FileError, TallyError, shorten
from tallybayes.io.formats.file_format import ReadOptions, import_reader
from tallybayes.io.formats.input_file import InputFile, temporary_copy, without_compression_suffix
from tallybayes.io.formats.relation import ArrowFile
from tallybayes.tables.raw_values import is_missing

__all__ = ["StatisticsFile", "statistics_kind"]

_LABELLED = 0.9  # of the cells, from which labels are read though some values have none
_MISSING = re.compile(  # what is written as the label of a value that is none
    r".*\b(?:refused|refusal|(?:don'?t|do not) know|dk|no answer|not? (?:answered|stated|applicable|asked|available)|"
    r"missing|inapplicable|inap|iap|n/?a|nk|unknown|weiß nicht|keine angabe|k\.? ?a\.?|trifft nicht zu|sans réponse|"
    r"ne sait pas|no sabe|no contesta|ns/nc)\b.*",
    re.IGNORECASE,
)
_SHOWN = 3  # labels in a message
_ROWS = 20_000  # rows that are converted at once
_READERS = {  # the function of pyreadstat, and the format that it reads
    ".sas7bdat": ("read_sas7bdat", "sas"),
    ".xpt": ("read_xport", "sas"),
    ".dta": ("read_dta", "stata"),
    ".sav": ("read_sav", "spss"),
    ".zsav": ("read_sav", "spss"),
    ".por": ("read_por", "spss"),
}
_MAGIC = {
    b"$FL2": ".sav",
    b"$FL3": ".zsav",
    b"<stata_dta>": ".dta",
    b"HEADER RECORD*******L": ".xpt",
    bytes(12) + b"\xc2\xea\x81\x60": ".sas7bdat",
}


def statistics_kind(name: str, start: bytes) -> str | None:
    """The format of a file by its first bytes, else by its name; None if it is another one."""
    ending = _ending(name, start)
    return None if ending is None else _READERS[ending][1]


def _ending(name: str, start: bytes) -> str | None:
    known = next((ending for magic, ending in _MAGIC.items() if start.startswith(magic)), None)
    return known or next((one for one in _READERS if without_compression_suffix(name).endswith(one)), None)


class StatisticsFile(ArrowFile):
    """A file of a statistics package."""

    kind = "statistics"

    def __init__(self, file: InputFile, options: ReadOptions) -> None:
        ending = _ending(file.name, file.start(64))
        if ending is None:
            raise FileError(f"a name that ends in {', '.join(_READERS)}", got=file.name, file=file.name)
        package = import_reader("pyreadstat", "stats", file.name)
        may_miss = options.missing is None or not options.missing.only
        reader = _Reader(getattr(package, _READERS[ending][0]), file.uncompressed(), options.encoding, may_miss)
        try:
            copy = replace(InputFile.of(reader.as_arrow()), name=file.name)
        except TallyError:
            raise
        except Exception as error:  # pyreadstat raises errors of its own, those of Python, and those of Arrow
            got = Described(f"one that cannot be read ({shorten(str(error))})")
            raise FileError(f"a complete {_READERS[ending][1]} file", got=got, file=file.name) from error
        super().__init__(copy, options)
        self.size, self.doubts = file.size, reader.doubts


class _Reader:
    """Reads a file twice: what its columns hold, then the rows.

    may_miss: whether labels may say that a value is missing.
    """

    def __init__(self, read: Callable[..., Any], file: InputFile, encoding: str | None, may_miss: bool) -> None:
        self._read, self._file, self._may_miss = read, file, may_miss
        self._more = {} if encoding is None else {"encoding": encoding}
        self.doubts: list[Doubt] = []

    def as_arrow(self) -> str:
        """The path of a copy of the rows as an Arrow file."""
        _, facts = self._read(self._file.path, metadataonly=True, output_format="dict", **self._more)
        labels = {name: dict(texts) for name, texts in facts.variable_value_labels.items()}
        counts: dict[str, Counter[Any]] = {name: Counter() for name in labels}
        types: dict[str, Any] = {name: pa.null() for name in facts.column_names}
        for columns in self._chunks():
            for name, cells in columns.items():
                if name in labels:
                    counts[name].update(cell for cell in cells if cell is not None)
                types[name] = _wider(types[name], pa.array(cells).type)
        applied = {name: self._meaning(name, labels[name], counts[name]) for name in labels}
        self.doubts.sort(key=str)
        are_texts = {name for name, values in applied.items() if any(values.values())}
        schema = pa.schema([(name, pa.string() if name in are_texts else kind) for name, kind in types.items()])
        path = temporary_copy(())
        with pa.OSFile(path, "wb") as target, pa.ipc.new_file(target, schema) as writer:
            for columns in self._chunks():
                for name, values in applied.items():
                    columns[name] = [values.get(cell, cell) for cell in columns[name]]
                arrays = [pa.array(columns[field.name], field.type) for field in schema]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
        return path

    def _meaning(self, name: str, labels: dict[Any, Any], counts: Counter[Any]) -> dict[Any, str | None]:
        """What the values of a column are read as, where not as themselves; doubts about it are kept."""
        labelled = {value: str(labels[value]) for value in counts if value in labels}
        others = [value for value in counts if value not in labels]
        if not labelled:
            return {}
        if sum(counts[value] for value in labelled) >= _LABELLED * counts.total():
            if others:
                text = f"column {name!r}: {len(others)} of {len(counts)} values have no label, and are read as they are"
                shown = ", ".join(map(str, sorted(others, key=str)[:_SHOWN]))
                self.doubts.append(Doubt("odd cells", f"{text}: {shown}"))
            return {**{value: str(value) for value in others}, **labelled}
        missing = {value: text for value, text in labelled.items() if self._may_miss and _MISSING.fullmatch(text)}
        if missing:
            values = ", ".join(
                f"{value} ({text}, {counts[value]:,} time{'s' * (counts[value] > 1)})"
                for value, text in missing.items()
            )
            text = f"column {name!r}: values whose labels say so are missing: {values}"
            hint = 'missing_only=["NA"] (--missing-only NA) reads the values'
            self.doubts.append(Doubt("missing words", text, hint=hint))
        if rest := [f"{value} is {text}" for value, text in labelled.items() if value not in missing]:
            shown = ", ".join(rest[:_SHOWN]) + (", ..." if len(rest) > _SHOWN else "")
            text = f"column {name!r}: {len(rest)} of {len(counts)} values have labels ({shown}); the values are read"
            self.doubts.append(Doubt("odd cells", text, hint="give every value a label to read the labels"))
        return dict.fromkeys(missing)

    def _chunks(self) -> Iterator[dict[str, list[Any]]]:
        """The cells of some rows by column; None where they are missing."""
        start = 0
        while True:
            found, _ = self._read(
                self._file.path, row_offset=start, row_limit=_ROWS, output_format="dict", **self._more
            )
            columns = {name: [_cell(cell) for cell in cells] for name, cells in found.items()}
            n_rows = len(next(iter(columns.values()), []))
            if n_rows:
                yield columns
            if n_rows < _ROWS:
                return
            start += n_rows


def _cell(cell: Any) -> Any:
    if is_missing(cell) or cell == "":
        return None
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2.0**53 else cell


def _wider(one: Any, other: Any) -> Any:
    """A type that holds the values of both."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (one, other))
    return pa.float64() if numbers else pa.string()
