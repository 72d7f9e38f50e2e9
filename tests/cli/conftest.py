"""Folders with the data of `tally demo`."""

import pytest

from command_line import fine


@pytest.fixture(scope="session")
def pets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pets")
    fine("demo", "--keep", folder, cwd=folder)
    return folder


@pytest.fixture
def here(pets, tmp_path):
    for name in ("pets.csv", "new.csv", "correction.csv", "pets.tally"):
        (tmp_path / name).write_bytes((pets / name).read_bytes())
    return tmp_path
