"""Saving checks that the file can be loaded, before anything is replaced."""

import pytest

import tallybayes as tb
from models import tiny
from tallybayes.errors import FileError, ParameterError
from tallybayes.model.saved_model import dumps, load
from tallybayes.storage import model_file


def test_a_file_that_would_not_load_is_an_error_and_the_old_file_is_left(tmp_path, monkeypatch):
    path = tmp_path / "model.tally"
    tiny().save(path)
    before = path.read_bytes()
    good = dumps(tiny())
    monkeypatch.setattr(model_file, "state_to_bytes", lambda state: good.replace(b"fitted", b"fixted") + b" ")
    with pytest.raises(FileError, match=r"model.tally: the model cannot be saved: the file would not load"):
        tiny().save(path)
    assert path.read_bytes() == before
    assert [other.name for other in tmp_path.iterdir()] == ["model.tally"]


def test_a_file_that_would_load_as_another_model_is_an_error(tmp_path, monkeypatch):
    other = dumps(tb.fit({"x": [1.5, 2.5], "y": ["a", "c"]}, label="y"))
    monkeypatch.setattr(model_file, "state_to_bytes", lambda state: other)
    with pytest.raises(FileError, match="would give another model"):
        tiny().save(tmp_path / "model.tally")
    assert not list(tmp_path.iterdir())


def test_merging_a_label_outside_a_given_prior_is_refused(tmp_path):
    given = tb.fit({"x": ["a", "b"], "y": ["p", "q"]}, label="y", class_prior={"p": 0.25, "q": 0.75})
    other = tb.fit({"x": ["a", "b"], "y": ["p", "r"]}, label="y")
    with pytest.raises(ParameterError, match=r"a prior probability for every label, got none for 'r'"):
        given.merge(other)
    both = other.merge(given)  # the settings are those of the left model, whose prior is counted
    both.save(tmp_path / "both.tally")
    assert load(tmp_path / "both.tally") == both


def test_merging_labels_within_a_given_prior_is_allowed(tmp_path):
    given = tb.fit({"x": ["a"], "y": ["p"]}, label="y", class_prior={"p": 0.25, "q": 0.75})
    both = given.merge(tb.fit({"x": ["b"], "y": ["q"]}, label="y"))
    both.save(tmp_path / "both.tally")
    assert load(tmp_path / "both.tally").class_counts == {"p": 1, "q": 1}
