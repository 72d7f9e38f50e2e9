"""Objects within objects: columns by path, in files, queries, frames and dicts."""

import json
import random
import re
import warnings

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather

import tallybayes as tb
from command_line import fine, tally
from pets import file_with
from tallybayes.doubts import collect_doubts
from tallybayes.errors import DataError, DataWarning
from tallybayes.tables.nested_values import DEPTH, divide_objects, path_name
from tallybayes.tables.table import to_table


def houses(n=60):
    draw = random.Random(1)
    return [
        {
            "location": {"state": "CA" if i % 2 else "TX ", "pos": {"lat": draw.gauss(i % 2, 1), "lon": 3 + i / 7}},
            "tags": draw.sample(["new", "pool", "view"], 2),
            "words": {draw.choice("abc"): 2},
            "rooms": [{"kind": "bath", "size": i}, {"kind": "hall", "size": 1}],
            "sold": " yes" if i % 2 else "no",
        }
        for i in range(n)
    ]


def in_file(rows, name):
    text = json.dumps(rows) if name.endswith(".json") else "\n".join(map(json.dumps, rows))
    return file_with(text.encode(), name)


def without_rooms(rows):
    return [{name: value for name, value in row.items() if name != "rooms"} for row in rows]


COLUMNS = ["location.state", "location.pos.lat", "location.pos.lon", "tags", "words", "sold"]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_paths_are_columns_and_texts_are_trimmed(name):
    path = in_file(without_rooms(houses()), name)
    head = tb.read(path).head()
    assert list(head.columns) == COLUMNS
    assert head.columns["location.state"][:2] == ["TX", "CA"]
    model = tb.fit(path, label="sold")
    assert model.class_counts == {"no": 30, "yes": 30}
    assert set(model.schema.families) == {*COLUMNS} - {"sold"}
    assert [model.schema.families[name].name for name in ("tags", "words")] == ["tags", "multinomial"]
    assert tb.fit(path, label="location.state").class_counts == {"CA": 30, "TX": 30}


def test_every_way_to_give_the_rows_gives_the_same_counts(tmp_path):
    rows = [{**row, "location": {**row["location"], "state": row["location"]["state"].strip()}} for row in houses()]
    rows = [{**row, "sold": row["sold"].strip()} for row in without_rooms(rows)]
    plain = [{name: value for name, value in row.items() if name != "words"} for row in rows]
    table = pa.Table.from_pylist(plain)
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    model = tb.fit(in_file(plain, "a.jsonl"), label="sold", column_weights=None)
    ways = [plain, table, tmp_path / "a.parquet", in_file(plain, "a.json"), f"SELECT * FROM '{tmp_path}/a.parquet'"]
    for data in ways:
        assert tb.fit(data, label="sold", column_weights=None).same_counts(model)


def test_a_nested_dict_is_predicted_as_its_row_in_the_file():
    rows = houses()
    path = in_file(without_rooms(rows), "a.jsonl")
    model = tb.fit(path, label="sold")
    row = {**rows[1], "location": {"state": "CA", "pos": {"lat": 1.5, "lon": 2.5}}}
    flat = {"location.state": "CA", "location.pos.lat": 1.5, "location.pos.lon": 2.5}
    flat |= {name: row[name] for name in ("tags", "words")}
    assert model.predict_proba_one(row) == model.predict_proba_one(flat)
    assert model.predict_proba_one(row) != model.predict_proba_one({"tags": row["tags"]})
    assert model.predict_proba(in_file([row], "one.json")).tolist() == model.predict_proba([row]).tolist()
    before = model.copy()
    model.learn([row], label="sold")
    model.forget([row], label="sold")
    assert model.same_counts(before)


def test_a_bag_stays_a_bag_when_all_rows_have_the_same_keys():
    rows = [{"words": {"a" if i % 2 else "b": 1, "c": 2}, "y": i % 2} for i in range(40)]
    alike = [{"words": {"a": 1, "b": 1}} for _ in range(30)]
    for data in (rows, in_file(rows, "a.jsonl")):
        model = tb.fit(data, label="y")
        assert list(model.schema.families) == ["words"]
        p = model.predict_proba([alike[0]])
        assert (model.predict_proba(alike) == p).all()
        assert (model.predict_proba(in_file(alike, "b.jsonl")) == p).all()
        for more in (alike, in_file(alike, "b.jsonl")):
            model.learn([{**row, "y": 1} for row in more] if isinstance(more, list) else tb.read(more, given={"y": 1}))
            assert list(model.schema.families) == ["words"]


