"""Workbooks, Arrow, ARFF, statistics packages and zip archives: what their cells mean, and files that are damaged."""

import datetime
import gzip
import sys
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pyreadstat
import pytest

import tallybayes as tb
from pets import STATISTICS, TABLE, file_with, write_table, write_workbook
from tallybayes.errors import DataError, DataWarning, FileError, ParameterError, TallyError
from tallybayes.io.read import read


def cells(source):
    """The columns of a file by name."""
    found = source.head().columns
    return {
        name: column.to_pylist() if hasattr(column, "to_pylist") else list(column) for name, column in found.items()
    }


@pytest.mark.parametrize("kind", STATISTICS)
def test_files_of_statistics_packages_give_the_model_of_the_table(tmp_path, kind):
    path = write_table(tmp_path / f"pets.{kind}", kind)
    assert (model := tb.fit(path, label="pet")).same_counts(same := tb.fit(TABLE, label="pet"))
    assert model.predict_proba(path).tolist() == same.predict_proba(TABLE).tolist()
    packed = tmp_path / f"pets.{kind}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert tb.fit(packed, label="pet").same_counts(same)


def test_spss_portable_files(tmp_path):
    pyreadstat.write_por(pa.table({"X": [1.0, 2.5], "Y": ["a", "b"]}).to_pandas(), tmp_path / "a.por")
    assert cells(read(tmp_path / "a.por")) == {"X": [1, 2.5], "Y": ["a", "b"]}


def test_labels_of_values_are_read_where_every_value_has_one(tmp_path):
    frame = pa.table({"sex": [1.0, 2.0, None, 1.0], "mood": [1.0, 5.0, 10.0, 3.0]}).to_pandas()
    labels = {"sex": {1: "male", 2: "female", 9: "unknown"}, "mood": {1: "bad", 10: "good"}}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels)
    (doubt,) = tb.read(tmp_path / "a.sav").head().doubts
    assert doubt.text.endswith("2 of 4 values have labels (1 is bad, 10 is good); the values are read")
    assert cells(read(tmp_path / "a.sav")) == {"sex": ["male", "female", None, "male"], "mood": [1, 5, 10, 3]}


def test_rows_of_statistics_files_are_converted_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("tallybayes.io.formats.statistics_file._ROWS", 7)
    frame = pa.table({"x": [float(i) if i < 20 else i + 0.5 for i in range(30)], "y": ["a", "b", ""] * 10}).to_pandas()
    pyreadstat.write_dta(frame, tmp_path / "a.dta")
    assert cells(read(tmp_path / "a.dta")) == {"x": frame["x"].tolist(), "y": ["a", "b", None] * 10}


def test_cells_of_a_workbook(tmp_path):
    day, moment = datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 12, 30)
    rows = [
        [None, "size", "code", "flag", "day", "note", "empty"],
        [None, 1, "007", True, day, "a\nb", None],
        [None, "2.5", "008", False, moment, "#N/A", None],
        [],
        [None, 1e20, 9, True, None, "=1/0", None],
        [],
    ]
    path = write_workbook(tmp_path / "a.xlsx", {"data": rows})
    assert cells(read(path)) == {
        "size": [1.0, 2.5, 1e20],
        "code": ["007", "008", "9"],
        "flag": [True, False, True],
        "day": ["2024-01-31", "2024-01-31 12:30:00", None],
        "note": ["a\nb", None, None],
        "empty": [None, None, None],
    }
    form = read(path).formats[0]
    assert [form.line_of(row) for row in range(3)] == [2, 3, 5]  # rows of the sheet
    with pytest.warns(DataWarning, match=r"column 'note': 1 cell is not a number(.|\n)*a.xlsx, line 2"):
        list(read(path).batches({"note": "number"}))


def test_titles_above_the_header_of_a_sheet(tmp_path):
    rows = [["Pets of 2024"], [], ["size", "pet"], [1, "cat"], [2, "dog"], ["x", "cat"], [3, "dog"]]
    path = write_workbook(tmp_path / "a.xlsx", {"data": rows})
    assert list(read(path, skip_lines=2).head().columns) == ["size", "pet"]
    with pytest.warns(DataWarning, match=r"column 'size': 1 cell is not a number.*: x \(1\).*a.xlsx, line 6"):
        list(read(path, skip_lines=2).batches({"size": "number"}))
    with pytest.warns(DataWarning, match=r"line 1: columns without a name: \['column1'\](.|\n)*--skip-lines"):
        read(path).head()


def test_the_sheet_of_a_workbook_is_chosen_by_name(tmp_path):
    sheets = {"cats": [["x", "y"], [1, "a"], [2, "b"]], "dogs": [["z", "y"], [3, "a"]], "blank": []}
    path = write_workbook(tmp_path / "a.xlsx", sheets)
    assert cells(read(path, table="dogs")) == {"z": [3], "y": ["a"]}
    with pytest.raises(FileError, match=r"a sheet of the workbook \(cats, dogs\), got none\nhint: .*--table"):
        read(path).head()
    with pytest.raises(FileError, match=r"got 'dog'\nhint: did you mean 'dogs'"):
        read(path, table="dog").head()
    assert cells(read(write_workbook(tmp_path / "b.xlsx", {"only": sheets["cats"], "blank": []})))["x"] == [1, 2]
    with pytest.raises(FileError, match="an empty file"):
        read(write_workbook(tmp_path / "c.xlsx", {"blank": []})).head()


