"""What a person would want to know about a file, and was not told: each from a real file."""

import datetime
import json
import random
import warnings

import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.errors import DataError, DataWarning, ParameterError


def write(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def doubts_of(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [doubt.text for doubt in tb.fit(path, label="y", column_weights=None, **options).doubts]


@pytest.mark.parametrize("word", ["NONE", "-", "None"])
def test_none_and_signs_are_said_from_a_fiftieth_of_the_cells_on(tmp_path, word):
    drugs = ["aspirin", "insulin", "statin"]
    lines = [f"{word if i % 20 == 0 else drugs[i % 3]},{'ab'[i % 2]}" for i in range(200)]
    assert doubts_of(write(tmp_path / "a.csv", ["drug,y", *lines])) == [
        f"10 of 200 cells are {word} and were read as missing"
    ]


def test_nan_is_no_value_and_not_said(tmp_path):
    lines = [f"{'NaN' if i % 4 == 0 else ['aspirin', 'insulin'][i % 2]},{'ab'[i % 3 == 0]}" for i in range(200)]
    assert doubts_of(write(tmp_path / "a.csv", ["drug,y", *lines])) == []


def test_labels_that_are_one_number_or_look_alike_are_said(tmp_path):
    labels = ["1", "1.0", "01", "2", "no", "no\u200b"]
    lines = [f"{i % 7},{labels[i % 6]}" for i in range(120)]
    (text,) = doubts_of(write(tmp_path / "a.csv", ["x,y", *lines]))
    assert text == (
        "labels that differ only in spelling are different classes: '01' and '1' and '1.0'; 'no' and 'no\\u200b'"
    )


def test_labels_that_usually_mean_none_are_said_where_texts_are_values(tmp_path):
    rows = [{"x": i % 5, "y": ["a", "b", "", "n/a"][i % 4]} for i in range(80)]
    path = write(tmp_path / "a.jsonl", map(json.dumps, rows))
    assert doubts_of(path) == ["labels that usually mean a missing value are classes: '', 'n/a'"]


def test_a_zero_too_many_is_no_code_and_few_codes_are_said(tmp_path):
    scores = [f"{7 + i % 20 / 10:.1f},{'ab'[i % 2]}" for i in range(99)]
    path = write(tmp_path / "a.csv", ["x,y", *scores, "08.9,a"])
    assert doubts_of(path) == []
    assert str(tb.fit(path, label="y", column_weights=None).schema.families["x"]) == "histogram"
    few = write(tmp_path / "b.csv", ["x,y", *(f"{10 + i % 7},{'ab'[i % 2]}" for i in range(99)), "089,a"])
    assert doubts_of(few) == ["1 cell begins with a zero, '089': all were taken for codes"]
    assert doubts_of(few, families={"x": "histogram"}) == []
    many = write(tmp_path / "c.csv", ["x,y", *(f"{i % 7:03},{'ab'[i % 2]}" for i in range(99))])
    assert doubts_of(many) == []


def test_totals_with_a_label_that_was_filled_in_are_said(tmp_path):
    lines = [f"{town},{10 + i},{'pq'[i % 2]}" for i, town in enumerate(["Ulm", "Bonn", "Kiel", "Jena"])]
    (text, *_) = doubts_of(write(tmp_path / "a.csv", ["town,n,y", *lines, "Gesamt,46,p"]))
    assert "the last row seems to hold totals ('Gesamt')" in text


def test_values_outside_an_order_come_with_a_hint_that_works(tmp_path):
    sizes = ["small", "medium", "large"]
    rows = {"x": [*(sizes[i % 3] for i in range(999)), "Response"], "y": [0, 1] * 500}
    with pytest.warns(DataWarning, match=r"tell nothing: \['Response'\].*\n.*\"categorical\"") as found:
        tb.fit(rows, label="y", column_weights=None)
    assert len(found) == 1
    assert tb.fit(rows, label="y", column_weights=None, families={"x": "categorical"}).doubts == ()


def test_a_cell_of_another_shape_in_json_says_what_helps(tmp_path):
    cells = ["p", *([{"p": 1}, {"q": 2}] * 50)[1:]]
    path = write(tmp_path / "a.jsonl", (json.dumps({"x": x, "y": i % 2}) for i, x in enumerate(cells)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DataError, match=r"(?s)line 1, column 'x': expected an object.*hint: skip_bad=True"):
            tb.fit(path, label="y")
        assert tb.fit(tb.read(path, skip_bad=True), label="y").class_counts == {0: 50, 1: 50}
        assert tb.fit(path, label="y", ignore=["x"]).class_counts == {0: 50, 1: 50}


def test_numbers_that_are_dates_are_said(tmp_path):
    lines = [f"{20210101 + 100 * (i % 12) + i % 28},{i % 97},{'ab'[i % 3 == 0]}" for i in range(100)]
    path = write(tmp_path / "a.csv", ["d,n,y", *lines])
    assert doubts_of(path) == ["numbers of eight digits that are dates such as 20241231 were read as numbers"]
    assert doubts_of(path, families={"d": "date"}) == []
    assert "d.weekday" in tb.fit(path, label="y", families={"d": "date"}).schema.columns
    others = write(tmp_path / "b.csv", ["d,y", *(f"{20211301 + i},{'ab'[i % 3 == 0]}" for i in range(100))])
    assert not any("dates" in text for text in doubts_of(others))


def test_different_numbers_among_text_are_said_and_numbered_categories_are_not(tmp_path):
    words = ["north", "south", "east"]
    lines = [f"{i * 1.5 if i % 5 == 0 else words[i % 3]},{i % 5 or 'other'},{'ab'[i % 7 < 3]}" for i in range(300)]
    (text,) = doubts_of(write(tmp_path / "a.csv", ["x,kind,y", *lines]))
    assert text.startswith("60 of 300 cells are numbers, too few to take it for numbers: ")


def test_a_header_repeated_among_the_rows_is_said_and_a_class_of_that_name_is_not(tmp_path):
    rows = [f"{['ulm', 'bonn', 'kiel'][i % 3]},{'ab'[i % 7 < 3]}" for i in range(60)]
    path = write(tmp_path / "a.csv", ["town,y", *rows, "town,y", *rows])
    assert doubts_of(path) == ["1 row with the name of the column as label: a header is repeated among the rows"]
    spam = [f"{i % 5},{'y' if i % 7 < 3 else 'no'}" for i in range(60)]
    assert doubts_of(write(tmp_path / "b.csv", ["x,y", *spam])) == []


def test_a_long_cell_among_numbers_is_said_once(tmp_path):
    address = "https://example.org/photographs/of/players/158023.png"
    path = write(tmp_path / "a.csv", ["age,y", *(f"{20 + i % 9},{'ab'[i % 2]}" for i in range(99)), f"{address},a"])
    (text,) = doubts_of(path)
    assert text.startswith("1 cell is not a number and was treated as missing: 'https://example.org")


def test_the_hint_about_a_repeated_header_leaves_it_out(tmp_path):
    header = "age,the label"
    rows = [f"{i % 50},{'ab'[i % 2]}" for i in range(200)]
    path = write(tmp_path / "a.csv", [header, *rows, header, *rows])
    with pytest.warns(DataWarning):
        model = tb.fit(path, label="the label")
    (doubt,) = (one for one in model.doubts if "header" in one.text)
    assert doubt.hint.startswith("""missing=["the label"] (--missing 'the label') leaves them out; from a table""")
    with pytest.warns(DataWarning):
        model = tb.fit(tb.read(path, missing=["the label"]), label="the label")
    assert list(model.classes) == ["a", "b"]


@pytest.mark.parametrize("first", ["5.1,3.5,1.4,p", "39,77516,13,p", "-3,a,b,p", "1,0,0,p"])
def test_a_first_line_of_data_is_said(tmp_path, first):
    rows = [f"{i % 7},{i % 5}.5,{i % 3},{'pq'[i % 2]}" for i in range(60)]
    path = write(tmp_path / "a.csv", [first, *rows])
    with pytest.warns(DataWarning, match=r"names of columns that are numbers, such as '.*(.|\n)*--no-header"):
        tb.fit(path, label="p")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = tb.fit(tb.read(path, header=False), label="x3", ignore=["x0", "x1", "x2"])
    assert sum(model.class_counts.values()) == 61


@pytest.mark.parametrize("first", ["town,2022,2023,y", "0,1,2,y", "350.5,351.5,352.5,y", "2,x,y,z", "a,b,c,0"])
def test_names_that_are_numbers_in_order_are_names(tmp_path, first):
    rows = [f"{i % 7},{i % 5}.5,{i % 3},{'pq'[i % 2]}" for i in range(60)]
    path = write(tmp_path / "a.csv", [first, *rows])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb.fit(path, label=first.split(",")[-1])


def test_a_class_of_a_single_row_among_large_ones_is_said(tmp_path):
    rows = [f"{i % 7},{'pq'[i % 2]}" for i in range(60)]
    (text,) = doubts_of(write(tmp_path / "a.csv", ["x,y", *rows, "3,7"]))
    assert text == "the class '7' has a single row, every other at least 30"
    assert doubts_of(write(tmp_path / "b.csv", ["x,y", *rows, "3,r", "3,r"])) == []
    assert doubts_of(write(tmp_path / "c.csv", ["x,y", *rows[:30], "3,r"])) == []


def test_what_is_typed_against_missing_words_reads_them_as_values(tmp_path):
    """Cartoons whose gender is mostly NA, and films whose rating often is."""
    lines = [f"{i % 7},{['NA', 'PG', 'R'][i % 3]},{'m' if i % 9 else 'f'}" for i in range(180)]
    path = write(tmp_path / "films.csv", ["x,rating,y", *(line.replace(",m", ",NA") for line in lines)])
    with pytest.warns(DataWarning, match=r"words that were read as a missing label: 'NA' \(160\)"):
        hints = [doubt.hint for doubt in tb.fit(path, label="y", column_weights=None).doubts if "NA" in doubt.text]
    assert len(hints) == 2
    assert all(hint.startswith('missing_only=[""] (--missing-only "") reads all such words') for hint in hints)
    model = tb.fit(tb.read(path, missing_only=[""]), label="y", column_weights=None)
    assert model.class_counts == {"NA": 160, "f": 20}
    assert "NA" in str(model.describe("rating"))
    assert model.doubts == ()


@pytest.mark.parametrize("verb", [tb.fit, tb.tune, tb.cross_validate, tb.prequential])
@pytest.mark.parametrize("options", [{"missing_only": ["NA"]}, {"skip_lines": 3}, {"decimal": ","}])
def test_options_of_reading_given_to_a_verb_name_the_function_that_takes_them(tmp_path, verb, options):
    path = write(tmp_path / "a.csv", ["x,y", *(f"{i % 7},{'ab'[i % 2]}" for i in range(60))])
    (name,) = options
    with pytest.raises(ParameterError, match=rf"hint: it is an option of reading: give tb.read\(path, {name}=...\)"):
        verb(path, label="y", **options)


@pytest.mark.parametrize("kind", ["frame", "parquet", "jsonl"])
def test_the_hint_about_a_decimal_sign_works_for_data_with_types(tmp_path, kind):
    data = pd.DataFrame({"p": ["5,201", "865", "4,100", "912"] * 10, "y": ["a", "b"] * 19 + ["b", "a"]})
    given = data if kind == "frame" else str(tmp_path / f"a.{kind}")
    if kind == "parquet":
        data.to_parquet(given)
    elif kind == "jsonl":
        data.to_json(given, orient="records", lines=True)
    with pytest.warns(DataWarning, match="'5,201' was read as 5201") as found:
        tb.fit(given, label="y", column_weights=None)
    assert 'hint: decimal="," (--decimal ,) reads 5.201' in str(found[0].message)
    model = tb.fit(tb.read(given, decimal=","), label="y", column_weights=None)
    assert model.doubts == ()
    assert model.predict(data[:4]).tolist() == model.predict([{"p": p} for p in (5.201, 865, 4.1, 912)]).tolist()
    assert model.schema.columns["p"].reader.format.decimal == ","


def test_words_for_missing_values_are_refused_for_a_table_in_memory_with_a_way_out():
    with pytest.raises(ParameterError, match=r"for missing words, give None"):
        tb.read({"x": ["NA"]}, missing=["NA"])


def test_the_hint_about_a_factor_can_be_typed_in_a_shell(tmp_path):
    path = write(tmp_path / "a.csv", ["x,y", *(f"{10 + i % 17},{'ab'[i % 2]}" for i in range(200)), "12 k,a"])
    with pytest.warns(DataWarning, match="only 1 of 201 cells has a factor: '12 k' was read as 12000"):
        (doubt,) = tb.fit(path, label="y", column_weights=None).doubts
    assert doubt.hint.startswith("missing=['12 k'] (--missing '12 k') treats it as missing")
    assert tb.fit(tb.read(path, missing=["12 k"]), label="y", column_weights=None).doubts == ()


def test_a_sign_that_is_a_label_of_the_model_is_not_among_the_words_that_removed_labels(tmp_path):
    usual = [f"{i % 7},{'-' if i % 3 else 'warn'}" for i in range(90)]
    with pytest.warns(DataWarning, match="'-' .* is a value here"):
        model = tb.fit(write(tmp_path / "log.csv", ["x,y", *usual]), label="y", column_weights=None)
    path = write(tmp_path / "new.csv", ["x,y", "1,n/a", "2,-", "3,-"])
    expected = r"1 of 3 rows have no label and were left out; words that were read as a missing label: 'n/a' \(1\)"
    with pytest.warns(DataWarning, match=f"{expected}\n"):
        assert tb.evaluate(model, path).n_rows == 2
    with pytest.warns(DataWarning, match=f"{expected}\n"):
        tb.report(model, path)


def test_codes_that_repeat_and_are_excluded_are_said(tmp_path):
    draw = random.Random(0).randrange
    rows = [f"C{draw(1500)}.0,{10_000 + draw(1500)},o{i},{draw(1500)},{'ab'[draw(2)]}" for i in range(1000)]
    path = write(tmp_path / "a.csv", ["icd_code,zip_code,order_code,user_id,y", *rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tb.fit(path, label="y", column_weights=None)
    assert [(one.text, one.hint) for one in model.doubts] == [
        (
            "texts that hardly repeat, excluded as identifiers: icd_code",
            'families={"icd_code": "text"} (--as icd_code=text) uses it',
        ),
        (
            "numbers that hardly repeat, excluded as identifiers: zip_code",
            'families={"zip_code": "histogram"} (--as zip_code=histogram) uses it',
        ),
    ]


def test_single_words_that_repeat_after_the_first_thousand_are_said(tmp_path):
    draw = random.Random(0).randrange
    rows, later = ([f"{i:05},{word}{i},{'ab'[draw(2)]}" for i in range(n)] for word, n in (("w", 1200), ("v", 500)))
    (text,) = doubts_of(write(tmp_path / "a.csv", ["zip,word,y", *rows, *later]))
    assert text == "texts that hardly repeat, excluded as identifiers: zip"


@pytest.mark.parametrize("form", ["%a %b %d %H:%M:%S %Y", "%d/%b/%Y:%H:%M:%S +0000", "%Y%m%dT%H%M%S"])
def test_dates_of_logs_are_dates(tmp_path, form):
    first = datetime.datetime(2005, 12, 4, 4, 47, 44)
    rows = [f"{first + datetime.timedelta(minutes=97 * i):{form}},{'ab'[i % 2]}" for i in range(300)]
    path = write(tmp_path / "a.csv", ["at,y", *rows])
    model = tb.fit(path, label="y", column_weights=None)
    assert model.schema.family_name("at") == "date"
    assert model.doubts == ()


@pytest.fixture
def lacking(tmp_path):
    """A model, and a file that lacks a column of it and has another in other letters."""
    rows = {"size": [i % 7 for i in range(60)], "coat": ["s", "l"] * 30, "y": ["u", "v", "v"] * 20}
    model = tb.fit(rows, label="y", column_weights=None)
    lines = [f"{i % 7},{'uv'[i % 2]}" for i in range(40)]
    return model, write(tmp_path / "a.csv", ["Size,y", *lines])


def test_columns_of_the_model_that_the_data_lacks_are_said(lacking):
    model, path = lacking
    text = "columns of the model that are not in the data, treated as missing: coat, size\nhint: 'size': did you mean"
    for work in (tb.evaluate, tb.report, lambda model, path: model.copy().learn(path)):
        with pytest.warns(DataWarning) as said:
            work(model, path)
        assert [str(one.message).startswith(text) for one in said].count(True) == 1
    frame = pd.read_csv(path)
    with pytest.warns(DataWarning, match="are not in the data, treated as missing: coat, size"):
        tb.evaluate(model, frame)


def test_rows_may_lack_columns_without_a_word(lacking):
    model, _ = lacking
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_one({"size": 3})
        model.learn([{"size": 3, "y": "u"}])
        model.learn({"coat": ["s"] * 30, "y": ["u"] * 30})
