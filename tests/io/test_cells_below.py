"""Cells below the first rows that are of another type than these: the column is decided once more, by all cells."""

import contextlib
import warnings

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from pets import file_with
from tallybayes.doubts import collect_doubts
from tallybayes.errors import DataError

FIRST = 40


@pytest.fixture(autouse=True)
def few_first_rows(monkeypatch):
    monkeypatch.setattr("tallybayes.io.files.HEAD", FIRST)


def path_of(cells):
    rows = [f"{i % 5};{cell};{'uv'[i % 2]}\n" for i, cell in enumerate(cells)]
    return file_with("".join(["a;p;y\n", *rows]).encode())


def fitted(path):
    with warnings.catch_warnings(record=True) as warned, collect_doubts() as found:
        warnings.simplefilter("always")
        model = tb.fit(path, label="y", column_weights=None)
    return model, [*(one.text for one in found if one.column == "p"), *(str(one.message) for one in warned)]


def n_rows(model):
    return sum(model.class_counts.values())


STYLES = {
    "integers": lambda i: str(i % 9),
    "points": lambda i: f"{i % 9}.25",
    "commas": lambda i: f"{i % 9},25",
    "thousands": lambda i: f"{1 + i % 9},{200 + i % 7}",
    "dollars": lambda i: f"${i % 9}.50",
    "truths": lambda i: ("true", "false")[i % 2],
    "words": lambda i: ("red", "green")[i % 2],
}


@pytest.mark.parametrize(
    ("above", "below"), [("integers", "commas"), ("integers", "dollars"), ("points", "dollars"), ("truths", "words")]
)
@pytest.mark.parametrize("n_below", [1, 30])
def test_the_order_of_rows_does_not_matter(above, below, n_below):
    pairs = [(i, STYLES[above](i)) for i in range(100)]
    odd = [(i, STYLES[below](i)) for i in range(100, 100 + n_below)]
    rows = {
        order: [f"{i % 5};{cell};{'uv'[i % 2]}\n" for i, cell in cells]
        for order, cells in {"late": [*pairs, *odd], "early": [*odd, *pairs]}.items()
    }
    late, early = (file_with("".join(["a;p;y\n", *rows[order]]).encode()) for order in ("late", "early"))
    model, found = fitted(late)
    assert any("all cells have decided" in text and "line 102" in text for text in found)
    other, _ = fitted(early)
    assert model.same_counts(other)
    assert model.schema.columns["p"].family == other.schema.columns["p"].family


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(sorted({*STYLES} - {"words"})), min_size=2, max_size=4), st.integers(1, 60))
def test_any_mixture_is_fitted_or_refused_in_words(styles, n):
    cells = [STYLES[style](i) for style in styles for i in range(n)]
    with contextlib.suppress(DataError):
        assert n_rows(fitted(path_of(cells))[0]) == len(cells)


def test_numbers_in_several_ways_become_text_with_a_doubt():
    path = path_of([STYLES["points"](i) for i in range(100)] + [STYLES["commas"](i) for i in range(100)])
    model, found = fitted(path)
    assert model.schema.family_name("p") == "categorical"
    assert any("written in different ways" in text for text in found)


def test_models_that_are_learned_already_do_not_change_their_mind():
    cells = [STYLES["integers"](i) for i in range(100)]
    model, _ = fitted(path_of(cells))
    odd = path_of([*cells, "1,5"])
    for verb in (model.learn, model.predict):
        with pytest.raises(DataError, match=r"line 102, column 'p': expected a number written like 1234.5, got '1,5'"):
            verb(odd)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        skipping = tb.read(odd, skip_bad=True)
        assert n_rows(tb.fit(skipping, label="y")) == 100
    assert skipping.bad.count == 1


def test_a_later_file_may_be_written_otherwise():
    plain, commas, dollars = (
        path_of([STYLES[style](i) for i in range(100)]) for style in ("integers", "commas", "dollars")
    )
    assert fitted([plain, commas])[0].same_counts(fitted([commas, plain])[0])
    model, found = fitted([commas, dollars])
    assert "all cells have decided" in found[0]
    assert n_rows(model) == 200
    assert model.schema.family_name("p") == "categorical"


