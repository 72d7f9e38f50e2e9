"""tally demo: the main commands on a generated table and on mails, each command printed before it runs.

The mails (in the folder letters/ beside this file) were written for this project: all persons in them are fictitious.
"""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from tallybayes.cli.messages import print_result
from tallybayes.cli.shared_options import Debug

__all__ = ["COMMANDS", "LETTERS", "demo"]

LETTERS = Path(__file__).parent / "letters"
_STEPS = (
    ("A table with missing values, tags, numbers and names", None),
    ("Fit: a family for every column, with the reason", "tally fit pets.csv --label pet"),
    ("Evaluate by 10-fold cross-validation", "tally evaluate pets.csv --label pet"),
    ("Predict rows without a label", "tally predict pets.tally new.csv --proba"),
    ("Explain: the evidence of every column", "tally explain pets.tally new.csv --row 0"),
    ("Learn a correction; forget it again", "tally learn pets.tally correction.csv"),
    ("", "tally forget pets.tally correction.csv"),
    ("The parameters of a column", "tally inspect pets.tally --column likes"),
    ("Sample new rows", "tally sample pets.tally -n 3 --seed 1"),
    ("A spam filter: a folder of mails for each label", "tally fit mail/ --label label"),
    ("Predict new mails", "tally predict mail.tally inbox/ --id file"),
    ("Explain: the evidence of every word", "tally explain mail.tally inbox/2-winner.eml"),
)


def demo(
    context: typer.Context,
    keep: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Work in this folder and keep the files. [a temporary folder]")
    ] = None,
    debug: Debug = False,
) -> None:
    """Run the main commands on example data.

    Fit, evaluate, predict, explain, learn, forget, inspect and sample on a table; then a spam filter on mails.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        _write_files(folder)
        for title, command in _STEPS:
            if title:
                print_result(f"\n{title}\n{'-' * len(title)}")
            if command is None:
                print_result("\n".join((folder / "pets.csv").read_text().splitlines()[:6]) + "\n...")
            else:
                print_result(f"$ {command}\n")
                _run(context.find_root().command, command, folder)


def _run(app: Any, command: str, folder: Path) -> None:
    """Run a command in this process, in the folder."""
    import contextlib

    with contextlib.chdir(folder):
        app.main(shlex.split(command)[1:], standalone_mode=False)
    print_result("")


_LIKES = {  # the probability that an animal likes a thing
    "cat": {"sun": 0.7, "fish": 0.5, "birds": 0.4, "walks": 0.1},
    "dog": {"sun": 0.3, "fetch": 0.5, "walks": 0.6, "digging": 0.3, "fish": 0.1},
    "rabbit": {"sun": 0.5, "carrots": 0.5, "digging": 0.5, "walks": 0.1},
}
_KILOS = {"cat": (4.2, 1.2), "dog": (14.0, 9.0), "rabbit": (2.4, 0.8)}
_INDOORS = {"cat": 0.7, "dog": 0.2, "rabbit": 0.5}
_COLOURS = ["black", "brown", "grey", "white"]


def _write_files(folder: Path) -> None:
    """Write 300 random pets, two new ones and a correction; mail/ and inbox/ with mails."""
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


COMMANDS = [(demo, "tally demo")]
