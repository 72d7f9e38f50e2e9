"""Signs that usually mean a missing value, where they are values: +/- of tests, `-` of systems that report nothing."""

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import DataWarning


def write(path, header, rows):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_results_written_as_plus_and_minus(tmp_path):
    """The lectures' patients: one in a hundred is ill, the test is positive for 90 % of them and 6 % of the others."""
    rng = np.random.default_rng(0)
    ill = rng.random(20_000) < 0.01
    test = np.where(rng.random(20_000) < np.where(ill, 0.9, 0.06), "+", "-")
    path = write(
        tmp_path / "a.csv", "test,ill", [f"{t},{'yes' if i else 'no'}" for t, i in zip(test, ill, strict=True)]
    )
    model = tb.fit(path, label="ill")
    share = float(ill[test == "+"].mean())
    assert model.predict_proba({"test": "+"})[0, 1] == pytest.approx(share, abs=0.005)
    assert 0.12 < share < 0.14
    assert model.doubts == ()
    back = tb.fit(path, label="test")
    assert back.class_counts == {"+": int((test == "+").sum()), "-": int((test == "-").sum())}


@pytest.mark.parametrize("sign", ["-", "--", ".", "?"])
def test_a_sign_that_is_the_usual_state(tmp_path, sign):
    """A log in which the label of usual lines is a sign, and errors have a name."""
    rows = [f"{'ok' if i % 14 else 'bad'},{sign if i % 14 else 'APP' if i % 28 else 'KERNEL'}" for i in range(2000)]
    path = write(tmp_path / "log.csv", "message,alert", rows)
    with pytest.warns(DataWarning, match=r"is a value here.*\nhint: missing="):
        model = tb.fit(path, label="alert")
    assert model.class_counts == {sign: 1857, "APP": 71, "KERNEL": 72}
    model.save(tmp_path / "a.tally")
    loaded = tb.load(tmp_path / "a.tally")
    assert tb.evaluate(loaded, path).n_rows == 2000
    assert loaded.copy().learn(write(tmp_path / "new.csv", "message,alert", [f"ok,{sign}"])).rows == 1
    with pytest.warns(DataWarning, match="1,857 of 2,000 rows have no label"):
        assert tb.fit(tb.read(path, missing=[sign]), label="alert").class_counts == {"APP": 71, "KERNEL": 72}


def test_signs_that_stay_missing(tmp_path):
    columns = {
        "number": [str(i % 7) if i % 3 else "-" for i in range(90)],
        "rare": ["a" if i % 2 else "b" if i % 30 else "?" for i in range(90)],  # less frequent than the words
        "many": [f"w{i % 12}" if i % 2 else "?" for i in range(90)],
        "flag": ["true" if i % 3 else "-" for i in range(90)],
    }
    rows = [",".join(cells) + f",{'pq'[i % 2]}" for i, cells in enumerate(zip(*columns.values(), strict=True))]
    model = tb.fit(write(tmp_path / "a.csv", ",".join(columns) + ",y", rows), label="y", column_weights=None)
    head = tb.read(tmp_path / "a.csv").head()
    assert model.doubts == ()
    assert model.schema.missing is None
    for name, cells in columns.items():
        assert head.columns[name].null_count == sum(cell in "-?" for cell in cells)


def test_frequent_words_that_stay_missing_are_on_the_list(tmp_path):
    rows = [f"{['-', 'a', 'a'][i % 3]},{['None', *'bcdefg'][i % 7]},{'pq'[i % 2]}" for i in range(90)]
    with pytest.warns(DataWarning, match="please check:"):
        model = tb.fit(write(tmp_path / "a.csv", "u,v,y", rows), label="y")
    assert [one.text for one in model.doubts] == [
        "30 of 90 cells are - and were read as missing",
        "13 of 90 cells are None and were read as missing",
    ]


@pytest.mark.parametrize("word", ["None", "none"])
def test_none_beside_a_few_words_is_a_value(tmp_path, word):
    """Alerts of which most are none, and a telephone that many do not have."""
    cells = [f"{[word, word, word, 'mild', 'severe'][i % 5]},{[word, 'yes'][i % 3 > 0]}" for i in range(200)]
    path = write(tmp_path / "a.csv", "alert,telephone", cells)
    with pytest.warns(DataWarning, match="please check:"):
        model = tb.fit(path, label="alert", column_weights=None)
    assert model.class_counts == {word: 120, "mild": 40, "severe": 40}
    assert model.doubts[0].text == f"{word!r} (120 cells) is a value here, not a missing value"
    assert model.schema.columns["telephone"].reason == "text, 2 distinct values"
    with pytest.warns(DataWarning, match="120 of 200 rows have no label"):
        missing = tb.fit(tb.read(path, missing=[word]), label="alert", column_weights=None)
    assert missing.class_counts == {"mild": 40, "severe": 40}
    assert missing.schema.missing.words == (word,)


def test_none_of_a_program_is_missing(tmp_path):
    """Where numbers have it too, a program has written it."""
    cells = [f"{['None', 'yes', 'no'][i % 3]},{['None', i % 17][i % 4 > 0]},{'pq'[i % 2]}" for i in range(200)]
    with pytest.warns(DataWarning, match="'answer': 67 of 200 cells are None and were read as missing"):
        tb.fit(write(tmp_path / "a.csv", "answer,age,y", cells), label="y", column_weights=None)


def test_a_label_of_plus_and_minus_with_unknown_ones(tmp_path):
    rows = [f"{i % 5},{'+-?'[i % 3]}" for i in range(60)]
    with pytest.warns(DataWarning, match=r"20 of 60 rows have no label .*'\?' \(20\)"):
        model = tb.fit(write(tmp_path / "a.csv", "x,y", rows), label="y")
    assert model.class_counts == {"+": 20, "-": 20}


def test_later_files_are_read_like_the_first(tmp_path):
    write(tmp_path / "1.csv", "t,y", [f"{'+-'[i % 2]},{'pq'[i % 2]}" for i in range(40)])
    write(tmp_path / "2.csv", "t,y", ["-,q"] * 10)
    model = tb.fit(str(tmp_path / "*.csv"), label="y", column_weights=None)
    assert model.same_counts(tb.fit({"t": ["+", "-"] * 20 + ["-"] * 10, "y": ["p", "q"] * 20 + ["q"] * 10}, label="y"))


def test_a_frequent_word_that_hardly_ever_is_a_value_is_one_line(tmp_path):
    rows = [
        f"{['NA', 'Ulm', 'Bonn'][i % 3]},{['NA', 'a', 'b', 'c'][i % 4]},NA,{i % 7},{'pq'[i % 2]}" for i in range(90)
    ]
    with pytest.warns(DataWarning, match=r"^NA fills a fifth of the cells or more, and was read as missing: u, v\n"):
        tb.fit(write(tmp_path / "a.csv", "u,v,empty,x,y", rows), label="y")
