"""How pandas, Polars, DuckDB and tallybayes read ugly files, each with its defaults and the path alone.

    python -m bench.readings             prints the table
    python -m bench.readings --record    writes it into docs/files.md

Every line is a small file that is written here, and one cell of it: shown is what the cell becomes. tallybayes is also
given the label, as always; "said" means that it tells a doubt or a warning about the column or the file. The test
`tests/benchmarks/test_readings.py` compares the document with what comes out now.
"""

from __future__ import annotations

import datetime
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CASES", "DOCUMENT", "Case", "record", "table_of_readings", "versions"]

DOCUMENT = Path(__file__).parents[1] / "docs" / "files.md"
BEGIN, END = "<!-- readings: python -m bench.readings --record -->", "<!-- end of readings -->"


@dataclass(frozen=True)
class Case:
    """A file and the cell of it that is shown.

    what: in words; shown: how the cell is written; content: of the file, whose name tells its format; column, row:
    where the cell is, in a table that is read as it is meant; label: the column that tallybayes predicts.
    """

    what: str
    shown: str
    content: bytes
    column: str = "x"
    row: int = 0
    name: str = "a.csv"
    label: str = "y"


def text_file(cells: Sequence[str], sign: str = ",", above: str = "", below: str = "", header: str = "x") -> bytes:
    """A file with a column of these cells and a label of two classes."""
    rows = [f"{cell}{sign}{'ab'[i % 2]}\n" for i, cell in enumerate(cells)]
    return "".join([above, f"{header}{sign}y\n", *rows, below]).encode()


def numbers(what: str, cell: str, *others: str, sign: str = ",", shown: str | None = None) -> Case:
    """A column of numbers in one format; the first cell is shown."""
    quoted = [f'"{one}"' if sign in one else one for one in [cell, *others] * 4]
    return Case(what, shown or cell, text_file(quoted, sign))


def lines_of_json(*rows: Any) -> bytes:
    """A file of JSON lines, each row several times, with a label."""
    return "".join(json.dumps(row | {"y": "ab"[i % 2]}) + "\n" for i, row in enumerate([*rows] * 3)).encode()


def _with_cell_below() -> bytes:
    return text_file([*(str(i % 9) for i in range(25_000)), '"1,5"', "3"])


_TITLE = "Sales of 2024,\nby hand,\n\n"
_MIXED = b"x,y\nM\xc3\xbcller,a\nM\xfcller,b\nUlm,a\nUlm,b\n"

