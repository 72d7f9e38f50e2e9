"""Files of SAS (.sas7bdat, .xpt), Stata (.dta) and SPSS (.sav, .zsav, .por), read by pyreadstat.

Where the values of a column have labels in the file (1 is "never", 2 is "sometimes"), its cells can be read in two
ways: as the labels, and as the values, of which those are missing whose labels say so ("refused"). A model that knows
numbers reads the values, one that knows categories the labels and the values that have none, whichever rows a file has.
The first rows, by which a model is fitted, show the labels if nearly all cells have one, and the values otherwise, as
of a scale whose ends have labels. Values declared missing, and empty texts, are missing. The rows are copied to an
Arrow file first, so that memory does not grow with their number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tallybayes.doubts import Doubt, as_family
from tallybayes.errors import Described, FileError, TallyError, shorten
from tallybayes.io.formats.file_format import ReadOptions, import_reader
from tallybayes.io.formats.input_file import InputFile, temporary_copy, without_compression_suffix
from tallybayes.io.formats.relation import ArrowFile
from tallybayes.tables.raw_values import is_missing
from tallybayes.tables.source import BadRows, Kind
from tallybayes.tables.table import Table

__all__ = ["StatisticsFile", "statistics_kind"]

_LABELLED = 0.9  # of the cells, from which labels are read though some values have none
_MISSING = re.compile(  # what is written as the label of a value that is none
    r".*\b(?:refused|refusal|(?:don'?t|do not) know|dk|no answer|not? (?:answered|stated|applicable|asked|available)|"
    r"missing|inapplicable|inap|iap|n/?a|nk|unknown|weiß nicht|keine angabe|k\.? ?a\.?|trifft nicht zu|sans réponse|"
    r"ne sait pas|no sabe|no contesta|ns/nc)\b.*",
    re.IGNORECASE,
)
_SHOWN, _KEPT = 3, 20  # labels in a message, and in the reason of a column
_LABELS = "\0labels"  # behind the name of a column in the copy
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
        self.size, self._remarks = file.size, reader.remarks
        self._doubts = [replace(one, text=f"{file.name}: {one.text}") for one in reader.doubts]
        self._labels = {name: self.expressions.pop(name + _LABELS) for name in reader.labelled}
        for name in reader.labelled:
            del self._originals[name + _LABELS]
        shown = {name: self._labels[name] for name in reader.labelled if name not in self._remarks}
        self._originals |= {name: expression for name, (expression, _) in shown.items()}
        self._values, self._first = self.expressions, self.expressions | shown

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows: labels where nearly all cells have one, values otherwise, and then their labels as texts."""
        self.expressions = self._values | self._labels
        texts = super().head(n, skip_bad=skip_bad).columns
        self.expressions = self._first
        table = super().head(n, skip_bad=skip_bad)
        texts = {name: texts[name] for name in self._remarks}
        return replace(table, texts=texts, remarks=self._remarks, doubts=self._doubts)

    def some(self, names: Sequence[str], n: int, *, skip_bad: bool = False) -> dict[str, Any]:
        """As the first rows are."""
        self.expressions = self._first
        return super().some(names, n, skip_bad=skip_bad)

    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The wanted columns: values where numbers are wanted, labels otherwise."""
        kinds = dict.fromkeys(self._first) if wanted is None else wanted
        labels = {name: label for name, label in self._labels.items() if kinds.get(name) is None}
        self.expressions = self._values | labels
        return super().tables(wanted, keep=keep, bad=bad)


class _Reader:
    """Reads a file twice: what its columns hold, then the rows.

    may_miss: whether labels may say that a value is missing.
    """

    def __init__(self, read: Callable[..., Any], file: InputFile, encoding: str | None, may_miss: bool) -> None:
        self._read, self._file, self._may_miss = read, file, may_miss
        self._more = {} if encoding is None else {"encoding": encoding}
        self.doubts: list[Doubt] = []
        self.labelled: list[str] = []  # columns some of whose values have a label
        self.remarks: dict[str, str] = {}  # the labels of those that are shown as values

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
        missing = {name: self._look_at(name, labels[name], counts[name]) for name in labels}
        self.doubts.sort(key=str)
        texts = [(name + _LABELS, pa.string()) for name in self.labelled]
        schema = pa.schema([*types.items(), *texts])
        path = temporary_copy(())
        with pa.OSFile(path, "wb") as target, pa.ipc.new_file(target, schema) as writer:
            for columns in self._chunks():
                for name in self.labelled:
                    columns[name + _LABELS] = [_label(cell, labels[name]) for cell in columns[name]]
                    columns[name] = [None if cell in missing[name] else cell for cell in columns[name]]
                arrays = [pa.array(columns[field.name], field.type) for field in schema]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
        return path

    def _look_at(self, name: str, labels: dict[Any, Any], counts: Counter[Any]) -> set[Any]:
        """Which values of a column are missing among numbers; what its labels are, and doubts, are kept."""
        labelled = {value: str(labels[value]) for value in counts if value in labels}
        others = [value for value in counts if value not in labels]
        if not labelled:
            return set()
        self.labelled.append(name)
        says_missing = {value for value, text in labelled.items() if _MISSING.fullmatch(text)}
        missing = says_missing if self._may_miss else set()
        if sum(counts[value] for value in labelled) >= _LABELLED * counts.total():
            if others:
                text = f"{len(others)} of {len(counts)} values have no label, and are read as they are"
                shown = ", ".join(map(str, sorted(others, key=str)[:_SHOWN]))
                hint = f"{as_family(name, 'histogram')} reads the values instead"
                self.doubts.append(Doubt("categories", f"{text}: {shown}", name, hint))
            return missing
        if missing:
            values = ", ".join(
                f"{value} ({labelled[value]}, {counts[value]:,} time{'s' * (counts[value] > 1)})"
                for value in sorted(missing, key=str)
            )
            text = f"values whose labels say so are missing: {values}"
            hint = 'missing_only=[""] (--missing-only "") reads the values'
            self.doubts.append(Doubt("missing words", text, name, hint))
        every = {value: f"{value} is {text}" for value, text in sorted(labelled.items(), key=_by_value)}
        self.remarks[name] = _listed(list(every.values()), _KEPT)
        if rest := [text for value, text in every.items() if value not in says_missing]:
            shown = _listed(rest, _SHOWN)
            text = f"{len(rest)} of {len(counts)} values have labels ({shown}); the values are read"
            hint = f"{as_family(name, 'categorical')} reads the labels"
            self.doubts.append(Doubt("categories", text, name, hint))
        return missing

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


def _by_value(label: tuple[Any, str]) -> tuple[bool, Any]:
    """To sort labels by their values, numbers before texts."""
    value, _ = label
    return (True, str(value)) if isinstance(value, str) else (False, value)


def _listed(texts: Sequence[str], n: int) -> str:
    """The first n texts."""
    return ", ".join(texts[:n]) + (", ..." if len(texts) > n else "")


def _label(cell: Any, labels: Mapping[Any, Any]) -> str | None:
    """The label of a value; the value itself where it has none."""
    return None if cell is None else str(labels.get(cell, cell))


def _wider(one: Any, other: Any) -> Any:
    """A type that holds the values of both."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (one, other))
    return pa.float64() if numbers else pa.string()
