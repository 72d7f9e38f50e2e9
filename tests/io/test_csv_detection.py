"""What is detected in a file of text: delimiter, decimal comma, encoding, words for missing values, types, lines."""

import codecs
import csv

import pytest

import tallybayes as tb
from pets import csv_file, file_with
from tallybayes.cells.missing_words import MissingWords
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, FileError
from tallybayes.io.read import read


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    text = "name,size,y\nA,1.5,p\nB,2.5,q\nC,,p\n".replace(",", delimiter)
    assert list(csv_file(text).head().columns) == ["name", "size", "y"]
    assert csv_file(text).head().columns["size"].to_pylist() == [1.5, 2.5, None]


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_line_feeds_and_carriage_returns_end_a_line(separator):
    text = f"na{separator}me,b,y\nx,1,p\ny,2,q\n"
    assert list(csv_file(text).head().columns) == [f"na{separator}me", "b", "y"]


def test_the_decimal_comma_is_found_and_can_be_told():
    text = "size;y\n1,5;p\n-2,25;q\n3;p\n"
    assert csv_file(text).head().columns["size"].to_pylist() == [1.5, -2.25, 3.0]
    expected = tb.fit({"size": [1.5, -2.25, 3.0], "y": ["p", "q", "p"]}, label="y")
    assert tb.fit(csv_file(text), label="y").same_counts(expected)
    assert tb.fit(csv_file(text.replace(";", "|"), decimal=","), label="y").same_counts(expected)
    quoted = 'size,y\n"1,5",p\n"-2,25",q\n3,p\n'
    assert tb.fit(csv_file(quoted, decimal=","), label="y").same_counts(expected)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_the_encoding_is_found(encoding):
    model = tb.fit(csv_file("größe,y\nklein,café\ngroß,thé\nklein,café\n", encoding), label="y")
    assert model.classes == ["café", "thé"]
    assert list(model.schema.columns) == ["größe"]


def test_the_encoding_can_be_told():
    text = "a,y\nпривет,да\nмир,нет\n"
    for encoding in ("cp1251", "koi8-r", "utf-16-le"):
        assert tb.fit(csv_file(text, encoding, encoding=encoding), label="y").classes == ["да", "нет"]
    with pytest.raises(FileError, match="an encoding that Python knows, got 'klingon'"):
        tb.fit(read(file_with(b"a,y\n1,2\n"), encoding="klingon"), label="y")


def test_bytes_in_another_encoding_are_told_with_their_line():
    lines = ["a,y"] + ["plain,p"] * 20_000 + ["caf\xe9,q", "plain,p"]
    path = file_with("\n".join(lines).encode("latin-1"))
    with pytest.raises(DataError, match=r"a.csv, line 20002: the text is not in utf-8") as caught:
        tb.fit(read(path, encoding="utf-8"), label="y")
    assert "--encoding" in caught.value.hint
    assert tb.fit(read(path, encoding="latin-1"), label="y").class_counts == {"p": 20001, "q": 1}


def test_text_from_windows():
    assert tb.fit(csv_file("a,y\n“quoted”,p\n€,q\n", "cp1252"), label="y").class_counts == {"p": 1, "q": 1}


def test_words_for_missing_values():
    text = "x,city,y\n1,Ulm,p\nNA,?,q\n,null,p\n4,Bonn,q\n"
    model = tb.fit(csv_file(text), label="y")
    assert model.same_counts(
        tb.fit({"x": [1, None, None, 4], "city": ["Ulm", None, None, "Bonn"], "y": list("pqpq")}, label="y")
    )
    text = "x,city,y\n1,NA,p\n-,Ulm,q\n-9,Bonn,p\n"
    model = tb.fit(csv_file(text, missing_only=["-", "-9"]), label="y")
    assert model.same_counts(tb.fit({"x": [1, None, None], "city": ["NA", "Ulm", "Bonn"], "y": list("pqp")}, label="y"))
    assert model.schema.missing == MissingWords(("-", "-9"), only=True)
    assert model.predict(csv_file("x,city\n-9,Ulm\n")).tolist() == model.predict({"city": "Ulm"}).tolist()  # remembered
    model = tb.fit(csv_file(text, missing=["-9"]), label="y")
    assert model.same_counts(tb.fit({"x": [1, None, None], "city": [None, "Ulm", "Bonn"], "y": list("pqp")}, label="y"))
    assert Schema.from_dict(model.schema.to_dict()) == model.schema


def test_what_looks_like_numbers_and_is_not():
    text = "zip,flag,when,y\n" + "".join(
        f"0{i},{'TRUE' if i % 2 else 'false'},2024-01-{i + 10},{'pq'[i % 2]}\n" for i in range(9)
    )
    model = tb.fit(csv_file(text), label="y")
    families = {name: (str(field.family), field.reason) for name, field in model.schema.columns.items()}
    assert families["zip"][0] == "categorical"
    assert families["flag"] == ("bernoulli", "booleans")
    assert families["when"] == ("None", "dates and times")
    assert {"when.elapsed", "when.weekday"} <= families.keys()


def test_a_file_without_header():
    model = tb.fit(csv_file("1,a\n2,b\n", header=False), label="x1")
    assert model.same_counts(tb.fit({"x0": [1, 2], "x1": ["a", "b"]}, label="x1"))


def test_columns_that_differ_in_case_and_odd_names():
    text = 'a,A,"x ""y"",\'z",label\n1,2,u,p\n3,4,v,q\n'
    source = csv_file(text)
    assert list(source.head().columns) == ["a", "A", 'x "y",\'z', "label"]
    assert tb.fit(source, label="label").class_counts == {"p": 1, "q": 1}


def test_a_byte_order_mark_is_no_part_of_a_name():
    assert list(read(file_with(codecs.BOM_UTF8 + b"a,y\n1,p\n")).head().columns) == ["a", "y"]


def test_lines_that_end_in_different_ways(tmp_path):
    (tmp_path / "mixed.csv").write_bytes(b'kind,message\nham,hello there\nspam,win money\r\nham,"a\rb"\nspam,x\r\n')
    model = tb.fit(tmp_path / "mixed.csv", label="kind", families={"message": "text"})
    assert model.class_counts == {"ham": 2, "spam": 2}


def test_cells_over_several_lines_in_a_large_file(tmp_path):
    """DuckDB reads parts of a large file side by side and then takes lines within quotes for rows."""
    text = "a mail, of some lines\nthat says nothing, really, but is long\n" * 20
    rows = [{"text": f"{text}{i}", "label": "ab"[i % 2]} for i in range(8000)]
    with (tmp_path / "mail.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["text", "label"])
        writer.writeheader()
        writer.writerows(rows)
    model = tb.fit(tmp_path / "mail.csv", label="label", families={"text": "text:counts,k=1"})
    assert model.class_counts == {"a": 4000, "b": 4000}
    assert model.same_counts(tb.fit(rows, label="label", families={"text": "text:counts,k=1"}))


@pytest.mark.parametrize("encoding", ["nope", "rot13", "hex"])
def test_encodings_that_are_none_of_text_are_refused(encoding):
    with pytest.raises(FileError, match="expected an encoding that Python knows"):
        csv_file("a,b\n1,x\n", encoding=encoding).head()
