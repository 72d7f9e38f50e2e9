"""Lines that are no part of the table, quotes, names that repeat, and ends of lines; errors name the right line."""

import csv

import pytest

import tallybayes as tb
from pets import csv_file, file_with
from tallybayes.errors import DataError, DataWarning, ParameterError
from tallybayes.io.read import read

COLUMNS = {"size": [1.5, 2.5, None], "y": ["p", "q", "p"]}


def cells(source):
    """The columns of a file by name."""
    return {name: column.to_pylist() for name, column in source.head().columns.items()}


def lines_of(source):
    """The line of every row."""
    form = source.formats[0]
    return [form.line_of(row) for row in range(source.head().n_rows)]


def test_a_first_line_names_the_delimiter():
    for first in ("sep=;", '"sep=;"', "SEP=;"):
        source = csv_file(f"{first}\nsize;y\n1,5;p\n2,5;q\n;p\n")
        assert cells(source) == COLUMNS
        assert lines_of(source) == [3, 4, 5]
    assert cells(csv_file("sep=|\r\nsize|y\r\n1.5|p\r\n2.5|q\r\n|p\r\n", "utf-8-sig")) == COLUMNS
    with pytest.raises(DataError, match=r"a.csv, line 4: expected 2 cells, got 3"):
        csv_file("sep=;\nsize;y\n1;p\n1;2;p\n").head()


def test_lines_before_the_table_may_end_in_another_way():
    source = csv_file("sep=;\rsize;y\n1,5;p\n2,5;q\n;p\n")
    assert cells(source) == COLUMNS
    assert [table.n_rows for table in source.batches()] == [3]
    assert lines_of(source) == [3, 4, 5]


def test_comments_before_the_header_are_skipped_with_a_warning():
    text = '# exported "2024\n\n## by hand, in a hurry\nsize,y\n1.5,p\n2.5,q\n,p\n'
    with pytest.warns(DataWarning, match="lines before the header that begin with # were skipped: 2"):
        assert cells(source := csv_file(text)) == COLUMNS
    assert lines_of(source) == [5, 6, 7]
    with pytest.warns(DataWarning, match="name of the only column"):
        assert len(csv_file("# a\nx,y\n1,2\n", comment="none").head().columns) == 1


def test_a_warning_is_given_once_for_a_file():
    path = file_with(b"# 2024\nsize,y\n1.5,p\n2.5,q\n")
    with pytest.warns(DataWarning) as found:
        model = tb.fit(read(path, missing=["-"]), label="y")
    assert len(found) == 1
    with pytest.warns(DataWarning) as found:
        model.predict(read(path))
    assert len(found) == 1


def test_a_header_may_begin_with_a_number_sign():
    assert list(csv_file("#chrom,start\nchr1,5\nchr2,6\n").head().columns) == ["#chrom", "start"]
    with pytest.warns(DataWarning, match="skipped: 1"):
        assert list(cells(source := csv_file("# archive\n#chrom\tstart\nchr1\t5\nchr2\t6\n"))) == ["#chrom", "start"]
    assert lines_of(source) == [3, 4]


def test_a_number_sign_within_the_data_is_a_cell():
    text = "a,y\n#1,p\n#2 # 3,q\n"
    assert cells(csv_file(text)) == {"a": ["#1", "#2 # 3"], "y": ["p", "q"]}


def test_comment_lines_are_skipped_everywhere_when_told():
    text = '#1\nname,y\nA # 1,p\n#skip "me\n"B\n# inside",q\n//C,p\n'
    source = csv_file(text, comment="#")
    assert cells(source) == {"name": ["A # 1", "B\n# inside", "//C"], "y": ["p", "q", "p"]}
    assert lines_of(source) == [3, 5, 7]
    with pytest.raises(DataError, match=r"a.csv, line 5: expected 2 cells, got 3"):
        csv_file("name,y\n//x\nA,p\n//y\nB,q,r\n", comment="//").head()
    bad = csv_file("name,y\n#\nA,p\n#\nB,q,r\nC,p\n", comment="#", skip_bad=True)
    assert [table.n_rows for table in bad.batches()] == [2]
    assert [error.line for error in bad.bad.examples] == [5]
    one = csv_file("x\n#\n1\n#\n2\n", comment="#")
    assert cells(one) == {"x": [1, 2]}
    assert lines_of(one) == [3, 5]


def test_comments_in_files_of_other_encodings():
    for encoding in ("latin-1", "utf-16", "cp1252", "utf-8-sig"):
        assert cells(csv_file("€ größe,y\n# weg\n1,p\n".replace("€ ", ""), encoding, comment="#")) == {
            "größe": [1],
            "y": ["p"],
        }
    path = file_with(b"a,y\n#\n" + b"x,p\n" * 20_000 + b"caf\xe9,q\n")
    with pytest.raises(DataError, match=r"line 20003: the text is not in utf-8"):
        tb.fit(read(path, comment="#", encoding="utf-8"), label="y")
    with pytest.warns(DataWarning, match="1 line is not in UTF-8"):
        assert tb.fit(read(path, comment="#"), label="y").class_counts == {"p": 20_000, "q": 1}


