"""Small bodies that stand for much: compressed, archived, or with values that many rows share; temporary files."""

import bz2
import gzip
import io
import lzma
import zipfile

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from running_server import RunningServer, pets

from tallybayes.errors import DataError
from tallybayes.server.http.arrow_body import read_arrow
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.uploaded_rows import uploaded_rows

ARROW = "application/vnd.apache.arrow.stream"
TABLE = b"weight\n" + b"4.5\n" * 30


def zipped(content):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.csv", content)
    return sink.getvalue()


def zstd(content):
    return pa.compress(content, "zstd", asbytes=True)


def stream(table, compression=None, open_sink=pa.ipc.new_stream):
    sink = io.BytesIO()
    with open_sink(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A server with few rows and a folder of its own for temporary files."""
    folder, temporary = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("temporary")
    pets().save(folder / "pets.tally")
    options = ["--max-rows", "50", "--log-level", "warning"]
    with RunningServer(folder, *options, environment={"TMPDIR": str(temporary)}) as server:
        server.temporary = temporary
        yield server


def post(server, verb, body, kind="text/csv"):
    return httpx2.post(f"{server.url}/v1/models/pets/{verb}", content=body, headers={"Content-Type": kind})


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd, zipped])
@pytest.mark.parametrize("verb", ["predict", "learn", "explain", "evaluate", "/invocations"])
def test_text_that_is_compressed_is_refused(small, verb, pack):
    path = verb if verb == "/invocations" else f"/v1/models/pets/{verb}"
    found = httpx2.post(f"{small.url}{path}", content=pack(TABLE), headers={"Content-Type": "text/csv"})
    assert found.status_code == 415, found.text
    assert "compressed" in found.text or "archive" in found.text


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_rows_are_counted_however_lines_end(small, end, encoding):
    def body(n):
        return end.join(["weight,pet", *["4.5,cat"] * n, ""]).encode(encoding)

    assert post(small, "predict", body(50)).status_code == 200
    for verb in ("predict", "learn"):
        found = post(small, verb, body(51))
        assert found.status_code == 413, found.text
        assert "50 rows" in found.json()["detail"]


def test_a_cell_with_many_lines_is_one_row(small):
    found = post(small, "predict", b'weight,likes\n4.5,"' + b"sun\n" * 100 + b'"\n')
    assert found.status_code == 200, found.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
@pytest.mark.parametrize("verb", ["predict", "learn", "read", "evaluate"])
def test_no_temporary_file_is_left(small, verb, encoding):
    body = "# a comment\nweight,likes,pet\n4.5,caf\u00e9,cat\r\n15,walks,dog\n".encode(encoding)
    found = post(small, verb, body)
    assert found.status_code == 200, found.text
    assert list(small.temporary.iterdir()) == []


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_compressed_buffers_of_arrow_are_refused(compression):
    text = pa.table({"likes": ["x" * 1000] * 10})
    kinds = pa.table({"likes": pa.array(["sun" * 100, "walks"]).dictionary_encode()})
    for table in (text, kinds):
        assert read_arrow(stream(table), 10).num_rows == table.num_rows
        with pytest.raises(HttpError, match="without compression") as caught:
            read_arrow(stream(table, compression), 10)
        assert caught.value.status == 415
        for open_sink in (pa.ipc.new_stream, pa.ipc.new_file):
            assert uploaded_rows(stream(table, open_sink=open_sink), pets().schema)["rows"] == table.to_pylist()
            with pytest.raises((HttpError, DataError), match="without compression"):
                uploaded_rows(stream(table, compression, open_sink), pets().schema)


LONG = "x" * 2**20
N = 400


@pytest.mark.parametrize(
    "column",
    [
        pa.DictionaryArray.from_arrays(pa.array([0] * N, pa.int32()), pa.array([LONG])),
        pa.Array.from_buffers(
            pa.string_view(),
            N,
            [
                None,
                pa.py_buffer((len(LONG).to_bytes(4, "little") + b"xxxx" + bytes(8)) * N),
                pa.py_buffer(LONG.encode()),
            ],
        ),
        pa.RunEndEncodedArray.from_arrays([N], [LONG]),
        pa.StructArray.from_arrays(
            [pa.DictionaryArray.from_arrays(pa.array([0] * N, pa.int32()), pa.array([LONG]))], ["a"]
        ),
    ],
    ids=lambda column: str(column.type)[:12],
)
def test_many_rows_with_the_same_long_value_are_refused(column):
    body = stream(pa.table({"likes": column}))
    assert len(body) < 2 * len(LONG)
    with pytest.raises(HttpError) as caught:
        read_arrow(body, 1000)
    with pytest.raises(HttpError):
        uploaded_rows(body, pets().schema)
    assert caught.value.status in (413, 415)


def test_values_that_rows_share_are_read_if_they_are_short():
    values = ["sun", "walks", None, "a text that is longer than twelve bytes"]
    for column in (pa.array(values * 20).dictionary_encode(), pa.array(values * 20, pa.string_view())):
        assert read_arrow(stream(pa.table({"likes": column})), 100)["likes"].to_pylist() == values * 20


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b"$FL3" + bytes(100), ""),
        (b"$FL2" + bytes(100), "rows.csv"),
        (b"<stata_dta>" + bytes(100), ""),
        (bytes(12) + b"\xc2\xea\x81\x60" + bytes(100), ""),
        (b"weight\n4.5\n", "rows.zsav"),
    ],
)
def test_files_of_statistics_packages_are_not_unpacked(body, name):
    with pytest.raises(DataError, match="statistics package"):
        uploaded_rows(body, pets().schema, name=name)


def test_a_parquet_file_that_is_much_longer_than_it_shows():
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink, pa.schema([("likes", pa.string())]), compression="zstd", use_dictionary=False
    ) as writer:
        for _ in range(5):
            writer.write_table(pa.table({"likes": ["x" * 2**20] * 60}))
    assert len(sink.getvalue()) < 2**18
    with pytest.raises(DataError, match="MB of values"):
        uploaded_rows(sink.getvalue(), pets().schema)
    with pytest.raises(DataError, match="Parquet"):
        uploaded_rows(b"PAR1" + bytes(40), pets().schema)


@pytest.mark.parametrize(
    "name", ["\u6f22" * 100 + ".csv", "\u6f22" * 300, "a" * 5000 + ".csv", "..", ".csv", "\udcff.csv"]
)
def test_a_file_name_that_is_too_long_for_the_disk(name):
    found = uploaded_rows(b"weight\n4.5\n", pets().schema, name=name)
    assert found["rows"] == [{"weight": 4.5}]
