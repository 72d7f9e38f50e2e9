"""Golden transcripts: documents whose commands are run and whose outputs are compared, so that they cannot lie.

In a Markdown document a fenced block whose info string ends in a file's name is written to that file; in a block of
`console`, lines that begin with "$ " are run by bash in a folder of the document's own, and what they print (standard
output and standard error) must be what stands below them. The lines between `<!-- options of fit -->` and
`<!-- end -->` are the table of the options. `python tests/transcripts.py [DOCUMENT...]` writes what is printed now into
the documents (all, if none is named), for a person to read before it is committed.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tallybayes.state.options import OPTIONS

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("lectures/*.md"))]
_TABLE = re.compile(r"(<!-- options of fit -->\n).*?(<!-- end -->)", re.DOTALL)
_FENCE = re.compile(r"^```(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def rewritten(text: str) -> str:
    """A document with the outputs of its commands as they are now."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)

        def block(found: re.Match[str]) -> str:
            nonlocal where
            info, content = found[1].split(), found[2]
            if len(info) == 2 and "." in info[1]:
                (where / info[1]).write_text(content)
            elif info == ["console"]:
                lines = []
                for command in re.findall(r"^\$ (.*)$", content, re.MULTILINE):
                    printed, where = _run(command, where)
                    lines.append(f"$ {command}\n{printed}")
                return f"```console\n{''.join(lines)}```"
            return found[0]

        return _TABLE.sub(lambda found: f"{found[1]}{options_table()}{found[2]}", _FENCE.sub(block, text))


def options_table() -> str:
    """The options of `fit` as a Markdown table, from their declarations."""
    lines = ["| option | command line | values | default | meaning |", "|---|---|---|---|---|"]
    for name, option in OPTIONS.items():
        flag = f"--{(option.flag or name).replace('_', '-')}"
        lines.append(f"| `{name}` | `{flag}` | {option.domain.words} | `{option.default!r}` | {option.help} |")
    return "\n".join(lines) + "\n"


def _run(command: str, where: Path) -> tuple[str, Path]:
    """What a command prints, and the folder it ends in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TALLYBAYES", "FORCE_COLOR"))}
    own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    with tempfile.NamedTemporaryFile("r") as end:
        script = f"{command}\nstatus=$?\npwd > {end.name}\nexit $status"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=where,
            env=kept | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        folder = Path(end.read().strip() or where)
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines()), folder


if __name__ == "__main__":
    for document in map(Path, sys.argv[1:]) if len(sys.argv) > 1 else DOCUMENTS:
        document.write_text(rewritten(document.read_text()))
