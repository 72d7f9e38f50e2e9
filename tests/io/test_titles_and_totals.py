"""Lines above the header and totals below the rows, as spreadsheets have them."""

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from pets import file_with
from tallybayes.doubts import collect_doubts
from tallybayes.errors import DataError

TITLE = 'Sales of 2024;;;\n"made by hand; 3 May";;;\n\n'
ROWS = "town;price;sold;kind\nUlm;1,5;3;a\nBonn;2,5;4;b\nKiel;3,0;5;a\nJena;2,0;6;b\n"


def fitted(path, label="kind", **options):
    with collect_doubts() as found:
        model = tb.fit(tb.read(path, **options), label=label, column_weights=None)
    return model, [one for one in found if one.kind in ("file", "rows")]


def workbook(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_the_header_is_found_by_the_label():
    model, found = fitted(file_with((TITLE + ROWS).encode()))
    plain, nothing = fitted(file_with(ROWS.encode()))
    assert model.same_counts(plain)
    assert nothing == []
    assert "the header was taken from line 4, where 'kind' is" in found[0].text
    assert "--skip-lines" in found[0].hint
    told, silent = fitted(file_with((TITLE + ROWS).encode()), skip_lines=3)
    assert told.same_counts(plain)
    assert silent == []


def test_a_label_of_a_value_and_a_model_find_the_header_too():
    path = file_with((TITLE + ROWS).encode())
    assert fitted(path, label="kind=a")[0].class_counts == {False: 2, True: 2}
    model = fitted(file_with(ROWS.encode()))[0]
    with collect_doubts() as found:
        assert model.predict(path).tolist() == model.predict(file_with(ROWS.encode())).tolist()
    assert "line 4" in found[0].text
    before = model.copy()
    with collect_doubts():
        model.learn(path)
        model.forget(path)
    assert model.same_counts(before)


def test_errors_name_lines_below_a_title():
    with pytest.raises(DataError, match="line 6"), collect_doubts():
        tb.fit(file_with((TITLE + ROWS.replace("Bonn;2,5;4;b", "Bonn;2,5;4")).encode()), label="kind")


def test_a_header_in_the_first_line_is_never_left():
    with pytest.raises(DataError, match="the label column in the data"):
        tb.fit(file_with(b"a,b\n1,2\n3,4\n"), label="kind")
    for value in ("x", "3"):  # of a cell, not of a column
        with pytest.raises(DataError, match="the label column in the data"):
            tb.fit(file_with(b"a,b\n1,x\n3,y\n4,x\n"), label=value)
    model, found = fitted(file_with(b"kind,b\na,kind\nb,2\na,kind\n"))
    assert found == []
    assert sum(model.class_counts.values()) == 3


def test_sheets_have_titles_too(tmp_path):
    rows = [["town", "price", "kind"], ["Ulm", 1.5, "a"], ["Bonn", 2.5, "b"], ["Kiel", 3, "a"], ["Jena", 5, "b"]]
    model, found = fitted(workbook(tmp_path / "a.xlsx", [["Sales"], [], ["of 2024", None, "x"], *rows]))
    plain, nothing = fitted(workbook(tmp_path / "b.xlsx", rows))
    assert model.same_counts(plain)
    assert nothing == []
    assert "line 4" in found[0].text


words = st.text("abc ", min_size=1, max_size=8)


@settings(max_examples=40)
@given(st.lists(st.lists(words, min_size=1, max_size=3), max_size=6), st.sampled_from(",;\t|"))
def test_lines_above_the_header_change_nothing(titles, sign):
    rows = [["size", "coat", "the pet"], *([str(i % 5), "xy"[i % 2], "cd"[i % 2]] for i in range(8))]
    table = "".join(f"{sign.join(row)}\n" for row in rows)
    above = "".join(f"{' - '.join(title)}\n" for title in titles)
    with collect_doubts():
        model = tb.fit(file_with((above + table).encode()), label="the pet", column_weights=None)
    assert model.same_counts(tb.fit(file_with(table.encode()), label="the pet", column_weights=None))


@pytest.mark.parametrize("word", ["Total", "Grand total", "SUM:", "Gesamt"])
def test_a_row_of_totals_is_said_and_can_be_left_out(word):
    path = file_with(f"{ROWS}{word};9,0;18;\n".encode())
    _, found = fitted(path)
    assert found[0].kind == "rows"
    assert f"the last row seems to hold totals ('{word}')" in found[0].text
    assert f"comment='{word}' (--comment" in found[0].hint
    assert fitted(path, comment=word)[0].same_counts(fitted(file_with(ROWS.encode()))[0])


def test_sums_are_noticed_without_a_word(tmp_path):
    _, found = fitted(file_with(f"{ROWS};9,0;18;\n".encode()))
    assert "the sums of the columns" in found[0].text
    rows = [["town", "price", "kind"], ["Ulm", 1.5, "a"], ["Bonn", 2.5, "b"], ["Kiel", 3, "a"], ["Total", 7, None]]
    path = workbook(tmp_path / "a.xlsx", rows)
    assert "'Total'" in fitted(path)[1][0].text
    assert fitted(path, comment="Total")[0].skipped == 0


@pytest.mark.parametrize("below", [";;;\n", ";;;\n;;;\n", "Source: bureau;;;\n", ";;;\nas of May;;;\n"])
def test_totals_above_notes_and_empty_rows(below):
    for totals in ("Total;9,0;18;", "Total;9,0;18;a"):
        _, found = fitted(file_with(f"{ROWS}{totals}\n{below}".encode()))
        assert "the last row above empty rows and notes seems to hold totals ('Total')" in found[0].text
    assert "sums of the columns" in fitted(file_with(f"{ROWS};9,0;18;a\n{below}".encode()))[1][0].text
    assert [one.text for one in fitted(file_with(f"{ROWS}{below}".encode()))[1] if "totals" in one.text] == []


def test_totals_of_a_sheet_above_a_note(tmp_path):
    rows = [["town", "price", "kind"], *(["Ulm", i, "ab"[i % 2]] for i in range(60)), ["Total", 1770, "a"]]
    path = workbook(tmp_path / "a.xlsx", [*rows, [], ["Source: bureau"]])
    assert "'Total'" in fitted(path)[1][0].text
    assert fitted(path, comment="Total")[0].class_counts == {"a": 30, "b": 30}


def test_totals_beside_the_label(tmp_path):
    rows = [["kind", "town", "price"], *(["ab"[i % 2], ["Ulm", "Bonn"][i % 3 == 0], i] for i in range(60))]
    path = workbook(tmp_path / "a.xlsx", [*rows, ["a", "Total", 1770], ["Source: bureau"]])
    assert "seems to hold totals ('Total')" in fitted(path)[1][0].text
    rows = [["kind", "sex", "price"], *(["ab"[i % 2], ["men", "women", "total"][i % 3], i] for i in range(60))]
    assert fitted(workbook(tmp_path / "b.xlsx", rows))[1] == []


def test_totals_above_notes_of_a_long_file():
    lines = "".join(f"t{i % 9},{i % 7},{i % 3}\n" for i in range(25_000))
    path = file_with(f"town,x,y\n{lines}Total,75000,25000\n,,\nSource: bureau,,\n".encode())
    assert "'Total'" in fitted(path, label="y")[1][0].text


def test_the_last_line_of_a_long_file_is_looked_at():
    lines = "".join(f"t{i % 9},{i % 7},{i % 3}\n" for i in range(25_000))
    assert "'Total'" in fitted(file_with(f"town,x,y\n{lines}Total,75000,25000\n".encode()), label="y")[1][0].text
    assert fitted(file_with(f"town,x,y\n{lines}".encode()), label="y")[1] == []


@pytest.mark.parametrize("last", ["Total;x;y;good", "Ulm;9;17;a", "Totally;9;18,5;a"])
def test_other_rows_are_no_totals(last):
    assert fitted(file_with(f"{ROWS}{last}\n".encode()))[1] == []