def test_numbers_by_the_same_keys_are_columns():
    rows = [{"pos": {"lat": 48 + i / 100, "lon": 9.5}, "y": i % 2} for i in range(40)]
    for data in (rows, in_file(rows, "a.jsonl")):
        model = tb.fit(data, label="y")
        assert list(model.schema.families) == ["pos.lat", "pos.lon"]
        assert model.predict_proba_one(rows[0]) == model.predict_proba_one({"pos.lat": 48.0, "pos.lon": 9.5})
        assert model.predict_proba(in_file(rows[:1], "b.jsonl")).tolist() == model.predict_proba(rows[:1]).tolist()
        model.learn(rows[:1])
        assert list(model.schema.families) == ["pos.lat", "pos.lon"]


def users(n=60, optional=lambda i: {}):
    return [{"user": {"age": 20 + i % 40, "visits": i % 7, **optional(i)}, "y": i % 40 > 19} for i in range(n)]


@pytest.mark.parametrize(
    ("optional", "names"),
    [
        (lambda i: {}, ["age", "visits"]),
        (lambda i: {"seen": None if i % 5 else 3}, ["age", "visits", "seen"]),
        (lambda i: {} if i % 20 else {"rare": 1}, ["rare", "age", "visits"]),
        (lambda i: {} if i % 7 == 0 else {"often": 1}, ["age", "visits", "often"]),
    ],
)
def test_whole_numbers_by_nearly_the_same_keys_are_columns(optional, names):
    rows = users(optional=optional)
    ways = [rows, in_file(rows, "a.jsonl"), in_file(rows, "a.json")]
    models = [tb.fit(data, label="y", column_weights=None) for data in ways]
    assert {*models[0].schema.columns} == {f"user.{name}" for name in names}
    assert all(model.same_counts(models[0]) for model in models)
    assert models[0].predict([{"user": {"age": 59, "visits": 2}}, {"user": {"age": 20}}]).tolist() == [True, False]


@pytest.mark.parametrize(
    "bag",
    [
        lambda i: {"abc"[i % 3]: 2, "def"[i % 2]: 1},
        lambda i: {"a": 1} | ({} if i % 3 else {"b": 3}),
        lambda i: {f"k{(i + j) % 60}": 1 + j for j in range(58)},  # more keys than a record has
    ],
)
def test_numbers_by_keys_that_differ_are_bags(bag):
    rows = [{"words": bag(i), "y": i % 2} for i in range(60)]
    for data in (rows, in_file(rows, "a.jsonl")):
        assert list(tb.fit(data, label="y", column_weights=None).schema.columns) == ["words"]


def test_records_can_be_read_as_bags_and_bags_by_their_keys(tmp_path):
    path, words = in_file(users(), "a.jsonl"), [{"words": {"ab"[i % 2]: i, "c": 2}, "y": i % 3 > 1} for i in range(60)]
    said = fine("fit", path, "--label", "y", "--as", "user=multinomial", "--dry-run", cwd=tmp_path)
    assert re.search("user +multinomial +specified", said)
    said = fine("fit", path, "--label", "y", "--as", "user.age=gaussian", "--dry-run", cwd=tmp_path)
    assert re.search("user.age +gaussian +specified.*\nuser.visits +histogram", said)
    said = fine(
        "fit", in_file(words, "b.jsonl"), "--label", "y", "--as", "words.a=histogram", "--dry-run", cwd=tmp_path
    )
    assert re.search("words.a +histogram +specified", said)
    said = tally("fit", in_file(words, "b.jsonl"), "--label", "y", "--as", "words.q=histogram", cwd=tmp_path)
    assert "expected the name of a column for --as, got 'words.q'" in said.stderr


@pytest.mark.parametrize(
    ("row", "text", "column"),
    [
        ({"a": [{"k": "x", "n": 1}]}, "lists of objects are not read", "a_k"),
        ({"a": {"B c": [[1, 2]]}}, "lists of lists are not read", "b_c_values"),
        ({"a": [[["u"], ["v", "w"]], []]}, "lists of lists are not read", "a_values"),
        ({"a": {"b": {"c": {"d": {"e": {"f": {"g": "x"}}}}}}}, "nested more than 6 levels", "f_g"),
    ],
)
def test_what_is_not_read_is_said_with_a_query_that_reaches_it(row, text, column):
    path = in_file([{**row, "y": i % 2} for i in range(9)], "a.jsonl")
    with collect_doubts() as found:
        tb.fit(path, label="y")
    one = next(one for one in found if text in one.text)
    assert one.kind == "file"
    query = re.search("SELECT.*", one.hint)[0]
    assert column in duckdb.sql(query).columns
    model = tb.fit(query, label="y", ignore=[one.column] if "." in one.column else ())
    assert column in model.schema.families
    assert not any(doubt.kind == "file" for doubt in model.doubts)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "duckdb", "query"])
