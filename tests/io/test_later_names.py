"""JSON: names, values of records and types that first come below the first rows."""

import json

import pytest

import tallybayes as tb
from pets import file_with
from tallybayes.doubts import collect_doubts

_FIRST = 40


@pytest.fixture(autouse=True)
def _few_first_rows(monkeypatch):
    monkeypatch.setattr("tallybayes.io.files.HEAD", _FIRST)


def in_file(rows, name="a.jsonl"):
    text = json.dumps(rows) if name.endswith(".json") else "\n".join(map(json.dumps, rows))
    return file_with(text.encode(), name)


def with_later(later, first=lambda i: {}, n=60):
    return [
        {"x": i / 7, "user": {"name": "ab"[i % 3 > 0]}, "y": i % 2} | (first(i) if i < _FIRST else later(i))
        for i in range(n)
    ]


LATER = {
    "number": (lambda i: {"new": i % 2 + i / 9}, {"new": "histogram"}),
    "boolean": (lambda i: {"new": i % 2 == 0}, {"new": "bernoulli"}),
    "text": (lambda i: {"new": "uv"[i % 2]}, {"new": "categorical"}),
    "list": (lambda i: {"new": [["u"], ["u", "v"]][i % 2]}, {"new": "tags"}),
    "bag": (lambda i: {"new": {"uv"[i % 2]: 2, "w": 1}}, {"new": "multinomial"}),
    "record": (
        lambda i: {"new": {"p": "uv"[i % 2], "q": {"r": i % 5}}},
        {"new.p": "categorical", "new.q.r": "histogram"},
    ),
    "in a record": (lambda i: {"user": {"name": "a", "age": i % 5}}, {"user.age": "histogram"}),
    "rare": (lambda i: {"new": "u"} if i == 59 else {}, {"new": "categorical"}),
}


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
@pytest.mark.parametrize("kind", LATER)
def test_names_below_the_first_rows_are_columns(kind, name):
    later, expected = LATER[kind]
    rows = with_later(later)
    model = tb.fit(in_file(rows, name), label="y", column_weights=None)
    found = {column: str(family).partition(":")[0] for column, family in model.schema.families.items()}
    assert found == {"x": "histogram", "user.name": "categorical"} | expected
    assert model.doubts == ()
    flat = tb.fit(rows, label="y", column_weights=None, schema=model.schema)
    assert model.same_counts(flat)
    assert model.predict_proba(in_file(rows, name)).tolist() == flat.predict_proba(rows).tolist()


@pytest.mark.parametrize("kind", ["number", "boolean", "text", "list", "record"])
def test_what_is_null_at_first_has_the_types_of_its_values(kind):
    later, expected = LATER[kind]
    model = tb.fit(in_file(with_later(later, first=lambda i: {"new": None})), label="y", column_weights=None)
    found = {column: str(family).partition(":")[0] for column, family in model.schema.families.items()}
    assert found == {"x": "histogram", "user.name": "categorical"} | expected


def test_names_of_a_later_file_and_among_bad_lines(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, with_later(lambda i: {}))))
    lines = [*map(json.dumps, with_later(LATER["text"][0])), "no object", "[1]"]
    (tmp_path / "b.jsonl").write_text("\n".join(lines))
    source = tb.read(sorted(tmp_path.glob("*.jsonl")), skip_bad=True)
    with collect_doubts():
        model = tb.fit(source, label="y", column_weights=None)
    assert "new" in model.schema.families
    assert sum(model.class_counts.values()) == 120


def test_too_many_names_are_said_with_a_query_that_reads_them():
    path = in_file(with_later(lambda i: {f"k{i}_{j}": "u" for j in range(9)}))
    with collect_doubts():
        model = tb.fit(path, label="y", column_weights=None)
    assert len(model.schema.families) == 102
    (doubt,) = (one for one in model.doubts if one.kind == "file")
    assert "80 names that first come after 40 rows are not read, such as 'k" in doubt.text
    query = doubt.hint.partition(": ")[2]
    with collect_doubts():
        reached = tb.fit(query, label="y", column_weights=None)
    assert len(reached.schema.families) == 182
