"""The files of `tally demo` and `tally serve --demo`: 300 random pets, two new ones, a correction, and mails.

The mails (in the folder letters/ beside this file) were written for this project: all persons in them are fictitious.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["HEADER", "LETTERS", "pet_lines", "write_example_files"]

LETTERS = Path(__file__).parent / "letters"
HEADER = "name,kilos,colour,likes,indoors"
_LIKES = {  # the probability that an animal likes a thing
    "cat": {"sun": 0.7, "fish": 0.5, "birds": 0.4, "walks": 0.1},
    "dog": {"sun": 0.3, "fetch": 0.5, "walks": 0.6, "digging": 0.3, "fish": 0.1},
    "rabbit": {"sun": 0.5, "carrots": 0.5, "digging": 0.5, "walks": 0.1},
}
_KILOS = {"cat": (4.2, 1.2), "dog": (14.0, 9.0), "rabbit": (2.4, 0.8)}
_INDOORS = {"cat": 0.7, "dog": 0.2, "rabbit": 0.5}
_COLOURS = ["black", "brown", "grey", "white"]


def write_example_files(folder: Path) -> None:
    """Write pets.csv, new.csv and correction.csv; mail/ and inbox/ with mails."""
    import shutil

    import numpy as np

    shutil.copytree(LETTERS, folder, dirs_exist_ok=True)
    lines = [f"{HEADER},pet", *pet_lines(np.random.default_rng(4), 300)]
    (folder / "pets.csv").write_text("\n".join(lines) + "\n")
    (folder / "new.csv").write_text(f"{HEADER}\nMimi,3.9,grey,fish|sun,true\nRex,,brown,fetch|digging,false\n")
    (folder / "correction.csv").write_text(f"{HEADER},pet\nTiny,1.2,white,fetch|walks,true,dog\n")


def pet_lines(rng: Any, n: int) -> list[str]:
    """Random pets as lines of a CSV file, the pet last."""
    lines = []
    for i in range(n):
        pet = ("cat", "dog", "dog", "rabbit")[rng.integers(4)]
        kilos = "" if rng.random() < 0.1 else f"{max(rng.normal(*_KILOS[pet]), 0.5):.1f}"
        likes = "|".join(thing for thing, often in _LIKES[pet].items() if rng.random() < often)
        indoors = str(bool(rng.random() < _INDOORS[pet])).lower()
        lines.append(f"pet{i:03},{kilos},{_COLOURS[rng.integers(4)]},{likes},{indoors},{pet}")
    return lines