def test_what_is_not_read_of_files_with_types_is_said(kind, tmp_path):
    """With a query that reaches it and leaves nothing doubtful, so that --strict can go on."""
    table = pa.table({"rooms": [[{"kind": "bath"}], [{"kind": "hall"}]] * 20, "y": ["u", "v", "u", "u"] * 10})
    path, option = str(tmp_path / f"a.{'parquet' if kind == 'query' else kind}"), "path"
    if kind == "arrow":
        feather.write_feather(table, path)
    elif kind == "duckdb":
        option = "table"
        with duckdb.connect(path) as base:
            base.register("given", table)
            base.execute("CREATE TABLE houses AS SELECT * FROM given")
    else:
        pq.write_table(table, path)
    with collect_doubts() as found:
        tb.fit(f"SELECT * FROM '{path}'" if kind == "query" else path, label="y", column_weights=None)
    (one,) = found
    assert one.column == "rooms"
    assert "lists of objects are not read" in one.text
    if kind == "arrow":
        assert one.hint == "ignore=['rooms'] (--ignore rooms) leaves it out"
        return
    query = re.search("SELECT.*", one.hint)[0]
    model = tb.fit(tb.read(path, table=query) if option == "table" else query, label="y", column_weights=None)
    assert "rooms_kind" in model.schema.families
    assert model.doubts == ()


def test_the_query_keeps_the_texts_of_columns_that_mix_types():
    kinds = ["bath", 3, "hall", "007"]
    rows = [
        {"code": f"00{i % 3}", "mix": ["a", 5, True, " b"][i % 4], "rooms": [{"the kind": kinds[i % 4]}], "y": i % 2}
        for i in range(24)
    ]
    path = in_file(rows, "a.jsonl")
    with collect_doubts() as found:
        model = tb.fit(path, label="y", ignore=["rooms"])
        tb.fit(path, label="y")
    query = re.search("SELECT.*", next(one.hint for one in found if "lists of objects" in one.text))[0]
    head = tb.read(query).head().columns
    assert head["rooms_the_kind"].to_pylist()[:4] == [["bath"], ["3"], ["hall"], ["007"]]
    assert [text.strip() for text in head["mix"].to_pylist()[:4]] == ["a", "5", "true", "b"]
    assert head["code"].to_pylist()[:3] == ["000", "001", "002"]
    reached = tb.fit(query, label="y")
    assert reached.schema.columns["rooms_the_kind"].family.name == "tags"
    answers = reached.predict_proba([{"mix": "a"}, {"mix": "5"}, {"code": "001"}])
    assert np.isfinite(answers).all()
    for name in ("mix", "code"):
        assert reached.schema.columns[name].family == model.schema.columns[name].family


def test_the_query_keeps_the_lists_of_columns_that_have_single_values_too(tmp_path):
    phones = [["x"], ["x", "y"], "y", ["z", "x"], None]
    odd = ["u", "v", "w", ["u", "v"], "w"]
    rows = [
        {"phones": phones[i % 5], "odd": odd[i % 5], "rooms": [{"kind": "ab"[i % 2]}], "y": i % 2} for i in range(60)
    ]
    path = in_file(rows, "a.jsonl")
    with collect_doubts() as found:
        model = tb.fit(path, label="y", ignore=["rooms", "odd"], column_weights=None)
        tb.fit(path, label="y")
    query = re.search("SELECT.*", next(one.hint for one in found if "lists of objects" in one.text))[0]
    with collect_doubts():
        reached = tb.fit(query, label="y", ignore=["rooms_kind", "odd"], column_weights=None)
        whole = tb.fit(query, label="y", column_weights=None)
    assert reached.same_counts(model)
    doubts = {one.column: one.text for one in whole.doubts}
    assert doubts["phones"].endswith(
        "12 values are not a list like the others, such as 'y', and are read as lists of one value"
    )
    assert doubts["odd"].endswith("12 lists or objects are read as text")


def test_keys_that_differ_in_every_row_are_said():
    path = in_file([{"votes": {f"user{i}": "up", f"user{i + 1}": "down"}, "y": i % 2} for i in range(200)], "a.jsonl")
    with collect_doubts() as found:
        assert len(tb.fit(path, label="y").schema.columns) == 1
    assert "keys nearly all differ" in found[0].text
    assert tb.fit(re.search("SELECT.*", found[0].hint)[0], label="y").schema.columns["votes_keys"].family is not None


def test_names_with_dots_win_over_paths():
    rows = [{"a": {"b": "inner"}, "a.b": "outer", "y": 1}]
    assert to_table(rows).columns["a.b"] == ["outer"]
    assert tb.read(in_file(rows, "a.json")).head().columns["a.b"] == ["outer"]