def test_words_among_numbers_are_counted_as_before():
    model, found = fitted(path_of([*(str(i % 9) for i in range(100)), "lost"]))
    assert n_rows(model) == 101
    assert not any("decided" in text for text in found)


@pytest.mark.parametrize("work", [tb.cross_validate, tb.tune, tb.prequential])
def test_tuning_and_evaluation_begin_again_too(work, tmp_path):
    lines = [f"{i % 7}{',5' if i > 24_990 else ''};{'ab'[i % 2]}" for i in range(25_000)]
    (tmp_path / "a.csv").write_text("\n".join(["size;y", *lines]) + "\n")
    with pytest.warns(tb.DataWarning, match="'size': all cells have decided how it is read") as said:
        work(tmp_path / "a.csv", label="y")
    assert len(said) == 1
    assert said[0].filename == __file__


@pytest.mark.parametrize("value", ["2", "-1", "7"])
def test_other_numbers_below_0_and_1_make_numbers_of_the_column(value):
    cells = [*("01"[i % 2] for i in range(100)), *[value] * 30]
    model, found = fitted(path_of(cells))
    assert any(f"not the first {FIRST} alone, because of {float(value)} in" in text for text in found)
    assert model.same_counts(fitted(path_of([*cells[100:], *cells[:100]]))[0])
    assert model.schema.family_name("p") == "histogram"


def test_0_and_1_among_other_numbers_below_say_nothing_if_the_family_is_given():
    path = path_of([*("01"[i % 2] for i in range(100)), "2"])
    assert tb.fit(path, label="y", column_weights=None, families={"p": "histogram"}).doubts == ()
    with pytest.raises(DataError, match=r"line 102, column 'p': expected a boolean"):
        tb.fit(path, label="y", families={"p": "bernoulli"})


