"""tally split: a file divided into files, such as for training, validation and test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tallybayes.cli.messages import note, note_bad_rows, print_result, progress
from tallybayes.cli.shared_options import DATA, JSON, Reading, option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tallybayes.tables.source import Source

__all__ = ["split"]

_NAMES = {2: ("train", "test"), 3: ("train", "validation", "test")}  # of the files of so many parts


def split(
    data: list[str] = DATA,
    *,
    label: str | None = option("COL", "The label: every part gets its share of the rows of each class."),
    parts: str = option("SHARES", "The shares of the rows, which sum to 100 or to 1.", "60,20,20"),
    seed: int = option("N", "The seed that shuffles the rows.", 0),
    group: str | None = option("COL", "A column of groups: rows of one group are in one part."),
    time: str | None = option("COL", "A column of times: the earliest rows are the first part."),
    output: list[str] | None = option(
        "FILE", "The file of the next part (repeatable). [named after the data]", None, "-o", "--output"
    ),
    json: bool = JSON,
    reader: Reading,
) -> None:
    """Divide data into files, such as for training, validation and test.

    Every row is in one of the files, as it is in the data and in that order. Three files are named DATA-train,
    DATA-validation and DATA-test unless -o names them; two, DATA-train and DATA-test. The name of a file says its
    format, as for `tally predict`; files are not replaced unless -o names them.

        tally split films.csv --label rating                     # films-train.csv and two more
        tally split films.csv --label rating --parts 80,20 -o train.csv -o test.csv
        tally split visits.csv --label ill --group patient       # whole patients
        tally split sales.csv --time date --parts 0.7,0.3        # the past and the future
    """
    from tallybayes.cli.csv_lines import dialect_of
    from tallybayes.cli.output import form_of, write_tables
    from tallybayes.evaluation.row_split import SplitRequest, assign_parts
    from tallybayes.formatting import rows_of

    request = SplitRequest.of(_shares(parts), seed, label=label, group=group, time=time)
    with progress("dividing") as step:
        source = reader(data, step)
        source.look_for(name for name in (label, group, time) if name is not None)
        paths = _paths(output, len(request.shares), data, source)
        numbers = assign_parts(source.batches(keep=True), request)
        for part, path in enumerate(paths):
            form = form_of(path, source)
            types = _column_types(source) if form in ("parquet", "xlsx") else None
            tables = _tables_of(source, numbers, part)
            write_tables(tables, path, form, dialect=dialect_of(source), types=types)
    note_bad_rows(source)
    sizes = [int((numbers == part).sum()) for part in range(len(paths))]
    for path, size in zip(paths, sizes, strict=True):
        note(f"wrote {rows_of(size)} to {path}")
    if json:
        print_result({"parts": [{"file": path, "rows": size} for path, size in zip(paths, sizes, strict=True)]})


def _shares(text: str) -> list[float]:
    """The shares of "60,20,20"."""
    from tallybayes.errors import ParameterError

    try:
        return [float(share) for share in text.split(",")]
    except ValueError:
        raise ParameterError("--parts: numbers with commas between them, such as 60,20,20", got=text) from None


def _paths(output: list[str] | None, n_parts: int, data: list[str], source: Source) -> list[str]:
    """The files to write, checked before any work is done."""
    from tallybayes.cli.model_file_options import name_after
    from tallybayes.cli.output import form_of, refuse_overwriting
    from tallybayes.errors import Described, FileError, ParameterError
    from tallybayes.formatting import several

    if output and len(output) != n_parts:
        raise ParameterError(f"-o FILE for each of {n_parts} parts", got=Described(several(len(output), "file")))
    if not output:
        ending = "parquet" if getattr(source, "kind", None) == "parquet" else form_of(None, source)
        words = _NAMES.get(n_parts, tuple(f"part{i + 1}" for i in range(n_parts)))
        paths = [f"{name_after(data, 'data')}-{word}.{ending}" for word in words]
        for path in filter(os.path.exists, paths):
            raise FileError("new files to write", got=path, hint="-o names files that are replaced")
        return paths
    if len({os.path.realpath(path) for path in output}) < n_parts or "-" in output:
        raise ParameterError("another file for each part", got=output)
    for path in output:
        refuse_overwriting(path, data)
        form_of(path, source)
        if not os.path.isdir(os.path.dirname(path) or "."):
            raise FileError("a folder to write the part to", got=os.path.dirname(path))
    return output


def _tables_of(source: Source, numbers: NDArray[Any], part: int) -> Iterator[Any]:
    """The cells of one part, as they are in the data; they are read once more."""
    import numpy as np
    import pyarrow as pa

    from tallybayes.cells.arrow import integers

    done, names = 0, getattr(source, "original_names", None)
    with source.read_again():
        for table in source.batches(keep=True):
            kept: Any = table.kept
            mine = np.flatnonzero(numbers[done : done + table.n_rows] == part)
            done += table.n_rows
            for name in names or ():
                if name not in kept.column_names:  # one of several files lacks it
                    kept = kept.append_column(name, pa.nulls(kept.num_rows, pa.string()))
            kept = kept if names is None else kept.select(names)
            if len(mine):
                yield kept.take(integers(mine))


def _column_types(source: Source) -> Any:
    """The types of the columns of the data: of its file, or by its first rows."""
    from tallybayes.cli.column_types import ColumnTypes

    stored = getattr(next(iter(getattr(source, "formats", ())), None), "types", None)
    return ColumnTypes(source.head(), words=source.missing, stored=stored)
