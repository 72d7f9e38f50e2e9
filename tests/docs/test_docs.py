"""Every example in README and docstrings runs; every public name is there; the documents name what exists."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import tallybayes
from transcripts import DOCUMENTS, rewritten

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages([str(ROOT / "src" / "tallybayes")], "tallybayes.")
    if "_native" not in module.name
)


@pytest.mark.parametrize("name", ["tallybayes", *MODULES])
def test_docstring_examples_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


SPARK = ("docs/scale.md", "docs/coming-from-spark-ml.md")  # these run in tests/spark, which has a session
GUIDES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md"))


@pytest.mark.parametrize("document", ["README.md", *(name for name in GUIDES if name not in SPARK)])
def test_document_examples_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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
        "Bernoulli",
        "Beta",
        "Categorical",
        "Dirichlet",
        "NormalInverseGamma",
        "Change",
        "Evaluation",
        "Family",
        "Gaussian",
        "Histogram",
        "Model",
        "Multinomial",
        "Interaction",
        "JointGaussian",
        "OneDependence",
        "FullJoint",
        "Calibration",
        "Explanation",
        "Settings",
        "report",
        "Decision",
        "NaiveBayesClassifier",
        "Importance",
        "ColumnWeights",
        "Tuning",
        "BayesError",
        "bayes_error",
        "importance",
        "tune",
        "typing",
        "dropin",
        "Comparison",
        "Prequential",
        "compare",
        "plot",
        "prequential",
        "Ordinal",
        "Poisson",
        "DataWarning",
        "RuledOutWarning",
        "Schema",
        "Tags",
        "Text",
        "cross_validate",
        "edit_model_file",
        "errors",
        "evaluate",
        "fit",
        "from_probabilities",
        "load",
        "read",
        "register_family",
        "split",
        "testing",
    }
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tallybayes.nonsense


def test_the_first_thing_in_the_readme_is_two_commands():
    text = (ROOT / "README.md").read_text()
    assert text.index("make demo") < text.index("make test") < text.index("## ")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_transcripts_are_what_is_printed(document):
    text = document.read_text()
    assert rewritten(text) == text


def test_every_verb_and_option_is_documented():
    """In the reference, in the section of its verb, and with words of its own in the help."""
    import typer

    from tallybayes.cli.main import app

    reference = (ROOT / "docs" / "command-reference.md").read_text()
    sections = {part.split("\n")[0].strip(): part for part in reference.split("## ")}
    group = typer.main.get_command(app)
    assert set(group.commands) == {
        "fit",
        "tune",
        "predict",
        "evaluate",
        "compare",
        "calibrate",
        "decide",
        "importance",
        "bayes-error",
        "report",
        "explain",
        "learn",
        "forget",
        "merge",
        "inspect",
        "split",
        "sample",
        "from-probabilities",
        "serve",
        "log",
        "key",
        "demo",
    }
    guide = (ROOT / "docs" / "command-line.md").read_text()
    for name, command in group.commands.items():
        assert f"$ tally {name} " in guide or f"tally {name}" in guide, name
        assert command.epilog, f"{name} has no example"
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.help, (name, parameter.name)
                for option in parameter.opts:
                    assert re.search(rf"{re.escape(option)}\b", sections[f"tally {name}"]), (name, option)


def test_help_begins_with_an_example():
    import subprocess
    import sys

    for verb in ([], ["fit"], ["evaluate"]):
        command = [sys.executable, "-m", "tallybayes.cli.main", *verb, "--help"]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert out.startswith(f"  tally {' '.join(verb)}"), out


def test_the_command_imports_nothing_heavy_before_it_has_to():
    import subprocess
    import sys

    code = "import sys, tallybayes.cli.main as m; print(sorted({n.split('.')[0] for n in sys.modules}))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "scipy", "pyarrow", "duckdb", "pandas", "sklearn", "safetensors"):
        assert f"'{heavy}'" not in out, heavy
