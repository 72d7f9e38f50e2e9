"""CSV with columns that the model does not have, and with long cells: only what the model uses is read."""

import httpx2
import pytest
from running_server import RunningServer, pets

import tallybayes as tb
from tallybayes.io.files import Files
from tallybayes.io.formats.file_format import ReadOptions
from tallybayes.server.http.request_rows import CSV, RequestRows
from tallybayes.server.http.row_source import RowLimit

WIDE = ",".join(["weight", *(f"other {i}" for i in range(5000))]) + "\n" + ",".join(["4.5"] * 5001) + "\n"


def test_types_are_inferred_only_of_columns_that_are_used(tmp_path):
    (tmp_path / "wide.csv").write_text(WIDE)
    source = Files([str(tmp_path / "wide.csv")], ReadOptions(used=frozenset({"weight"})))
    columns = source.head().columns
    assert (columns["weight"].to_pylist(), columns["other 7"].to_pylist()) == ([4.5], ["4.5"])
    assert set(source.formats[0].readings) == {"weight"}
    with RequestRows(CSV, content=WIDE.encode()).opened(RowLimit(10), pets().schema) as rows:
        assert [name for name, column in rows.head().columns.items() if column.to_pylist() == [4.5]] == ["weight"]
        (table,) = rows.batches({"weight": "number"})
        assert table.columns["weight"].to_pylist() == [4.5]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    pets().save(folder / "pets.tally")
    notes = {"note": ["cash now", "cash", "lunch", "lunch today"] * 5, "y": ["spam", "spam", "ham", "ham"] * 5}
    tb.fit(notes, label="y", families={"note": "text"}, column_weights=None).save(folder / "mail.tally")
    with RunningServer(folder, "--log-level", "warning") as running:
        yield running


def post(server, path, body):
    return httpx2.post(f"{server.url}/v1/models/{path}", content=body, headers={"Content-Type": "text/csv"}, timeout=60)


def test_columns_that_the_model_does_not_have_change_nothing(server):
    plain, wide = post(server, "pets/predict", "weight\n4.5\n"), post(server, "pets/predict", WIDE)
    assert (wide.status_code, wide.text) == (200, plain.text)
    (row,) = post(server, "pets/read", WIDE).json()["rows"]
    assert (len(row), row["weight"], row["other 4999"]) == (5001, 4.5, "4.5")


@pytest.mark.parametrize("verb", ["predict", "evaluate", "read", "learn"])
def test_a_cell_of_two_hundred_thousand_characters(server, verb):
    body = f"note,y\n{'cash ' * 40_000},spam\nlunch,ham\n"
    found = post(server, f"mail/{verb}", body)
    assert found.status_code == 200, found.text[:300]
    if verb == "predict":
        assert [line.split(",")[0] for line in found.text.splitlines()[1:]] == ["spam", "ham"]