CASES = [
    numbers("thousands with a comma", "3,015", "865", "4,100", "912"),
    numbers("decimal comma", "24,5", "3", "8,25", sign=";"),
    numbers("both", "1,234.50", "12.00", "99.95"),
    numbers("euros", "5.355,50 €", "865,00 €", "1.020,25 €", sign=";"),
    numbers("francs", "4'431.50 CHF", "12.00 CHF"),
    numbers("real minus, narrow space", "−3\u202f259,75", "12,50", "−4,25", sign=";"),
    numbers("ledger", "($1,453.00)", "$12.50", "$99.00"),
    numbers("a unit", "74 kg", "81 kg", "65 kg"),
    numbers("lakhs", "₹15,24,456", "₹9,12,000"),
    numbers("percent", "12%", "7%", "33%"),
    numbers("a factor", "€3.0M", "€1.5M", "€0.25M"),
    numbers("several factors", "1.5K", "2M", "3B"),
    numbers("several currencies", "$120", "€44", "$90", "€31"),
    numbers("spaces around", " 3 ", " 4", "5 "),
    numbers("codes", "007", "018", "112"),
    numbers("a word among numbers", "unknown", "31", "48", "27", "52", "33", "41", "26", "60", "55"),
    Case("another format in row 25,001", '"1,5"', _with_cell_below(), row=25_000),
    numbers("missing words", "n/a", "31", "-", "27", "?", "33", "41", "26", "60", "55"),
    Case("Namibia", "NA", text_file(["NA", "DE", "FR", "NA", "ZA", "DE"])),
    Case("an answer that is a word", "None", text_file(["None", "Some", "All", "None", "Some", "All"])),
    Case("labels that are signs", "-", b"x,y\n" + b"1,+\n2,-\n3,+\n4,-\n" * 3, column="y", row=1),
    Case("a label with a space", '"yes "', b'x,y\n1,"yes "\n2,no\n3,yes\n4,no\n' * 1, column="y"),
    Case("truth", "TRUE", text_file(["TRUE", "false", "true", "FALSE"])),
    Case("two digits of a year", "01/02/51", text_file(["01/02/51", "13/04/62", "25/12/58", "03/07/49"])),
    Case("days first", "31.12.2024", text_file(["31.12.2024", "01.02.2023", "05.06.2022", "07.08.2021"])),
    Case("titles above the header", "4.5", text_file(["4.5", "30", "5", "28"], above=_TITLE)),
    Case("a line of totals", "Total", text_file(["4", "30", "5", "28"], below="Total,67\n"), row=4),
    Case("a line sep=;", "4,5", text_file(["4,5", "30", "5,5"], sign=";", above="sep=;\n")),
    Case("comments above the header", "4.5", text_file(["4.5", "30", "5"], above="# by hand\n")),
    Case("names that repeat", "7", text_file(["4,7", "5,8", "6,9"], header="x,x"), column="x.2"),
    Case(
        "quotes that are no quotes",
        '"Big" tube',
        text_file(['"Big" tube', "pipe", '5" pipe', "tube"], sign="\t"),
        name="a.tsv",
    ),
    Case("an inch among quotes", '5" pipe', text_file(['5" pipe', "pipe", '"a, b"', "tube"])),
    Case("Latin-1", "Müller", "x,y\nMüller,a\nUlm,b\n".encode("latin-1")),
    Case("UTF-8 and Latin-1", "Müller", _MIXED, row=1),
    Case("a PDF with the name of a table", "%PDF-1.7", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< >>\n", name="a.csv"),
    Case("a line with too few cells", "3", text_file(["1", "2"], below="3\n4,a\n"), row=2),
    Case(
        "JSON: an object within",
        '{"state": "CA"}',
        lines_of_json({"place": {"state": "CA"}}, {"place": {"state": "TX"}}),
        column="place.state",
        name="a.jsonl",
    ),
    Case("JSON: a list", '["a", "b"]', lines_of_json({"x": ["a", "b"]}, {"x": ["c"]}), name="a.jsonl"),
    Case("JSON: amounts", '{"good": 2}', lines_of_json({"x": {"good": 2}}, {"x": {"bad": 1}}), name="a.jsonl"),
    Case("JSON: a list of objects", '[{"k": 1}]', lines_of_json({"x": [{"k": 1}]}, {"x": []}), name="a.jsonl"),
    Case("JSON: a space", '"yes "', lines_of_json({"x": "yes "}, {"x": "yes"}, {"x": "no"}), name="a.jsonl"),
]


def by_pandas(path: Path, case: Case) -> Any:
    """What pandas reads."""
    import pandas as pd

    is_json = path.suffix == ".jsonl"
    frame = pd.read_json(path, lines=True) if is_json else pd.read_csv(path, **_separated(path, "sep"))
    return _cell({str(name): frame[name].tolist() for name in frame}, case)


def by_polars(path: Path, case: Case) -> Any:
    """What Polars reads."""
    import polars as pl

    is_json = path.suffix == ".jsonl"
    frame = pl.read_ndjson(path) if is_json else pl.read_csv(path, **_separated(path, "separator"))
    return _cell(frame.to_dict(as_series=False), case)


def by_duckdb(path: Path, case: Case) -> Any:
    """What DuckDB reads."""
    import duckdb

    found = duckdb.read_json(str(path)) if path.suffix == ".jsonl" else duckdb.read_csv(str(path))
    rows = found.fetchall()
    return _cell({name: [row[i] for row in rows] for i, name in enumerate(found.columns)}, case)


def by_tallybayes(path: Path, case: Case) -> Any:
    """What tallybayes reads, and whether it says aloud what is doubtful."""
    import tallybayes as tb
    from tallybayes.columns.readers.date_cells import read_dates
    from tallybayes.doubts import collect_doubts

    with warnings.catch_warnings(record=True) as warned, collect_doubts() as found:
        warnings.simplefilter("always")
        source = tb.read(path)
        source.look_for([case.label])
        model = tb.fit(source, label=case.label, column_weights=None)
        spec = model.schema.columns.get(case.column)
        batches = source.batches({case.column: _kind_of(spec)})
        cells = [cell for table in batches for cell in _values(table.columns[case.column])]
    texts = [*(f"{one.column!r} {one.text}" for one in found), *(str(one.message) for one in warned)]
    value = cells[case.row]
    if spec is not None and spec.reader.dates is not None:
        micros = int(read_dates([value], spec.reader.dates).micros[0])
        value = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micros)
    elif spec is not None and spec.family is None:
        value = _Words("not used")
    is_said = any(repr(case.column) in text or path.name in text for text in texts)
    return _Said(value) if is_said else value


