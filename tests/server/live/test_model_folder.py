"""A folder of hosted models: what is added and removed, and what is left alone."""

import pytest
from hosting import bytes_of, change, learn

import models
from tallybayes.model.saved_model import dumps
from tallybayes.server.http.http_problem import as_problem
from tallybayes.server.live.model_folder import ModelFolder, NameTakenError


@pytest.mark.parametrize("end", ["log", "log-wal", "snapshot", "lock", "tally"])
def test_a_file_that_is_not_of_a_model_is_left_alone(tmp_path, end):
    with ModelFolder.open(tmp_path) as folder:
        foreign = tmp_path / f"notes.{end}"
        foreign.write_text("mine")
        with pytest.raises(NameTakenError, match=f"expected a name that no file has, got a file notes.{end}") as found:
            folder.add("notes", dumps(models.small()))
        assert as_problem(found.value).status == 409
        assert foreign.read_text() == "mine"
        assert not list(folder)
        assert {path.name for path in tmp_path.iterdir()} == {".tallybayes.lock", foreign.name}


def test_a_name_is_free_again_after_its_model_was_removed(tmp_path):
    data = dumps(models.small())
    with ModelFolder.open(tmp_path) as folder:
        for _ in range(2):
            assert folder.add("model", data).result().version == 0
            assert bytes_of(folder["model"]) == data
            change(folder["model"], learn([{"real": 1.5, "y": "p"}]))
            folder.remove("model")
