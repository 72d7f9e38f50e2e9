"""A model from a file of probabilities, and what is wrong with such files."""

import json

import numpy as np
import pytest

import tallybayes as tb
from command_line import fine, tally
from tallybayes.errors import ParameterError

CANCER = {
    "label": "cancer",
    "class_prior": {"yes": 0.01, "no": 0.99},
    "tables": {"test": {"yes": {"+": 0.9, "-": 0.1}, "no": {"+": 0.05, "-": 0.95}}, "pain": {"yes": 0.6, "no": 0.2}},
}
TOML = """label = "cancer"
class_prior = {yes = 0.01, no = 0.99}
[tables]
test = {yes = {"+" = 0.9, "-" = 0.1}, no = {"+" = 0.05, "-" = 0.95}}
pain = {yes = 0.6, no = 0.2}
"""


def test_toml_and_json_give_the_model_of_the_library(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps(CANCER))
    (tmp_path / "p.toml").write_text(TOML)
    expected = tb.from_probabilities(CANCER["class_prior"], CANCER["tables"], label="cancer")
    for name in ("p.json", "p.toml"):
        fine("from-probabilities", name, "-o", "m.tally", cwd=tmp_path)
        assert tb.load(tmp_path / "m.tally") == expected
    row = json.dumps({"test": "+"})
    assert "prior" in fine("explain", "m.tally", "-", cwd=tmp_path, stdin=row)
    assert "0.1538" in fine("predict", "m.tally", "-", "--proba", cwd=tmp_path, stdin=row)
    assert len(fine("sample", "m.tally", "-n", "3", cwd=tmp_path).splitlines()) == 4


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"yes": {"a": 1.8, "b": 0.2}, "no": {"a": 0.5, "b": 0.5}}, "above 1 is a density"),
        ({"yes": {"a": 0.4, "b": 0.4}, "no": {"a": 0.5, "b": 0.5}}, r"P\(x given yes\) to add up to 1"),
        ({"yes": {"a": -0.5, "b": 0.5}, "no": {"a": 0.5, "b": 0.5}}, "from 0 to 1"),
        ({"yes": 1.5, "no": 0.5}, "above 1 is a density"),
        ({"yes": {"mean": 1.0, "sd": 2.0}, "no": 0.5}, "a density, or its mean and standard deviation"),
        ({"yes": "normal", "no": 0.5}, "a density, or its mean and standard deviation"),
        ({"yes": "much", "no": 0.5}, "expected probabilities, which are numbers"),
        ({"yes": {"a": float("nan"), "b": 0.5}, "no": 0.5}, "expected"),
    ],
)
def test_what_is_no_probability_is_an_error_in_words(table, words):
    with pytest.raises(ParameterError, match=words):
        tb.from_probabilities({"yes": 0.5, "no": 0.5}, {"x": table})


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("p.txt", "", ".toml or .json"),
        ("p.json", "{", "expected valid JSON"),
        ("p.toml", "x = ", "expected valid TOML"),
        ("p.json", "[1]", "expected an object"),
        ("p.json", "{}", "expected class_prior"),
        ("p.json", json.dumps(CANCER | {"prior": 1}), "got 'prior'"),
    ],
)
def test_wrong_files_are_errors_and_nothing_is_written(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    done = tally("from-probabilities", name, "-o", "m.tally", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "m.tally").exists()


def test_a_file_without_tables_has_the_class_prior_alone(tmp_path):
    (tmp_path / "coin.toml").write_text('label = "side"\nclass_prior = {heads = 0.25, tails = 0.75}\n')
    found = tally("from-probabilities", "coin.toml", "-o", "coin.tally", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "2 classes, 0 columns" in found.stderr
    assert np.exp(tb.load(tmp_path / "coin.tally").log_prior()).tolist() == pytest.approx([0.25, 0.75])


def test_a_negative_probability_is_named_first():
    with pytest.raises(ParameterError, match=r"got -0.1"):
        tb.from_probabilities({"a": 1.0}, {"x": {"a": {"1": -0.1, "2": 1.1}}})