MONTH_FIRST = [f"{1 + i % 12:02}/{1 + i % 28:02}/2021" for i in range(60)]
ISO = [f"2021-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(100)]


def test_dates_below_those_that_begin_with_the_year_decide_about_day_and_month():
    model, found = fitted(path_of([*ISO, *MONTH_FIRST]))
    assert model.schema.family_name("p") == "date:month_first"
    assert "all cells have decided how it is read" in found[0]
    assert "line 114" in found[0]  # the first that is not like 02/02/2021
    assert not any("no date" in text for text in found)
    assert model.same_counts(fitted(path_of([*MONTH_FIRST, *ISO]))[0])


OPEN = [f"{1 + i % 12:02}/{1 + i // 12 % 12:02}/2021" for i in range(100)]
DAY_FIRST = [f"{1 + i % 28:02}/{1 + i % 12:02}/2021" for i in range(60)]


def test_dates_below_those_that_can_be_read_both_ways_decide_for_all_rows():
    model, found = fitted(path_of([*OPEN, *DAY_FIRST]))
    assert model.schema.family_name("p") == "date:day_first"
    assert model.same_counts(fitted(path_of([*DAY_FIRST, *OPEN]))[0])
    (text,) = found
    assert "all cells have decided how it is read, not the first 40 alone, because of '13/01/2021'" in text


def test_dates_below_that_agree_with_the_guess_settle_the_doubt():
    model, found = fitted(path_of([*OPEN, *MONTH_FIRST]))
    assert found == []
    assert model.doubts == ()
    assert model.schema.family_name("p") == "date:month_first"
    assert fitted(path_of(OPEN))[1] == ["'02/01/2021' was read with the month first"]


def test_two_columns_that_the_first_rows_were_wrong_about_are_both_said():
    days = [*ISO, *DAY_FIRST]
    numbers = [*("123"[i % 3] for i in range(120)), *["1,5"] * 40]
    rows = [f"{number};{day};{'uv'[i % 2]}\n" for i, (number, day) in enumerate(zip(numbers, days, strict=True))]
    with collect_doubts() as found:
        model = tb.fit(file_with("".join(["v;d;y\n", *rows]).encode()), label="y", column_weights=None)
    assert sorted(one.column for one in found if "all cells have decided" in one.text) == ["d", "v"]
    assert model.schema.family_name("d") == "date:day_first"


def test_dates_below_of_a_stream_are_doubted():
    parts = [{"p": pa.array(cells), "y": ["u", "v"] * (len(cells) // 2)} for cells in (ISO, MONTH_FIRST)]
    with pytest.warns(tb.DataWarning, match="were read with the day first: those of the model do not tell"):
        tb.fit(iter(parts), label="y", column_weights=None)


def test_values_outside_an_order_below_are_said_once():
    sizes = ["low", "medium", "high"]
    model, found = fitted(path_of([*(sizes[i % 3] for i in range(100)), *["critical"] * 50]))
    assert model.schema.family_name("p") == "ordinal:low<medium<high"
    assert found == ["values outside the order tell nothing: ['critical'] in 50 rows"]


@pytest.mark.parametrize(("word", "said"), [("-", True), ("None", True), ("", False), ("NaN", False)])
def test_words_for_missing_values_that_come_late_are_said(word, said):
    _, found = fitted(path_of([*(("ok", "bad")[i % 2] for i in range(100)), *[word] * 50]))
    assert found == ([f"50 of 150 cells are {word} and were read as missing"] if said else [])


def test_words_for_missing_values_that_are_as_frequent_above_are_said_once():
    cells = ["ok", "bad", "-", "ok", "bad"] * 40
    assert fitted(path_of(cells))[1] == ["8 of 40 cells are - and were read as missing"]


def test_empty_cells_below_are_not_read_to_the_end(monkeypatch):
    monkeypatch.setattr("tallybayes.io.files._EMPTY", 20)
    path = path_of([*(("ok", "bad")[i % 2] for i in range(100)), *[""] * 50])
    assert fitted(path)[1] == []


def test_a_word_for_a_missing_label_that_comes_late_is_named():
    rows = [f"{i % 7};{'uv'[i % 2] if i < 100 else '-'}\n" for i in range(160)]
    with pytest.warns(tb.DataWarning, match=r"60 of 160 rows have no label.*missing label: '-' \(60\)"):
        tb.fit(file_with("".join(["a;y\n", *rows]).encode()), label="y", column_weights=None)


def test_frequent_words_below_become_a_column_and_rare_ones_are_said():
    numbers = [str(i * 37 % 30) for i in range(100)]
    path = path_of([*numbers, *["unlimited"] * 40])
    model, found = fitted(path)
    assert "p.word" in model.schema.families
    assert f"not the first {FIRST} alone, because of 'unlimited'" in found[0]
    model, found = fitted(path_of([*numbers, *["unlimited"] * 3]))
    assert "p.word" not in model.schema.columns
    assert found[0].startswith("3 cells are not numbers and were treated as missing: unlimited (3)")


@pytest.mark.parametrize("odd", ["1.0.19", "03/03/2021"])
def test_texts_below_dates_that_leave_nothing_open_decide_nothing(odd):
    model, found = fitted(path_of([*ISO, odd, *ISO]))
    assert model.schema.family_name("p") == "date"
    assert not any("all cells" in text for text in found)
    assert n_rows(fitted(path_of([*ISO[:20], odd, *ISO]))[0]) == 121


def test_a_schema_that_leaves_the_order_open_stays_with_a_doubt():
    schema = fitted(path_of(ISO))[0].schema
    path = path_of([*MONTH_FIRST, *ISO, *MONTH_FIRST])
    with pytest.warns(tb.DataWarning, match="were read with the day first: those of the model do not tell"):
        model = tb.fit(path, label="y", schema=schema, column_weights=None)
    assert model.schema.family_name("p") == "date"
