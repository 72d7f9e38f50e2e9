"""Phrases of a private dialect stay out of everything that a person reads: docstrings, messages and documents."""

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PHRASES = [
    r"wanted .{1,60}, came",
    r"put(ting)? (the )?probabilities right|probabilities (are )?put right",
    r"how far the data leaves it open",
    r"what (the )?columns are worth|what they are worth",
    r"rows left out are told apart|left out by tuning",
    r"its checksum does not fit",
    r"chosen well|choose well",
    r"kept as it is|found before these rows",
    r"the door\b",
    r"\bquick way|\bgeneral way",
    r"\bas asked\b|ignored as asked",
    r"written down",
    r"a format that never was",
    r"hard to tell apart",
    r"would not come back",
    r"that comes? twice",
    r"keeps? (a|its) promise|what it promises",
    r"told in a few lines",
    r"an? \w+ that is no \w+",
    r"\bdealt out\b",
    r"found out otherwise",
    r"made up rows|make up rows",
    r"what a model knows",
    r"learn to put",
    r"held while rows are left out",
    r"\bput together\b|\btaken apart\b",
    r"\bas told\b|\bput right\b|what is said",
    r"\bown kind\b|\brough kind\b",
    r"\blearned apart\b|\bare welcome\b",
    r"\byes/no\b",
    r"\bsays? nothing\b",
]


@functools.cache
def texts():
    """Every text with its place: string literals and comments of the source, and the documents."""
    return [*source_texts(), *document_texts()]


def source_texts():
    for path in sorted((ROOT / "src").rglob("*.py")):
        content = path.read_text()
        strings = [node.value for node in ast.walk(ast.parse(content)) if isinstance(node, ast.Constant)]
        comments = re.findall(r"#.*", content)
        yield path.relative_to(ROOT), _joined([text for text in (*strings, *comments) if isinstance(text, str)])


def document_texts():
    for path in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").glob("*.md"))]:
        yield path.relative_to(ROOT), _joined([path.read_text()])


def _joined(parts):
    """Texts in one, line breaks as spaces."""
    return " | ".join(re.sub(r"\s+", " ", part) for part in parts)


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_text_uses(phrase):
    found = {str(place): match[0] for place, text in texts() if (match := re.search(phrase, text, re.IGNORECASE))}
    assert found == {}
