"""The models of `tally serve --demo`: a spam filter of letters and a classifier of pets, with rows to work through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tallybayes.demo_data.example_files import HEADER, LETTERS, pet_lines, write_example_files
from tallybayes.doubts import collect_doubts

__all__ = ["DEMO_MODELS", "demo_rows", "write_demo_models"]

DEMO_MODELS = ("letters", "pets")
_NEW_PETS = 18
_DOUBTFUL = "raffle"  # a mail of a choir that looks like spam comes first
_SEED = 11  # of the new pets: any other than that of the table


def write_demo_models(folder: Path) -> list[Path]:
    """Fit both models and save them in a folder, as letters.tally and pets.tally."""
    import tempfile

    import tallybayes as tb

    with tempfile.TemporaryDirectory() as temporary:
        write_example_files(Path(temporary))
        letters = tb.fit(Path(temporary) / "mail", label="label", only=["subject", "text"])
        with collect_doubts():  # the names of pets are known to be no column
            pets = tb.fit(Path(temporary) / "pets.csv", label="pet")
    paths = [folder / f"{name}.tally" for name in DEMO_MODELS]
    for model, path in zip((letters, pets), paths, strict=True):
        model.save(path)
    return paths


def demo_rows() -> dict[str, list[dict[str, Any]]]:
    """Rows without a label by model: the mails of the inbox, and pets that the model has not seen.

    >>> {name: len(rows) for name, rows in demo_rows().items()}
    {'letters': 6, 'pets': 18}
    """
    import numpy as np

    from tallybayes.columns.schema import Schema
    from tallybayes.server.http.uploaded_rows import uploaded_rows

    nothing = Schema(None)
    mails = [
        row
        for path in sorted((LETTERS / "inbox").iterdir(), key=lambda path: (_DOUBTFUL not in path.name, path.name))
        for row in uploaded_rows(path.read_bytes(), nothing, name=path.name)["rows"]
    ]
    lines = [line.rpartition(",")[0] for line in pet_lines(np.random.default_rng(_SEED), _NEW_PETS)]
    return {"letters": mails, "pets": [_pet(line) for line in lines]}


def _pet(line: str) -> dict[str, Any]:
    """A pet of a CSV file as a row of typed values."""
    row: dict[str, Any] = dict(zip(HEADER.split(","), line.split(","), strict=True))
    return row | {
        "name": row["name"].replace("pet", "new pet "),
        "kilos": float(row["kilos"]) if row["kilos"] else None,
        "indoors": row["indoors"] == "true",
    }
