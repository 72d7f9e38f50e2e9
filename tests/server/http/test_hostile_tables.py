"""Small bodies of Parquet and Arrow that stand for gigabytes: refused while they are decoded, in bounded memory."""

import io
import json

import httpx2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from running_server import RunningServer, pets

from tallybayes.errors import DataError
from tallybayes.server.http import uploaded_rows as uploaded
from tallybayes.server.http.arrow_body import read_arrow
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.parquet_body import read_parquet
from tallybayes.server.http.uploaded_rows import uploaded_rows

LONG = "x" * 2**20
MOST = 700  # MB that a server may take besides what it has at the start; the bodies stand for 1 to 3 GB


def parquet(column, **options):
    sink = io.BytesIO()
    pq.write_table(pa.table({"likes": column}), sink, compression="zstd", **options)
    return sink.getvalue()


def stream(columns):
    table, sink = pa.table(columns), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def same(value, n):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([value]))


def one_list(members):
    return pa.ListArray.from_arrays(pa.array([0, len(members)], pa.int32()), members)


PARQUET = {
    "a dictionary": lambda: parquet(same(LONG, 2000)),
    "a dictionary in a list": lambda: parquet(one_list(same("x" * 1000, 2_000_000))),
    "a dictionary in a struct": lambda: parquet(pa.StructArray.from_arrays([same(LONG, 1500)], ["a"])),
    "fixed lengths": lambda: parquet(pa.array([b"x" * 2**20] * 1200, pa.binary(2**20)), data_page_size=2**31 - 1),
    "texts that begin alike": lambda: parquet(
        pa.array([LONG] * 1500),
        use_dictionary=False,
        column_encoding={"likes": "DELTA_BYTE_ARRAY"},
        data_page_size=2**30,
        write_statistics=False,
    ),
    "a long list": lambda: parquet(one_list(pa.array(np.zeros(150_000_000, np.int64)))),
    "a long page": lambda: parquet(
        pa.array(["x" * 2**21] * 500), use_dictionary=False, data_page_size=2**31 - 1, write_statistics=False
    ),
}
ARROW = {
    "a list of nulls": lambda: stream({"likes": one_list(pa.nulls(200_000_000))}),
    "lists of nulls of one length": lambda: stream(
        {"likes": pa.FixedSizeListArray.from_arrays(pa.nulls(10**8), 10**8)}
    ),
    "columns that are each below the limit": lambda: stream({f"x{i}": same(LONG, 250) for i in range(8)}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    pets().save(folder / "pets.tally")
    with RunningServer(folder, "--log-level", "warning") as running:
        yield running


def peak(server):
    """The most memory that the process has had, in MB."""
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def post(server, verb, body, kind="application/octet-stream"):
    address = f"{server.url}/v1/models/pets/{verb}"
    return httpx2.post(address, content=body, headers={"Content-Type": kind}, timeout=120)


@pytest.mark.parametrize("make", PARQUET.values(), ids=PARQUET)
def test_a_parquet_file_that_grows_is_refused(server, make):
    body, before = make(), peak(server)
    assert len(body) < 2**20
    found = post(server, "read", body)
    assert found.status_code == 422, found.text[:200]
    assert "expected a Parquet file with at most" in found.json()["detail"]
    assert peak(server) < before + MOST


@pytest.mark.parametrize("make", ARROW.values(), ids=ARROW)
def test_a_stream_of_arrow_that_grows_is_refused(server, make):
    body, before = make(), peak(server)
    assert len(body) < 2**24
    for verb in ("predict", "read"):
        found = post(server, verb, body, "application/vnd.apache.arrow.stream")
        assert found.status_code == 413, found.text[:200]
        assert "256 MB of values" in found.json()["detail"]
    assert peak(server) < before + MOST


def test_rows_that_take_no_bytes_are_read_as_far_as_they_are_shown(server):
    found = post(server, "read", stream({"likes": pa.nulls(10**9)})).json()
    assert (len(found["rows"]), found["truncated"]) == (5000, True)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_ordinary_parquet_files_are_read_as_they_are(version, compression):
    table = pa.table(
        {
            "text": ["x", "y", None] * 10,
            "list": [["p", "q"], None, []] * 10,
            "struct": [{"u": "v", "w": [1]}] * 30,
            "map": pa.array([[("k", "v")]] * 30, pa.map_(pa.string(), pa.string())),
            "category": same("u", 30),
            "structs": [[{"q": "r"}]] * 30,
            "pair": pa.array([[1, 2]] * 30, pa.list_(pa.int64(), 2)),
            "wide": pa.array([["z"]] * 30, pa.large_list(pa.string())),
            "bytes": pa.array([b"abc"] * 30, pa.binary(3)),
            "time": pa.array([1] * 30, pa.timestamp("us", "UTC")),
            "nothing": pa.nulls(30),
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink, compression=compression, data_page_version=version, row_group_size=7, data_page_size=10)
    assert read_parquet(sink.getvalue(), 20).to_pylist() == table.slice(0, 20).to_pylist()
    assert read_parquet(sink.getvalue(), 100).num_rows == 30


def test_texts_that_begin_alike_are_read_if_they_are_short():
    texts = [f"the same beginning, then {i}" for i in range(3000)]
    options = {"use_dictionary": False, "column_encoding": {"likes": "DELTA_BYTE_ARRAY"}}
    for column in (pa.array(texts), pa.array([[text, text] for text in texts[:100]])):
        if pa.types.is_list(column.type):
            options["column_encoding"] = {"likes.list.element": "DELTA_BYTE_ARRAY"}
        assert read_parquet(parquet(column, **options), 5001)["likes"].to_pylist() == column.to_pylist()


def test_a_large_parquet_file_is_read_as_far_as_it_is_shown():
    numbers = np.random.default_rng(1).normal(size=2_000_000)
    body = parquet(pa.array(numbers))
    assert read_parquet(body, 5001)["likes"].to_pylist() == numbers[:5001].tolist()


def test_damage_anywhere_in_a_parquet_file_is_an_error_or_read():
    body = parquet(pa.array([["sun", "walks"], ["fish"]] * 50))
    rng = np.random.default_rng(2)
    n_refused = 0
    for _ in range(400):
        damaged = bytearray(body)
        damaged[rng.integers(len(body))] = rng.integers(256)
        try:
            read_parquet(bytes(damaged), 100)
        except DataError:
            n_refused += 1
    assert n_refused > 50


def test_a_damaged_footer_does_not_end_the_server(server):
    """pyarrow ends the process if it is asked for a column whose histogram of levels has another length."""
    body = parquet(pa.array([["sun", "walks"], ["fish"]] * 50))
    lists = [i for i in range(len(body) - 8) if body[i : i + 2] in (b"\x29\x46", b"\x19\x46", b"\x29\x26", b"\x19\x26")]
    assert lists
    for place in lists:
        damaged = bytearray(body)
        damaged[place + 1] ^= 0x10
        assert post(server, "read", bytes(damaged)).status_code in (200, 422)
    assert post(server, "read", body).json()["rows"][1] == {"likes": ["fish"]}


def test_members_of_lists_in_arrow_may_be_many_if_they_are_short():
    table = read_arrow(stream({"likes": one_list(pa.array(np.zeros(10**6, np.int8)))}), 10)
    assert table.num_rows == 1
    with pytest.raises(HttpError, match="256 MB"):
        read_arrow(stream({"likes": one_list(pa.array(np.zeros(2**25 + 1, np.int8)))}), 10)


def test_an_answer_is_not_much_longer_than_a_body(server, monkeypatch):
    """Each row repeats the names of the columns: here 5 GB."""
    names, before = ",".join("n" * 1000 + str(i) for i in range(1000)), peak(server)
    found = post(server, "read", (names + "\n" + (",".join("1" * 1000) + "\n") * 5000).encode(), "text/csv")
    assert found.status_code == 200
    assert len(found.content) < 2**26 + 2**21
    assert found.json()["truncated"] is True
    assert 10 < len(found.json()["rows"]) < 100
    assert peak(server) < before + 2 * MOST
    monkeypatch.setattr(uploaded, "_LONGEST", 10)
    with pytest.raises(DataError, match="a row of at most"):
        uploaded_rows(json.dumps([{"likes": "sun" * 10}]).encode(), pets().schema)
