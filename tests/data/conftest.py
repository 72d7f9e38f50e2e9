import pytest
from pets import KINDS, write_table


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The table of pets in a file of every format."""
    folder = tmp_path_factory.mktemp("files")
    return {kind: write_table(folder / f"pets.{kind}", kind) for kind in KINDS}