def test_predictions_are_written_as_the_rows_came(tmp_path):
    path = in_file(without_rooms(houses()), "a.jsonl")
    fine("fit", path, "--label", "sold", "-o", "m.tally", cwd=tmp_path)
    first = json.loads(fine("predict", "m.tally", path, cwd=tmp_path).splitlines()[0])
    assert first["location"]["state"] == "TX "
    assert list(first)[-2:] == ["predicted", "probability"]
    refused = tally("predict", "m.tally", path, "--id", "location.state", cwd=tmp_path)
    assert "did you mean 'location'" in refused.stderr


scalars = st.one_of(st.none(), st.booleans(), st.floats(-5, 5), st.text("xy", max_size=2))
objects = st.recursive(
    st.dictionaries(st.sampled_from("abc"), scalars, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), st.one_of(scalars, inner), max_size=3),
    max_leaves=12,
)


@given(st.lists(objects, min_size=1, max_size=6))
def test_every_path_leads_to_its_values(rows):
    columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(key for row in rows for key in row)}
    whole = to_table(rows)
    for path, values in divide_objects(columns).items():
        assert len(path) <= DEPTH
        assert list(whole.with_names([path_name(path)]).columns[path_name(path)]) == list(values)
        for row, value in zip(rows, values, strict=True):
            inner = row
            for key in path:
                inner = inner.get(key) if isinstance(inner, dict) else None
            assert inner == value


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")
def test_values_of_another_shape_are_said(tmp_path):
    rows = [{"m": {"k": "a"} if i % 3 else "none", "t": ["a"] if i % 4 else "a", "y": "pq"[i % 2]} for i in range(60)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    doubts = {one.column: one.text for one in tb.read(tmp_path / "a.jsonl").head().doubts}
    assert "20 values are not an object like the others, such as 'none'" in doubts["m"]
    assert "15 values are not a list like the others, such as 'a'" in doubts["t"]


@pytest.mark.parametrize(("other", "shape"), [([1, 2], "a list"), ({"a": 2}, "an object")])
def test_a_value_of_another_shape_is_named_with_its_line_and_column(tmp_path, monkeypatch, other, shape):
    if shape == "a list":  # single values among the first lists are lists of one value
        monkeypatch.setattr("tallybayes.io.files.HEAD", 40)
    rows = [
        json.dumps({"x": "wifi" if i == 61 else other if i % 2 or shape == "a list" else {"b": 1}, "y": "ab"[i % 2]})
        for i in range(80)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    with (
        pytest.raises(DataError, match=f"line 62, column 'x': expected {shape}, as in other rows, got 'wifi'"),
        collect_doubts(),
    ):
        tb.fit(path, label="y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert tb.fit(tb.read(path, skip_bad=True), label="y").class_counts == {"a": 40, "b": 40}


def test_single_values_among_lists_are_lists_of_one_value(tmp_path):
    values = [["TV"], ["TV", "Wifi"], "TV", "Pool", None, ["Pool", "Wifi"], 3]
    rows = [{"amen": values[i % 7], "in": {"er": values[i % 6]}, "y": "ab"[i % 2]} for i in range(70)]
    listed = [value if value is None or isinstance(value, list) else [value] for value in values]
    others = [{"amen": listed[i % 7], "in": {"er": listed[i % 6]}, "y": "ab"[i % 2]} for i in range(70)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.warns(DataWarning, match=r"'amen'.*30 values are not a list .* and are read as lists of one value"):
        model = tb.fit(tmp_path / "a.jsonl", label="y", column_weights=None)
    assert model.same_counts(tb.fit(others, label="y", column_weights=None))
    assert tb.fit(tmp_path / "a.jsonl", label="y", column_weights=None, ignore=["amen"]).doubts == ()


@pytest.mark.parametrize("quote", ['"', "'"])
def test_objects_in_cells_of_text_are_said_with_a_query_that_divides_them(tmp_path, quote):
    genres = [[{"id": i, "name": name} for i, name in enumerate(names)] for names in (["War"], ["Love", "War"], [])]
    cells = [json.dumps(genres[i % 3]).replace('"', quote) for i in range(60)]
    rows = [f"{i % 9},{'ab'[i % 2]}" + ',"' + cell.replace('"', '""') + '"' for i, cell in enumerate(cells)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["n,y,genres of a film", *rows]) + "\n")
    with pytest.warns(tb.DataWarning, match="lists of objects were read as text"):
        (doubt,) = tb.fit(path, label="y", column_weights=None).doubts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = tb.fit(doubt.hint.partition(": ")[2], label="y", column_weights=None)
    assert list(model.schema.columns) == ["n", "genres_of_a_film_name"]
    assert str(model.schema.families["genres_of_a_film_name"]) == "tags:separator=,"
