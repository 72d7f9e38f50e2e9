"""Labels made of a column and a value; schemas saved, edited and given back; columns chosen by name."""

import dataclasses
import json

import pytest

import tallybayes as tb
from pets import COLUMNS, TABLE
from tallybayes.cells.key_form import KeyForm
from tallybayes.columns.label_spec import LabelBins, LabelSpec
from tallybayes.errors import DataError, FileError, ParameterError

IN_MEMORY = tb.fit(TABLE, label="pet")


def test_a_label_of_yes_and_no():
    for data in (TABLE, COLUMNS):
        model = tb.fit(data, label="pet=dog")
        assert model.classes == [False, True]
        assert model.class_counts[True] == IN_MEMORY.class_counts["dog"]
        assert "pet" not in model.schema.columns
    model.learn(TABLE)
    assert model.class_counts[True] == 2 * IN_MEMORY.class_counts["dog"]
    with pytest.raises(DataError, match=r"expected a row with the value 'dgo'.*\n.*did you mean 'dog'"):
        tb.fit(TABLE, label="pet=dgo")
    assert tb.fit({"x": [1, 2, 3], "n": [0, 1, 2]}, label="n=0").class_counts == {False: 2, True: 1}


def test_a_schema_is_saved_edited_and_given_back(tmp_path, files):
    model = tb.fit(files["csv"], label="pet")
    model.schema.save(tmp_path / "schema.json")
    text = json.loads((tmp_path / "schema.json").read_text())
    text["columns"]["age"]["family"] = "gaussian:nu=3"
    text["columns"]["likes"]["family"] = None
    del text["columns"]["city"]
    (tmp_path / "schema.json").write_text(json.dumps(text))
    again = tb.fit(files["csv"], schema=tb.Schema.load(tmp_path / "schema.json"))
    assert {name: str(family) for name, family in again.schema.families.items()} == {
        "age": "gaussian:nu=3.0",
        "income": "histogram",
        "member": "bernoulli",
    }
    assert again.schema.columns["city"].reason == "not in the schema"
    for nonsense in (
        "[]",
        "{",
        '{"columns": 3}',
        '{"columns": {"a": {"family": "gausian"}}}',
        '{"columns": {}, "x": 1}',
    ):
        (tmp_path / "bad.json").write_text(nonsense)
        with pytest.raises(FileError, match=r"bad\.json(: a schema cannot be read|, line 1: expected a schema)"):
            tb.Schema.load(tmp_path / "bad.json")


def test_only_and_ignore(files):
    model = tb.fit(files["csv"], label="pet", only=["age", "city"])
    assert list(model.schema.families) == ["age", "city"]
    assert list(tb.fit(files["csv"], label="pet", ignore=["age"]).schema.families) == [
        "city",
        "income",
        "likes",
        "member",
    ]
    with pytest.raises(ParameterError, match=r"got 'agee'\nhint: did you mean 'age'"):
        tb.fit(files["csv"], label="pet", only=["agee"])


def test_the_label_of_a_schema_is_a_value():
    binned = LabelSpec("price", bins=LabelBins((10.0, 100.0)))
    for label, name in (
        (binned, "price"),
        (LabelSpec("smokes", KeyForm(("no", "yes"))), "smokes"),
        (LabelSpec(), None),
    ):
        schema = tb.Schema(label)
        assert schema.label == name
        assert LabelSpec.from_dict(label.to_dict()) == label
        assert tb.Schema.from_dict(schema.to_dict()).label_spec == label
        assert schema.copy() == schema.with_columns({}) == schema
    assert tb.Schema(label="y") == tb.Schema(LabelSpec("y")) != tb.Schema(binned)
    assert str(tb.Schema(binned)) == "label: price, cut at 10, 100"
    with pytest.raises(ParameterError, match="the name of a column as the label of a schema"):
        LabelSpec.from_dict({"label": 3})
    with pytest.raises(dataclasses.FrozenInstanceError):
        binned.name = "cost"
