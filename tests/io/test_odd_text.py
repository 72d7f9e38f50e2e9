"""Text that is not what its beginning says: stray quotes, lines in another encoding, other files with its name."""

import gzip
import pickle
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from pets import file_with
from tallybayes.doubts import collect_doubts
from tallybayes.errors import DataError, FileError

PIPES = [f"{'pipe' if i % 3 else 'tube'}\t{i % 8}\t{'ab'[i % 2]}" for i in range(60)]


def lines(rows, header="name\tsize\ty"):
    return "".join(f"{row}\n" for row in [header, *rows])


def fitted(path, **options):
    with collect_doubts() as found:
        model = tb.fit(tb.read(path, **options), label="y", column_weights=None)
    return model, [one for one in found if one.kind == "file"]


@pytest.mark.parametrize("cell", ['"The Voice', '"The Voice" of America', '"', '"a" and "b"'])
def test_stray_quotes_are_signs_like_any_other(cell):
    rows = [*PIPES[:20], f"{cell}\t3\ta", *PIPES[20:]]
    path = file_with(lines(rows).encode(), "a.tsv")
    model, found = fitted(path)
    assert model.same_counts(fitted(path, quote="none")[0])
    assert sum(model.class_counts.values()) == 61
    assert "because of line 22" in found[0].text
    assert "--quote" in found[0].hint
    with pytest.raises(DataError, match="line 22: expected a closing quote"):
        fitted(path, quote='"')
    with collect_doubts():
        assert len(model.predict(path)) == 61


def test_inches_within_cells_are_read_as_they_were():
    path = file_with(lines([row.replace("pipe", '5" pipe') for row in PIPES]).encode(), "a.tsv")
    model, found = fitted(path)
    assert found == []
    assert model.schema.columns["name"].reason == "text, 2 distinct values"


def test_quotes_are_needed_where_lines_do_not_fit_without():
    path = file_with(b'a,y\n"x,1",u\n"x,2",v\n"open,u\n' + b"z,v\n" * 5)
    with pytest.raises(DataError, match="--quote none"):
        fitted(path)


def test_a_stray_quote_far_below_is_found_when_fitting(monkeypatch):
    monkeypatch.setattr("tallybayes.io.files.HEAD", 20)
    path = file_with(lines([*PIPES, '"The Voice\t3\ta', *PIPES]).encode(), "a.tsv")
    model, found = fitted(path)
    assert model.same_counts(fitted(path, quote="none")[0])
    assert len(found) == 1
    with pytest.raises(DataError, match="a closing quote"):
        model.predict(path)


NAMES = ["Müller", "Weiß", "Ulm", "Ångström"]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["utf-8", "cp1252"])), min_size=4, max_size=40))
def test_each_line_is_read_in_its_own_encoding(rows):
    content = [f"{name},{i % 3},{'ab'[i % 2]}\n".encode(how) for i, (name, how) in enumerate(rows)]
    both = [b"name,size,y\n", "Müller,1,a\n".encode(), *content]
    with collect_doubts():
        names = tb.read(file_with(b"".join(both))).head().columns["name"].to_pylist()
    assert names == ["Müller", *(name for name, _ in rows)]


def test_lines_in_another_encoding_are_said_wherever_they_are(monkeypatch):
    monkeypatch.setattr("tallybayes.io.files.HEAD", 20)
    rows = [f"{NAMES[i % 4]},{i % 7},{'ab'[i % 2]}\n" for i in range(9000)]
    plain = file_with("".join(["name,size,y\n", *rows]).encode())
    clean, nothing = fitted(plain)
    assert nothing == []
    for strange in ({3}, {7000}, {3, 8000, 8001}):
        parts = [row.encode("cp1252" if i in strange else "utf-8") for i, row in enumerate(rows)]
        path = file_with(b"".join([b"name,size,y\n", *parts]))
        model, found = fitted(path)
        assert model.same_counts(clean)
        n = sum(not rows[i].isascii() for i in strange)
        assert f"{n} line" in found[0].text
        assert f"the first is line {min(i for i in strange if not rows[i].isascii()) + 2}" in found[0].text
        with collect_doubts():
            assert model.predict(path).tolist() == clean.predict(plain).tolist()
        with pytest.raises(DataError, match="not in utf-8"), collect_doubts():
            fitted(path, encoding="utf-8")


def test_a_file_in_one_other_encoding_is_read_as_before():
    path = file_with("".join(["name,y\n", *(f"{name},{name[0]}\n" for name in NAMES)]).encode("latin-1"))
    with collect_doubts() as found:
        assert tb.read(path).head().columns["name"].to_pylist() == NAMES
    assert found == []


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "a PDF document"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01", "a JPEG picture"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "a PNG picture"),
        (pickle.dumps({"a": [1, 2]}), "a pickle of Python"),
        (pickle.dumps([1, 2], protocol=2), "a pickle of Python"),
        (b"<!DOCTYPE html>\n<html><body>404, not found</body></html>\n", "a web page"),
        ("a,y\n1,x\n2,z\n".encode("utf-16-le"), "text in utf-16-le"),
        (random.Random(1).randbytes(999), "bytes that are not text"),
    ],
)
def test_what_is_not_text_is_named(content, kind):
    with pytest.raises(FileError, match=f"expected a file of text, got (what seems to be )?{kind}"):
        tb.fit(file_with(content), label="y")


def test_broken_compression_is_named():
    for content in (gzip.compress(b"a,b\n1,2\n" * 1000)[:-20], b"\x1f\x8b" + random.Random(1).randbytes(300)):
        with pytest.raises(FileError, match="cannot be decompressed, though it begins like gzip"):
            tb.fit(file_with(content), label="y")
