"""tally.toml: where it is looked for, what wins, and what is refused."""

import json

import pytest

from command_line import fine, tally
from tallybayes.cli.config_file import config_beside, config_values
from tallybayes.errors import ParameterError

OPTIONS = {
    "fit": {"label": "value", "missing": "list", "dry-run": "flag", "class-smoothing": "value", "output": "value"},
    "inspect": {"json": "flag", "column": "list"},
}


def values(content, command="fit"):
    return config_values(content, "tally.toml", command=command, options=OPTIONS)


def test_a_command_wins_over_the_keys_at_the_top():
    content = {"label": "a", "missing": "-", "fit": {"label": "b", "class-smoothing": 2.5}, "inspect": {"json": True}}
    assert values(content) == {"label": "b", "missing": ["-"], "class-smoothing": "2.5"}
    assert values(content, "inspect") == {"json": True}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"lable": "a"}, "got 'lable'\nhint: did you mean 'label'?"),
        ({"fit": {"column": "a"}}, "expected an option of tally fit, got 'column'"),
        ({"fti": {}}, r"expected the name of a command, got \[fti\]\nhint: did you mean 'fit'?"),
        ({"fit": {"dry-run": "yes"}}, "expected dry-run: true or false, got 'yes'"),
        ({"label": ["a", "b"]}, "expected label: one text or number, got"),
        ({"label": True}, "expected label: one text or number, got True"),
        ({"fit": {"missing": [["-"]]}}, "expected missing: text, or a list of texts"),
        ({"fit": {"output": "/etc/passwd"}}, "expected --output on the command line only"),
        ({"output": "x"}, "expected --output on the command line only"),
    ],
)
def test_what_is_refused(content, says):
    with pytest.raises(ParameterError, match=says.replace("?", r"\?")):
        values(content)


def test_it_is_looked_for_beside_the_data_then_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "pets.csv").write_text("a,b\n")
    assert config_beside(["data/pets.csv"]) is None
    (tmp_path / "tally.toml").write_text("")
    assert config_beside(["data/pets.csv"]) == "tally.toml"
    assert config_beside(["SELECT 1"]) == "tally.toml"
    (folder / "tally.toml").write_text("")
    assert config_beside(["data/pets.csv"]) == config_beside(["data"]) == "data/tally.toml"


def test_the_command_uses_it_and_says_so(here):
    (here / "tally.toml").write_text(
        'label = "pet"\n[fit]\nnumeric = "gaussian"\nignore = ["colour", "name"]\n[predict]\nid = "name"\n'
    )
    done = tally("fit", "pets.csv", "--ignore", "likes", "--dry-run", cwd=here)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("options from tally.toml: label, numeric\n")
    assert "kilos     gaussian" in done.stdout
    assert "colour    categorical" in done.stdout  # the command line wins
    done = tally("predict", "pets.tally", "new.csv", "--quiet", cwd=here)
    assert (done.stdout.splitlines()[0], done.stderr) == ("name,predicted,probability", "")
    assert "column to predict, got none" in tally("fit", "pets.csv", "--no-config", cwd=here).stderr
    (here / "tally.toml").write_text("[evaluate]\nfolds = 3\nsmoothing = 1\n")
    assert json.loads(fine("evaluate", "pets.tally", "pets.csv", "--json", cwd=here))["rows"] == 300


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("label = pet", "tally.toml: expected TOML: Invalid value (at line 1"),
        ("labl = 'pet'", "did you mean 'label'?"),
        ("[fit]\nfolds = 3", "expected an option of tally fit, got 'folds'"),
        ("[fit]\nclass-smoothing = 'x'", "'--class-smoothing': expected a number, got 'x'"),
    ],
)
def test_errors_in_it_are_errors_of_usage(here, text, says):
    (here / "tally.toml").write_text(text)
    before = (here / "pets.tally").read_bytes()
    done = tally("fit", "pets.csv", "--label", "pet", cwd=here)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr
    assert (here / "pets.tally").read_bytes() == before