def test_a_format_whose_package_is_not_installed_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    path = write_workbook(tmp_path / "a.xlsx", {"data": [["x"], [1]]})
    with pytest.raises(FileError, match=r"a.xlsx: this format needs a package .*\n.*'tallybayes\[excel\]'"):
        read(path).head()
    with pytest.raises(FileError, match=r"pip install 'tallybayes\[stats\]'"):
        read(file_with(b"$FL2", "a.sav")).head()


def test_arrow_files_with_odd_names_and_types(tmp_path):
    table = pa.table(
        {
            "x": pa.array([1.5, None], pa.float16()),
            "X": pa.array(["a", "b"]).dictionary_encode(),
            "none": pa.array([None, None]),
            "list": [["u"], ["v", "w"]],
            "y": ["p", "q"],
        }
    )
    for compression in ("lz4", "zstd", "uncompressed"):
        pa.feather.write_feather(table, tmp_path / "a.feather", compression=compression)
        assert tb.fit(tmp_path / "a.feather", label="y").same_counts(tb.fit(table, label="y"))
    (tmp_path / "unnamed").write_bytes((tmp_path / "a.feather").read_bytes())  # known by its first bytes
    assert read(tmp_path / "unnamed").kind == "arrow"
    model = tb.fit({"n": [1, 2, 3, 4], "y": list("abab")}, label="y")
    pa.feather.write_feather(pa.table({"n": ["1", "x"]}), tmp_path / "b.feather")
    with pytest.warns(DataWarning, match=r"column 'n': 1 cell is not a number.*: x \(1\).*b.feather, row 1"):
        model.predict(tmp_path / "b.feather")
    twice = pa.table([[1], [2]], names=["a", "a"])
    pa.feather.write_feather(twice, tmp_path / "c.feather")
    with pytest.raises(DataError, match=r"c.feather: expected column names that differ, got 'a'"):
        read(tmp_path / "c.feather").head()


ARFF = r"""% a comment
@RELATION 'my data'
@ATTRIBUTE 'the size' NUMERIC
@attribute grade {1, '2', "3 or more"}
@attribute note string
@attribute day date "yyyy-MM-dd"
@data
% another
1.5, 1, 'it\'s, fine', '2024-01-31'
?, "3 or more", '?', ?

{0 2, 2 'x y'}
"""


def test_attributes_and_values_of_arff():
    source = read(file_with(ARFF.encode(), "a.arff"))
    assert cells(source) == {
        "the size": [1.5, None, 2.0],
        "grade": ["1", "3 or more", "1"],
        "note": ["it's, fine", "?", "x y"],
        "day": ["2024-01-31", None, None],
    }
    assert [source.formats[0].line_of(row) for row in range(3)] == [9, 10, 12]
    assert read(file_with(ARFF.encode(), "data")).kind == "arff"  # known by its first lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation a\n@attribute x numeric\n", "line 2: expected a line @data after the attributes"),
        ("@relation a\n@data\n1\n", "expected attributes and a line @data"),
        ("@relation a\n@attribute x complex\n@data\n", "line 2: expected @attribute NAME and numeric"),
        ("@relation a\n@attribute x {a, b\n@data\na\n", "line 2: expected a closing brace"),
        ("@relation a\nnonsense\n@data\na\n", "line 2: expected @attribute or @data, got 'nonsense'"),
        (
            "@relation a\n@attribute x numeric\n@attribute y numeric\n@data\n1,2\n1,2,3\n",
            "line 6: expected 2 cells, got 3",
        ),
        ("@relation a\n@attribute x numeric\n@attribute y string\n@data\n1,'open\n", "line 5: expected 2 cells, got 3"),
        ("@relation a\n@attribute x numeric\n@attribute y string\n@data\n{7 1}\n", "line 5: expected 2 cells, got 3"),
    ],
)
def test_errors_in_arff_name_the_line(text, message):
    with pytest.raises(TallyError, match=message):
        read(file_with(text.encode(), "a.arff")).head()


@pytest.mark.filterwarnings("ignore:.* could not be read and w:tallybayes.errors.DataWarning")
def test_a_bad_row_of_arff_is_skipped_and_counted():
    text = "@relation a\n@attribute x numeric\n@attribute y {p,q}\n@data\n1,p\ninf,q\n% no\n2,q\n1,2,3\n3,p\n"
    source = read(file_with(text.encode(), "a.arff"), skip_bad=True)
    assert tb.fit(source, label="y", families={"x": "gaussian"}).class_counts == {"p": 2, "q": 1}
    assert sorted((error.line, error.column) for error in source.bad.examples) == [(6, "x"), (9, None)]


def archive(path, members):
    """A zip archive with files of this content."""
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


