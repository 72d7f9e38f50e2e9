"""tally demo: the main commands on a generated table and on mails, each command printed before it runs."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import Any

import typer

from tallybayes.cli.messages import print_result
from tallybayes.cli.shared_options import option
from tallybayes.demo_data.example_files import write_example_files

__all__ = ["demo"]

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
    keep: str | None = option("FOLDER", "Work in this folder and keep the files. [a temporary folder]"),
) -> None:
    """Run the main commands on example data.

    Fit, evaluate, predict, explain, learn, forget, inspect and sample on a table; then a spam filter on mails.

        tally demo
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_example_files(folder)
        for title, command in _STEPS:
            if title:
                print_result(f"\n{title}\n{'-' * len(title)}")
            if command is None:
                print_result("\n".join((folder / "pets.csv").read_text().splitlines()[:6]) + "\n...")
            else:
                print_result(f"$ {command}\n")
                _run(context.find_root().command, command, folder)
    print_result("In the browser, with corrections that are learned at once: tally serve --demo")


def _run(app: Any, command: str, folder: Path) -> None:
    """Run a command in this process, in the folder."""
    import contextlib

    with contextlib.chdir(folder):
        app.main(shlex.split(command)[1:], standalone_mode=False)
    print_result("")
