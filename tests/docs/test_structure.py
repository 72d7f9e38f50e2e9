"""The structure of the source: what ARCHITECTURE.md says of it, unique names, small files."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tallybayes"
FILES = sorted(SOURCE.rglob("*.py"))
NAMED = re.compile(r"`((?:tests|native|bench|examples|docs|[a-z_]+)/[\w./]*|[a-z_]+\.py)`")


def test_the_architecture_names_every_package_and_every_module_at_the_top():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    packages = [f"`{path.name}/`" for path in SOURCE.iterdir() if (path / "__init__.py").exists()]
    modules = [f"`{path.name}`" for path in SOURCE.glob("*.py") if path.name not in ("__init__.py", "version.py")]
    assert [name for name in [*packages, *modules] if name not in text] == []


def test_what_the_architecture_names_exists():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    design = text[text.index("## Decisions that differ") :]
    paths = set(NAMED.findall(text)) - set(NAMED.findall(design))
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists() and not (SOURCE / path).exists()] == []


def test_no_two_modules_or_classes_share_a_name():
    modules = Counter(path.stem for path in FILES if path.stem != "__init__")
    classes = Counter(name for path in FILES for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE))
    assert [name for name, n in (modules + classes).items() if n > 1] == []


def test_files_are_small_and_formatted_by_the_formatter():
    assert [path.name for path in FILES if len(path.read_text().splitlines()) > 400] == []
    assert [path.name for path in FILES if "# fmt:" in path.read_text()] == []


def test_no_code_reads_what_is_written_for_people():
    """Status and origin of a column are enumerations; its reason is shown, and added to, and that is all."""
    decides = re.compile(r"reason\.(startswith|endswith|find|split)|reason (==|!=|in) |[\"'] in \S+\.reason")
    code = {path.name: path.read_text() for path in FILES if path.name != "old_schema.py"}  # which reads old files
    assert [f"{name}: {found[0]}" for name, text in code.items() for found in decides.finditer(text)] == []