def test_lines_before_the_table_are_skipped():
    text = 'Sales of "2024\n;;;\nsize,y\n1.5,p\n2.5,q\n,p\n'
    source = csv_file(text, skip_lines=2)
    assert cells(source) == COLUMNS
    assert lines_of(source) == [4, 5, 6]
    with pytest.warns(DataWarning, match=r"column 'size': 1 cell is not a number.*: x \(1\).*a.csv, line 5"):
        list(csv_file("T\n\nsize,y\n1,p\nx,q\n2,p\n3,q\n", skip_lines=1).batches({"size": "number"}))
    assert list(csv_file("T\n1,p\n", skip_lines=1, header=False).head().columns) == ["x0", "x1"]
    with pytest.raises(ParameterError, match="skip_lines to be an integer of at least 0, got -1"):
        csv_file(text, skip_lines=-1).head()
    with pytest.raises(tb.errors.FileError, match="got an empty file"):
        csv_file(text, skip_lines=99).head()


def test_a_title_before_the_header_is_pointed_out():
    with pytest.warns(DataWarning, match=r"'Sales 2024' is taken for the name of the only column, (.|\n)*--skip-lines"):
        csv_file("Sales 2024\nsize,y\n1.5,p\n").head()
    with pytest.raises(DataError, match=r"line 2: expected 2 cells, got 3") as caught:
        csv_file("Sales, 2024\nsize,b,y\n1.5,2,p\n").head()
    assert "skip_lines= (--skip-lines)" in caught.value.hint
    with pytest.warns(DataWarning, match=r"line 1: columns without a name: \['column1', 'column2'\](.|\n)*skip-lines"):
        csv_file("Sales 2024,,\nsize,b,y\n1.5,2,p\n").head()


def test_without_quotes():
    text = 'size,say,y\n1.5,"hi,p\n2.5,5" disk,q\n'
    assert cells(csv_file(text, quote="none"))["say"] == ['"hi', '5" disk']
    assert cells(csv_file("a,y\n'x,1',p\n'it''s',q\n", quote="'"))["a"] == ["x,1", "it's"]
    with pytest.raises(DataError, match=r"a.csv, line 3: expected 3 cells, got 4"):
        csv_file('size,say,y\n1,"hi,p\n2,"b,c",q\n', quote="none").head()
    for wrong in ("''", "\n", "é"):
        with pytest.raises(ParameterError, match="quote to be one ASCII character or none"):
            csv_file(text, quote=wrong).head()
    with pytest.raises(ParameterError, match="a delimiter of one character"):
        csv_file(text, quote=";", delimiter=";").head()
    with pytest.raises(ParameterError, match="comment, what comment lines begin with"):
        csv_file(text, comment=",", delimiter=",").head()


def test_names_that_repeat_are_numbered_in_fit_and_in_predict():
    text = "size,size,y\n1,20,p\n2,10,q\n3,20,p\n4,10,q\n"
    with pytest.warns(DataWarning, match=r"line 1: column names that repeat were numbered: \['size.2'\]"):
        model = tb.fit(csv_file(text), label="y", families={"size": "gaussian", "size.2": "gaussian"})
    assert model.same_counts(
        tb.fit(
            {"size": [1, 2, 3, 4], "size.2": [20, 10, 20, 10], "y": list("pqpq")},
            label="y",
            families={"size": "gaussian", "size.2": "gaussian"},
        )
    )
    with pytest.warns(DataWarning, match="numbered"):
        assert model.predict(csv_file(text)).tolist() == list("pqpq")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "end"])
@pytest.mark.parametrize("stored", ["utf-8", "utf-8-sig"])
def test_every_end_of_line(end, last, stored):
    source = csv_file(end.join(["size,y", "1.5,p", "2.5,q", ",p"]) + (end if last else ""), stored)
    assert cells(source) == COLUMNS
    assert lines_of(source) == [2, 3, 4]


def test_ends_of_lines_that_differ():
    text = 'a,y\r\nk,p\n"x\ry",q\rm,p\r\n\rn,q'
    source = csv_file(text)
    assert cells(source) == {"a": ["k", "x\ry", "m", "n"], "y": ["p", "q", "p", "q"]}
    with pytest.raises(DataError, match=r"a.csv, line 4: expected 2 cells, got 3"):
        csv_file("a,y\r\n1,p\r2,q\n3,p,z\n").head()


def test_a_long_cell_is_data():
    """It is longer than the csv module of Python takes by itself, whose limit is one of the whole process."""
    before = csv.field_size_limit(131_072)
    try:
        found = cells(csv_file(f"note,y\n{'word ' * 40_000},p\nword,q\n"))
    finally:
        csv.field_size_limit(before)
    assert found == {"note": [("word " * 40_000).strip(), "word"], "y": ["p", "q"]}
