"""For any bytes and any cells: a model or a clear error; texts with tags equal lists of tags."""

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from pets import file_with
from tallybayes.errors import TallyError
from tallybayes.io.read import read

cell = st.one_of(
    st.none(), st.text(max_size=6), st.sampled_from(["NA", "?", "1.5", "007", "true", "a|b", "2024-01-01"])
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")
@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(cell, cell, st.sampled_from(["p", "q"])), min_size=1, max_size=8),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    skip=st.booleans(),
)
def test_any_csv_file_gives_a_model_or_a_clear_error(rows, delimiter, skip):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerows([["a", "b", "y"], *rows])
    data = text.getvalue().encode("utf-8", "replace")
    try:
        model = tb.fit(read(file_with(data), skip_bad=skip), label="y")
    except TallyError:
        return
    assert sum(model.class_counts.values()) <= len(rows)
    p = model.predict_proba({"a": ["x"], "b": [None]}) if model.classes and not model.schema.families.get("a") else None
    assert p is None or np.isfinite(p).all()


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")
@settings(max_examples=60)
@given(
    data=st.binary(max_size=200), name=st.sampled_from(["a.csv", "a.jsonl", "a.parquet", "a.duckdb", "a.sqlite", "a"])
)
def test_any_bytes_give_a_model_or_a_clear_error(data, name):
    path = file_with(data, name)
    try:
        tb.fit(path, label="y")
    except TallyError:
        return


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")  # a few rows may tell the label by chance
@given(rows=st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "a|b", "b|a|a", " c |", "d"])), max_size=30))
def test_text_with_tags_is_what_lists_of_tags_are(rows):
    """Arrow text is split once per different text; that must not show, neither in sums nor in scores."""
    y = ["p", "q", "q"] * 10
    lists = [
        None if text is None else [p for p in dict.fromkeys(map(str.strip, text.split("|"))) if p] for text in rows
    ]
    a, b = ({"t": t, "y": y[: len(rows)]} for t in (pa.array(rows, pa.string()), lists))
    models = [tb.fit(data, label="y", families={"t": "tags"}) for data in (a, b)]
    assert models[0] == models[1]
    if rows:
        assert models[0].log_score(a).tolist() == models[0].log_score(b).tolist()
    many = {name: pa.array(list(values) * 40, pa.string()) for name, values in {"t": rows, "y": y[: len(rows)]}.items()}
    assert tb.fit(many, label="y", families={"t": "tags"}).same_counts(
        tb.fit({k: v.to_pylist() for k, v in many.items()}, "y", families={"t": "tags"})
    )