def test_tables_in_a_zip_archive(tmp_path):
    one, two = "x,y\n1,p\n2,q\n", "x,y\n3,p\n4,q\n"
    path = archive(tmp_path / "a.zip", {"one.csv": one, "in/two.csv": two, "read.me": "hello"})
    assert cells(read(f"{path}/one.csv"))["x"] == [1, 2]
    assert cells(read(path, table="in/two.csv"))["x"] == [3, 4]
    assert tb.fit(f"{path}/*.csv", label="y").class_counts == {"p": 2, "q": 2}
    expected = r"a file in the archive \(one.csv, in/two.csv, read.me\), got none\nhint: name it: .*a.zip/one.csv"
    with pytest.raises(FileError, match=expected):
        read(path).head()
    with pytest.raises(FileError, match=r"a file in the archive, got 'on.csv'\nhint: did you mean 'one.csv'"):
        read(f"{path}/on.csv")
    with pytest.raises(DataError, match=r"b.zip/inner.csv, line 3: expected 2 cells, got 3"):
        read(archive(tmp_path / "b.zip", {"inner.csv": "x,y\n1,p\n1,2,3\n"})).head()
    sheet = write_workbook(tmp_path / "w.xlsx", {"a": [["x"], [1]], "b": [["x"], [2]]}).read_bytes()
    assert cells(read(archive(tmp_path / "c.zip", {"w.xlsx": sheet}), table="b"))["x"] == [2]
    with pytest.raises(FileError, match=r"d.zip: expected a file in the archive \(it is empty\), got none"):
        read(archive(tmp_path / "d.zip", {"folder/": ""})).head()
    with pytest.raises(ParameterError, match="a database, a workbook or a zip archive for the option table"):
        read(file_with(b"x,y\n1,p\n"), table="x").head()


DAMAGED = ["parquet", "xlsx", "feather", "arrow", "arff", "zip", "dta", "sav", "zsav", "xpt", "sqlite", "duckdb"]
# Files that are cut off between two rows, without a count of the rows: how many rows are left.
ROWS_LEFT = {("arff", 0.02): 5, ("xpt", 0.3): 92, ("xpt", 0.7): 268, ("xpt", 0.97): 386}


@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.parametrize("part", [0.02, 0.3, 0.7, 0.97])
def test_a_file_that_is_cut_off_has_fewer_rows_or_is_an_error_that_names_it(tmp_path, kind, part):
    whole = write_table(tmp_path / f"whole.{kind}", kind).read_bytes()
    path = tmp_path / f"cut.{kind}"
    path.write_bytes(whole[: int(len(whole) * part)])
    if n_rows := ROWS_LEFT.get((kind, part)):
        found, names = cells(read(path)), ["age", "income", "city", "pet"]
        assert {name: found[name] for name in names} == TABLE.slice(0, n_rows).select(names).to_pydict()
    else:
        with pytest.raises(TallyError, match=rf"cut.{kind}"):
            list(read(path).batches())


@pytest.mark.parametrize("kind", DAMAGED)
def test_garbage_with_the_name_of_a_format_is_an_error_that_names_it(tmp_path, kind):
    for content in (b"", b"garbage, of some length\n" * 50, bytes(range(256)) * 20):
        path = tmp_path / f"bad.{kind}"
        path.write_bytes(content)
        with pytest.raises(TallyError, match=rf"bad.{kind}"):
            read(path).head()


def test_merged_cells_have_their_value_in_every_row(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["town", "n", "y"])
    for i in range(60):
        book.active.append([["Ulm", "Bonn"][i // 30] if i % 30 == 0 else None, i % 7, "uv"[i % 2]])
    book.active.merge_cells("A2:A31")
    book.active.merge_cells("A32:A61")
    book.save(tmp_path / "a.xlsx")
    with pytest.warns(tb.DataWarning, match="merged cells were read as if every row had their value: A2:A31, A32:A61"):
        model = tb.fit(tmp_path / "a.xlsx", label="y", column_weights=None)
    with pytest.warns(tb.DataWarning, match="merged cells"):
        towns = tb.read(tmp_path / "a.xlsx").head().columns["town"].to_pylist()
    assert towns == ["Ulm"] * 30 + ["Bonn"] * 30
    assert model.doubts[0].kind == "file"


@pytest.mark.parametrize("sign", ["", "-"])
def test_infinite_numbers_of_typed_files_are_missing_as_the_hint_says(tmp_path, sign):
    values = [1.0, 2.0, float(f"{sign}inf"), None] * 30
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"x": values, "y": ["u", "v", "v", "u"] * 30}), path)
    with pytest.raises(DataError) as caught:
        tb.fit(path, label="y")
    assert f"--missing={sign}inf" in caught.value.hint
    known = [None if value is not None and abs(value) > 9 else value for value in values]
    expected = tb.fit({"x": known, "y": ["u", "v", "v", "u"] * 30}, label="y", column_weights=None)
    for data in (path, f"SELECT * FROM '{path}'"):
        model = tb.fit(read(data, missing=[f"{sign}inf"]), label="y", column_weights=None)
        assert model.same_counts(expected)
    assert model.predict_proba(path).tolist() == expected.predict_proba({"x": known}).tolist()
