"""What pandas, Polars and DuckDB take the columns of small dirty files for, beside tallybayes.

Run as `python -m bench.sniffing`: prints the table of docs/files.md. The files are those of the tests. A column is
"numbers" if its type is one of numbers, "text" otherwise; readers are called with their defaults and the path alone.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "dirty"
COLUMNS = {  # the column of each file that is dirty, and its first cell with dirt
    "towns.csv": ("population", "3,015"),
    "umsatz.csv": ("umsatz", "5.355,50 €"),
    "preise.csv": ("preis", "4'431.50 CHF"),
    "budget.csv": ("solde", "−3 259,75"),
    "ledger.csv": ("balance", "($1,453.00)"),
    "weights.csv": ("dose", "24,0"),
    "people.csv": ("weight", "74 kg"),
    "salaries.csv": ("salary", "₹15,24,456"),
    "survey.csv": ("age", "unknown"),
    "gaps.csv": ("score", "NA n/a - . ?"),
    "padded.csv": ("size", "` 3 `"),
    "codes.csv": ("zip", "018"),
    "currencies.csv": ("amount", "$120, €44"),
}


def by_pandas(path: Path, column: str) -> Any:
    """The type that pandas reads."""
    import pandas as pd

    frame = pd.read_csv(path)
    return frame[column].dtype.kind in "fiu" if column in frame else None


def by_polars(path: Path, column: str) -> Any:
    """The type that Polars reads."""
    import polars as pl

    frame = pl.read_csv(path)
    return frame[column].dtype.is_numeric() if column in frame.columns else None


def by_duckdb(path: Path, column: str) -> Any:
    """The type that DuckDB sniffs."""
    import duckdb

    found = duckdb.sql(f"SELECT * FROM read_csv('{path}')")
    types = dict(zip(found.columns, map(str, found.types), strict=True))
    return types[column] in ("BIGINT", "DOUBLE", "INTEGER") if column in types else None


def by_tallybayes(path: Path, column: str) -> Any:
    """The type that tallybayes reads, and whether it says aloud what it assumed."""
    import tallybayes as tb

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        head = tb.read(path).head()
        tb.fit(path, label=list(head.columns)[-1])
    numeric = str(head.columns[column].type) in ("int64", "double")
    return f"{_word(numeric)}{', with a warning' if any(f'{column!r}' in str(one.message) for one in said) else ''}"


def _word(numeric: bool | None) -> str:
    return "one column for all" if numeric is None else "numbers" if numeric else "text"


def main() -> None:
    """Print the table."""
    print("| cells | pandas | Polars | DuckDB | tallybayes |\n|---|---|---|---|---|")
    for name, (column, cell) in COLUMNS.items():
        row = [cell if "`" in cell else f"`{cell}`"]
        for reader in (by_pandas, by_polars, by_duckdb):
            try:
                row.append(_word(reader(FOLDER / name, column)))
            except Exception as error:  # any failure of a reader is its answer
                row.append(f"error ({type(error).__name__})")
        print(f"| {' | '.join([*row, by_tallybayes(FOLDER / name, column)])} |")


if __name__ == "__main__":
    main()
