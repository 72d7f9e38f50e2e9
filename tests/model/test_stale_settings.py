"""What was chosen from rows that are forgotten cannot be restored from the sums: it is marked as stale."""

import numpy as np
import pytest

import tallybayes as tb
from models import round_trip
from tallybayes.columns.schema import Schema
from tallybayes.errors import ParameterError

FEW = {"text": ["cash now", "win cash", "lunch at noon", "see you at noon"], "y": ["spam", "spam", "ham", "ham"]}


def letters(n, seed=0):
    rng = np.random.default_rng(seed)
    words = {"spam": ["cash", "prize", "win", "now", "at"], "ham": ["lunch", "noon", "see", "you", "at"]}
    labels = rng.choice(["spam", "ham"], n).tolist()
    return {"text": [" ".join(rng.choice(words[label], 4)) for label in labels], "y": labels}


def test_a_text_variant_selected_on_forgotten_documents_is_stale():
    model = tb.fit(FEW, label="y", families={"text": "text"})
    before = model.copy()
    assert model.stale == []
    model.learn(letters(40))
    assert model.stale == []
    assert model.schema.columns["text"].selected_on == 44
    model.forget(letters(40))
    assert model.same_counts(before)
    assert model != before  # the variant was selected
    assert model.schema.families != before.schema.families
    assert model.stale == ["text_variants"]
    assert "text variants    selected on 44 rows (stale: the model has changed since)" in str(model)
    assert round_trip(model).stale == ["text_variants"]
    model.learn(letters(38))
    assert model.stale == []  # nearly as many rows as then


def test_a_saved_schema_has_the_rows_that_a_variant_was_selected_on(tmp_path):
    model = tb.fit(letters(40), label="y", families={"text": "text"})
    model.schema.save(tmp_path / "schema.json")
    schema = Schema.load(tmp_path / "schema.json")
    assert schema.columns["text"].selected_on == 40
    assert tb.fit(letters(60), label="y", schema=schema).stale == ["text_variants"]
    given = schema.to_dict()
    given["columns"]["text"]["selected_on"] = "many"
    with pytest.raises(ParameterError, match="the rows that the options of a column were selected on"):
        Schema.from_dict(given)


def test_the_command_says_that_a_text_variant_may_be_stale(tmp_path):
    from command_line import tally

    for name, rows in (("few", FEW), ("more", letters(40))):
        lines = zip(rows["text"], rows["y"], strict=True)
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,y", *(",".join(line) for line in lines)]))
    model = tb.fit(FEW, label="y", families={"text": "text"})
    model.learn(letters(40))
    model.save(tmp_path / "m.tally")
    done = tally("forget", "m.tally", "more.csv", cwd=tmp_path)
    assert "may be stale: text_variants" in done.stderr


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n)
    return {"x": rng.normal(size=n) + (y == "a"), "k": np.where(rng.random(n) < 0.7, y, "b"), "y": y}


@pytest.mark.parametrize("fitted", [True, False])
def test_weights_of_a_class_that_was_forgotten_and_learned_again_are_stale(fitted):
    model, rows = tb.fit(table(), label="y"), table()
    if not fitted:
        weights = tb.ColumnWeights({"x": {"a": 0.5, "b": 1.0, "c": 1.0}}, {"c": 0.5})
        model.column_weights = weights
    of_class = {name: values[rows["y"] == "c"] for name, values in rows.items()}
    before = model.column_weights
    model.forget(of_class)
    model.learn(of_class)
    assert model.same_counts(tb.fit(rows, label="y"))
    assert model.column_weights != before
    assert model.stale == ["column_weights"]


def test_corrections_of_words_of_a_class_that_was_forgotten_and_learned_again_are_stale():
    from tallybayes.state.token_corrections import CorrectionTable, TokenCorrections

    rows = letters(60)
    model = tb.fit(rows, label="y", families={"text": "text"})
    table = CorrectionTable(("cash",), ("ham", "spam"), np.array([[0.25, -0.25]]))
    model = model.with_settings(token_corrections=TokenCorrections({"text": table}, 60.0, 60.0))
    assert "token_corrections" not in model.stale
    ham = {name: [v for v, y in zip(values, rows["y"], strict=True) if y == "ham"] for name, values in rows.items()}
    model.forget(ham)
    model.learn(ham)
    assert "token_corrections" in model.stale
