"""Every example in README and docstrings runs; every public name is there; the documents name what exists."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import tallybayes

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages([str(ROOT / "src" / "tallybayes")], "tallybayes.")
    if "_native" not in module.name
)


@pytest.mark.parametrize("name", ["tallybayes", *MODULES])
def test_docstring_examples_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("document", ["README.md", "bench/README.md"])
def test_document_examples_run(document):
    result = doctest.testfile(str(ROOT / document), module_relative=False)
    assert result.failed == 0


def test_the_demo_runs(capsys):
    pytest.importorskip("palmerpenguins")
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "accuracy" in out
    assert out.count(": True") == 2
    assert "P(ill | +) = 0.154" in out


def test_public_names():
    assert {name: getattr(tallybayes, name) for name in tallybayes.__all__}
    assert set(tallybayes.__all__) == {
        "Bernoulli", "Categorical", "Change", "Family", "Gaussian", "Histogram", "Model", "Multinomial", "Poisson",
        "RuledOutWarning", "Tags", "errors", "fit", "from_probabilities", "kernels", "register", "testing",
    }  # fmt: skip
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tallybayes.nonsense


def test_the_architecture_names_every_module():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for name in MODULES:
        parts = name.split(".")[1:]
        leaf = f"{parts[-1]}.py"
        known = leaf in text or f"{parts[-1]}/" in text or parts[0] == "kernels" or parts[0] == "families"
        assert known or parts[-1] in ("base", "text"), name
    for path in re.findall(
        r"`((?:tests|native|bench|examples|kernels|families|tally|data|arrays|model)/[\w./]+)`", text
    ):
        assert any((ROOT / base / path).exists() for base in (".", "src/tallybayes")), path


def test_the_first_thing_in_the_readme_is_two_commands():
    text = (ROOT / "README.md").read_text()
    assert text.index("make demo") < text.index("make test") < text.index("## ")
