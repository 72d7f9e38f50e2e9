"""tally demo: the main job on a table that it makes up and on letters, every command shown before it runs.

The letters (in the folder of that name beside this file) were written for this project: nobody in them exists.
"""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from tallybayes.cli.messages import answer
from tallybayes.cli.options import Debug

__all__ = ["LETTERS", "VERBS", "demo"]

LETTERS = Path(__file__).parent / "letters"
_STEPS = (
    ("A table with gaps, tags, numbers and names", None),
    ("Fit: families are found, and why", "tally fit pets.csv --label pet"),
    ("How good is it? Ten folds, two passes", "tally evaluate pets.csv --label pet"),
    ("Predict rows without a label", "tally predict pets.tally new.csv --proba"),
    ("Why? The evidence adds up", "tally explain pets.tally new.csv --row 0"),
    ("Learn a correction; take it back", "tally learn pets.tally correction.csv"),
    ("", "tally forget pets.tally correction.csv"),
    ("What the model knows", "tally inspect pets.tally --column likes"),
    ("Make up a few more", "tally sample pets.tally -n 3 --seed 1"),
    ("Texts as well: a folder of mail for each label is a spam filter", "tally fit mail/ --label label"),
    ("Which of the new ones are spam?", "tally predict mail.tally inbox/ --id file"),
    ("Why? The words that decided", "tally explain mail.tally inbox/2-winner.eml"),
)


def demo(
    context: typer.Context,
    keep: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Work there and leave the files. [a temporary folder]")
    ] = None,
    debug: Debug = False,
) -> None:
    """Show the whole job on a small table.

    Fit, evaluate, predict, explain, learn, forget, inspect, sample; then a spam filter on a folder of mail.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        _write_files(folder)
        for title, command in _STEPS:
            if title:
                answer(f"\n{title}\n{'-' * len(title)}")
            if command is None:
                answer("\n".join((folder / "pets.csv").read_text().splitlines()[:6]) + "\n...")
            else:
                answer(f"$ {command}\n")
                _run(context.find_root().command, command, folder)


def _run(app: Any, command: str, folder: Path) -> None:
    """One command, in this process, its files in the folder."""
    import contextlib

    with contextlib.chdir(folder):
        app.main(shlex.split(command)[1:], standalone_mode=False)
    answer("")


_LIKES = {  # how often each thing is liked
    "cat": {"sun": 0.7, "fish": 0.5, "birds": 0.4, "walks": 0.1},
    "dog": {"sun": 0.3, "fetch": 0.5, "walks": 0.6, "digging": 0.3, "fish": 0.1},
    "rabbit": {"sun": 0.5, "carrots": 0.5, "digging": 0.5, "walks": 0.1},
}
_KILOS = {"cat": (4.2, 1.2), "dog": (14.0, 9.0), "rabbit": (2.4, 0.8)}
_INDOORS = {"cat": 0.7, "dog": 0.2, "rabbit": 0.5}
_COLOURS = ["black", "brown", "grey", "white"]


def _write_files(folder: Path) -> None:
    """Three hundred made-up pets, two new ones, and a correction; mail/ and inbox/ with letters."""
    import shutil

    import numpy as np

    shutil.copytree(LETTERS, folder, dirs_exist_ok=True)

    rng = np.random.default_rng(4)
    header = "name,kilos,colour,likes,indoors"
    lines = [f"{header},pet"]
    for i in range(300):
        pet = ("cat", "dog", "dog", "rabbit")[rng.integers(4)]
        kilos = "" if rng.random() < 0.1 else f"{max(rng.normal(*_KILOS[pet]), 0.5):.1f}"
        likes = "|".join(thing for thing, often in _LIKES[pet].items() if rng.random() < often)
        indoors = str(bool(rng.random() < _INDOORS[pet])).lower()
        lines.append(f"pet{i:03},{kilos},{_COLOURS[rng.integers(4)]},{likes},{indoors},{pet}")
    (folder / "pets.csv").write_text("\n".join(lines) + "\n")
    (folder / "new.csv").write_text(f"{header}\nMimi,3.9,grey,fish|sun,true\nRex,,brown,fetch|digging,false\n")
    (folder / "correction.csv").write_text(f"{header},pet\nTiny,1.2,white,fetch|walks,true,dog\n")


VERBS = [(demo, "tally demo")]
