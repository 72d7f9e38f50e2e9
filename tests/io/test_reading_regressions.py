"""Cases in which data was once misread, or ended in an exception of another library."""

import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.errors import DataError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")


def write(path, header, rows):
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def test_columns_that_have_values_only_below_the_first_rows_name_no_groups(tmp_path):
    rows = [f"{i % 3},{i // 4 if i >= 20_500 else ''},{'uv'[i // 4 % 2]}" for i in range(23_000)]
    assert tb.fit(write(tmp_path / "a.csv", "a,k,l", rows), label="l").class_counts == {"u": 11_500, "v": 11_500}
    first = write(tmp_path / "1.csv", "a,l", [f"{i % 3},{'uv'[i // 4 % 2]}" for i in range(1500)])
    other = write(
        tmp_path / "2.csv", "a,l,host", [f"{i % 3},{'uv'[i // 4 % 2]},{i // 4 * 7 % 150}" for i in range(600)]
    )
    assert tb.fit([first, other], label="l").doubts == ()


def test_an_identifier_whose_first_cells_are_empty(tmp_path):
    rows = [f"{'' if i < 1500 else 100_000 + i * 37},{i % 7},{'uv'[i % 2]}" for i in range(6000)]
    model = tb.fit(write(tmp_path / "a.csv", "k,a,l", rows), label="l")
    assert [one.kind for one in model.doubts] == ["excluded column"]


def test_words_for_missing_values_are_those_of_the_model_that_reads(tmp_path):
    rows = [f"{'abc-'[i % 7 % 4] if i % 50 else '-'},{'uv'[i % 2]}" for i in range(400)]
    model = tb.fit(write(tmp_path / "a.csv", "x,l", rows), label="l")
    path = write(tmp_path / "b.csv", "x,y,l", [f"{'+-'[i % 2]},{'+-'[i // 2 % 2]},{'uv'[i % 2]}" for i in range(100)])
    source = tb.read(path)
    first = tb.fit(source, label="l")
    assert model.predict_proba(source).tolist() == model.predict_proba(path).tolist()
    assert tb.fit(source, label="y").same_counts(tb.fit(path, label="y"))
    assert tb.fit(source, label="l") == first
    given = tb.fit(tb.read(path, missing=["lost"]), label="l")
    assert given.same_counts(first)
    assert given.predict_proba(path).tolist() == first.predict_proba(path).tolist()


def test_two_columns_that_are_written_otherwise_below_the_first_rows(tmp_path):
    def row(i):
        first = f"${i % 9}.50" if i >= 20_001 and i % 2 == 0 else str(i % 9)
        second = ("red", "green")[i % 2] if i in (20_101, 20_103) else ("true", "false")[i // 2 % 2]
        return f"{first};{second};{'uv'[i % 2]}"

    model = tb.fit(write(tmp_path / "a.csv", "a;b;l", map(row, range(21_000))), label="l", column_weights=None)
    assert {name: family.name for name, family in model.schema.families.items()} == {
        "a": "histogram",
        "b": "categorical",
    }


def test_an_array_of_groups_has_a_value_for_every_row():
    data = pd.DataFrame({"a": [1, 2] * 30, "l": ["u", "v"] * 30})
    model = tb.fit(data, label="l")
    for work in (tb.fit, tb.cross_validate):
        with pytest.raises(DataError, match="60 values of the group, one per row, got 59"):
            work(data, label="l", group=["x"] * 59)
    with pytest.raises(DataError, match="60 values of the group"):
        tb.evaluate(model, data, group=["x"] * 100)
    with pytest.raises(ParameterError, match="by: the name of a column"):
        tb.evaluate(model, data, by=["x"] * 60)


ROWS = [{"p": {"x": "ab"[i % 2], "y": "cd"[i // 2 % 2]}, "q": i % 3, "l": "uv"[i % 2]} for i in range(60)]
ROW = {"p": {"x": "a", "y": "c"}, "q": 1}


@pytest.mark.parametrize("beside", [{"p": "odd", "q": 1}, {"p": float("nan")}, {"p.x": "b", "q": 1}, {"p": None}])
def test_a_row_with_objects_scores_alone_as_beside_others(beside):
    model = tb.fit(ROWS, label="l")
    alone = list(model.predict_proba_one(ROW).values())
    for rows in ([beside, ROW], [ROW, beside], [beside, beside, beside, ROW]):
        assert model.predict_proba(rows)[rows.index(ROW)].tolist() == alone
    for rows in ([*ROWS, beside | {"l": "u"}], [beside | {"l": "u"}, *ROWS]):
        assert [*tb.fit(rows, label="l").schema.families] == ["p.x", "p.y", "q"]


def test_a_label_within_an_object_is_learned_and_evaluated():
    rows = [{"p": {"l": i % 2 - 1, "x": i % 3 + 0.5}} for i in range(40)]
    model = tb.fit(rows, label="p.l")
    assert model.learn(rows[:1]).rows == 1
    assert tb.evaluate(model, rows[:3]).n_rows == 3


def test_keys_of_objects_that_are_numbers():
    model = tb.fit([{"p": {1: i % 2 - 0.5, 2: 0.5}, "l": "uv"[i % 2]} for i in range(60)], label="l")
    row = {"p": {1: -0.5, 2: 0.5}}
    assert model.predict_proba([row, row])[0].tolist() == list(model.predict_proba_one(row).values())
    with pytest.raises(DataError, match="keys of an object that differ as text"):
        tb.fit([{"p": {1: "a", "1": "b"}, "l": "u"}], label="l")


def test_parts_leave_with_their_column_where_a_schema_is_given(tmp_path):
    rows = [
        f"{'unlimited' if i % 4 == 0 else i % 97},2024-0{i % 9 + 1}-1{i % 9},{i % 5},{'uv'[i % 2]}" for i in range(400)
    ]
    path = write(tmp_path / "a.csv", "limit,d,c,l", rows)
    schema = tb.fit(path, label="l").schema
    assert {"limit.word", "d.elapsed"} < schema.families.keys()
    for name in ("limit", "d"):
        assert not any(
            part.startswith(f"{name}.") for part in tb.fit(path, schema=schema, ignore=[name]).schema.families
        )
    assert tb.fit(path, schema=schema, families={"d": "categorical"}).schema.families["d"].name == "categorical"


def test_births_are_written_as_they_are_read(tmp_path):
    path = write(tmp_path / "a.csv", "born,l", [f"01/02/{40 + i % 50},{'uv'[i % 2]}" for i in range(100)])
    from tallybayes.cli.column_types import ColumnTypes

    model = tb.fit(path, label="l")
    types = ColumnTypes(tb.read(path).head(), dates={"born": model.schema.columns["born"].reader.dates})
    table = tb.read(path).head().columns["born"]
    assert {str(value.year)[:2] for value in types._known["born"].read(table).to_pylist()} == {"19"}