@dataclass(frozen=True)
class _Said:
    """A value, and that something was said about it."""

    value: Any


def _kind_of(spec: Any) -> Any:
    """How a column is read when it is learned."""
    return None if spec is None or spec.family is None else spec.reader.source_types(spec.name).get(spec.name)


def _values(raw: Any) -> list[Any]:
    return raw.to_pylist() if hasattr(raw, "to_pylist") else list(raw)


def _separated(path: Path, option: str) -> dict[str, str]:
    """Tabs are told to those who cannot find them out."""
    return {option: "\t"} if path.suffix == ".tsv" else {}


def _cell(columns: dict[str, list[Any]], case: Case) -> Any:
    if case.column in columns:
        values = columns[case.column]
        return values[case.row] if case.row < len(values) else _Words("no such row")
    similar = [name for name in columns if name.startswith(case.column.split(".")[0])]
    return (
        columns[similar[-1]][case.row]
        if similar
        else _Words("one column for all" if len(columns) == 1 else "no column")
    )


class _Words(str):
    """An answer in words."""


def shown(value: Any) -> str:
    """A value as the table shows it.

    >>> shown("a"), shown(1.5), shown(3.0), shown(float("nan")), shown(_Said(True))
    ("`'a'`", '`1.5`', '`3`', 'missing', '`true`, said')
    """
    if isinstance(value, _Said):
        return f"{shown(value.value)}, said"
    if isinstance(value, _Words):
        return str(value)
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value != value:
        return "missing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, (int, float)) and math.isfinite(value):
        return f"`{value:.15g}`"
    if isinstance(value, (datetime.date, datetime.datetime)):
        return f"`{value:%Y-%m-%d}`"
    text = dict(value) if isinstance(value, (list, tuple)) and value and isinstance(value[0], tuple) else value
    return f"`{str(text) if isinstance(text, (dict, list)) else repr(text)}`".replace("|", "\\|")


READERS: dict[str, Callable[[Path, Case], Any]] = {
    "pandas": by_pandas,
    "Polars": by_polars,
    "DuckDB": by_duckdb,
    "tallybayes": by_tallybayes,
}


def reading(reader: Callable[[Path, Case], Any], case: Case) -> str:
    """The answer of one reader."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / case.name
        path.write_bytes(case.content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return shown(reader(path, case))
        except Exception:  # any failure of a reader is its answer
            return "error"


def versions() -> str:
    """The versions of the others, in words."""
    import duckdb
    import pandas as pd
    import polars as pl

    found = [("pandas", pd), ("Polars", pl), ("DuckDB", duckdb)]
    return ", ".join(f"{name} {'.'.join(module.__version__.split('.')[:2])}" for name, module in found)


def table_of_readings() -> str:
    """The table in Markdown."""
    lines = [f"| what | cell | {' | '.join(READERS)} |", f"|---|---|{'---|' * len(READERS)}"]
    for case in CASES:
        cells = [case.what, f"`` {case.shown} ``" if "`" in case.shown else f"`{case.shown}`"]
        cells += [reading(reader, case) for reader in READERS.values()]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def record() -> None:
    """Write the table into the document."""
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    written = f"\nWith {versions()}:\n\n{table_of_readings()}\n\n"
    DOCUMENT.write_text(f"{before}{BEGIN}{written}{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    record() if sys.argv[1:] == ["--record"] else print(table_of_readings())
