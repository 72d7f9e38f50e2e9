"""Rows without a label in `fit`: what they add, what stays exact, and when they are not used."""

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.errors import DataError, ForgetError, ParameterError, UnsupportedError

N_LABELLED = 30


def mixed(n, seed=1, gap=1.0):
    """Seven columns of three kinds that tell two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    table = pd.DataFrame({f"x{i}": rng.normal(y * gap, 1, n) for i in range(5)})
    table["c"] = np.where(rng.random(n) < 0.2 + 0.5 * y, "p", "q")
    table["b"] = rng.random(n) < 0.3 + 0.4 * y
    table.loc[rng.random(n) < 0.1, "x0"] = np.nan
    table["y"] = np.where(y == 1, "one", "two")
    return table


@pytest.fixture(scope="module")
def table():
    return mixed(1500)


@pytest.fixture(scope="module")
def parts(table):
    return table[:N_LABELLED], table[N_LABELLED:1000].drop(columns="y"), table[1000:]


@pytest.fixture(scope="module")
def model(parts):
    return tb.fit(parts[0], "y", unlabelled=parts[1])


def accuracy(model, rows):
    return float((model.predict(rows.drop(columns="y")) == rows["y"]).mean())


def test_unlabelled_rows_help_where_labels_are_few(parts, model):
    supervised = tb.fit(parts[0], "y")
    assert accuracy(model, parts[2]) > accuracy(supervised, parts[2]) + 0.03
    assert model.unlabelled.rows == 970
    assert model.unlabelled.weight in (1.0, pytest.approx(0.3, abs=1e-6))
    assert model.class_counts == supervised.class_counts
    assert (np.diff(model.unlabelled.objective) >= 0).all()


KINDS = [
    {"preset": "textbook"},
    {"estimate": "mle", "numeric": "gaussian"},
    {"numeric": "gaussian"},
    {"dependence": "one"},
]


@pytest.mark.parametrize("options", KINDS)
def test_every_kind_of_model_takes_them(parts, options):
    model = tb.fit(parts[0], "y", unlabelled=parts[1], unlabelled_weight=1, **options)
    assert accuracy(model, parts[2]) > 0.8
    assert np.isfinite(model.predict_log_proba(parts[2])).all()


def test_rows_of_the_data_without_a_label_are_the_same(table, parts, model):
    rows = table[:1000].astype({"y": object})
    rows.loc[N_LABELLED:, "y"] = None
    joined = tb.fit(rows, "y", missing_labels="em")
    assert joined.same_counts(model)
    assert joined.skipped == 0
    with pytest.warns(tb.DataWarning, match="label"):
        assert tb.fit(rows, "y").skipped == 970


def test_neither_order_nor_batches_matter(parts, model, tmp_path):
    shuffled = tb.fit(parts[0].sample(frac=1, random_state=1), "y", unlabelled=parts[1].sample(frac=1, random_state=2))
    assert shuffled.same_counts(model)
    assert shuffled.unlabelled.objective == pytest.approx(model.unlabelled.objective)
    labelled, rest = tmp_path / "labelled.parquet", tmp_path / "rest"
    rest.mkdir()
    parts[0].to_parquet(labelled)
    for number, start in enumerate(range(0, 970, 400)):
        parts[1][start : start + 400].to_parquet(rest / f"{number}.parquet")
    assert tb.fit(str(labelled), "y", unlabelled=str(rest / "*.parquet"), schema=model.schema).same_counts(model)


def test_labelled_rows_are_learned_and_forgotten_exactly(parts):
    model = tb.fit(parts[0], "y", unlabelled=parts[1], numeric="gaussian")
    changed = model.copy()
    changed.learn(parts[2][:50])
    assert changed.stale == ["unlabelled_rows"]
    assert changed.unlabelled is model.unlabelled
    changed.forget(parts[2][:50])
    assert changed.stale == []
    assert changed.same_counts(model)
    changed.forget(parts[0][:4])
    assert sum(changed.class_counts.values()) == N_LABELLED - 4


def test_an_unlabelled_row_cannot_be_forgotten(parts, model):
    changed = model.copy()
    with pytest.raises(ForgetError):  # it was not learned with a label
        changed.forget(parts[1][:1].assign(y="one"))
    assert changed.same_counts(model)


def test_merging_is_refused_with_the_reason(parts, model):
    with pytest.raises(UnsupportedError, match="divided anew"):
        model.merge(tb.fit(parts[0], "y", schema=model.schema))
    with pytest.raises(UnsupportedError, match="divided anew"):
        tb.fit(parts[0], "y", schema=model.schema).merge(model)


def test_the_file_keeps_both_sums(model, tmp_path):
    path = tmp_path / "model.tally"
    model.save(path)
    again = tb.load(path)
    assert again == model
    assert again.unlabelled.objective == model.unlabelled.objective
    again.save(tmp_path / "again.tally")
    assert path.read_bytes() == (tmp_path / "again.tally").read_bytes()


def test_bad_rows_of_a_file_are_skipped_and_said(parts, tmp_path):
    path = tmp_path / "rest.csv"
    lines = parts[1].to_csv(index=False).splitlines()
    lines.insert(100, "1,2")
    path.write_text("\n".join(lines))
    options = {"unlabelled_weight": 1, "schema": tb.fit(parts[0], "y").schema}
    with pytest.raises(DataError, match="line 101"):
        tb.fit(parts[0], "y", unlabelled=path, **options)
    with pytest.warns(tb.DataWarning, match="1 row could not be read"):
        skipped = tb.fit(parts[0], "y", unlabelled=tb.read(path, skip_bad=True), **options)
    assert skipped.same_counts(tb.fit(parts[0], "y", unlabelled=parts[1], **options))


def test_they_are_shown(model):
    assert "970 rows divided in" in str(model)
    shown = model.describe().classes if hasattr(model.describe(), "classes") else str(model.describe())
    assert "unlabelled rows" in str(shown)


def test_rows_that_would_make_it_worse_are_not_used_and_that_is_said():
    rng = np.random.default_rng(1)
    n = 3000
    groups, y = rng.integers(0, 2, n), rng.integers(0, 2, n)  # what stands out has nothing to do with the label
    table = pd.DataFrame({f"g{i}": rng.normal(groups * 3.0, 1, n) for i in range(6)} | {"x": rng.normal(y * 1.5, 1, n)})
    table["y"] = y
    parts = table[:40], table[40:1000].drop(columns="y")
    with pytest.warns(tb.DataWarning, match="without a label are not used"):
        kept = tb.fit(parts[0], "y", unlabelled=parts[1])
    assert kept.unlabelled is None
    assert kept.same_counts(tb.fit(parts[0], "y"))
    forced = tb.fit(parts[0], "y", unlabelled=parts[1], unlabelled_weight=1)
    assert forced.unlabelled.rows == 960
    losses = [tb.evaluate(one, table[1000:], label="y").log_loss for one in (kept, forced)]
    assert losses[0] < losses[1] / 2


def test_too_few_labels_to_judge_are_said(parts):
    with pytest.warns(tb.DataWarning, match="too few labelled rows"):
        model = tb.fit(parts[0][:6], "y", unlabelled=parts[1])
    assert model.unlabelled.weight == 1
    assert tb.fit(parts[0][:6], "y", unlabelled=parts[1], unlabelled_weight=1).same_counts(model)


def test_weights_of_rows_count(parts):
    twice = pd.concat([parts[1], parts[1]])
    options = {"unlabelled_weight": 0.5, "schema": tb.fit(parts[0], "y").schema}
    by_weight = tb.fit(parts[0].assign(w=1.0), "y", unlabelled=parts[1].assign(w=2.0), sample_weight="w", **options)
    by_rows = tb.fit(parts[0], "y", unlabelled=twice, **options)
    assert by_weight.unlabelled.statistics.same(by_rows.unlabelled.statistics)


def test_texts_are_divided():
    words = {label: [f"{label}{i}" for i in range(40)] + ["the", "and", "of"] * 40 for label in ("spam", "ham")}
    rng = np.random.default_rng(0)
    labels = rng.choice(["spam", "ham"], 1500)
    table = pd.DataFrame({"text": [" ".join(rng.choice(words[label], 6)) for label in labels], "label": labels})
    options = {"families": {"text": "text"}, "column_weights": None}
    supervised = tb.fit(table[:20], "label", **options)
    model = tb.fit(table[:20], "label", unlabelled=table[20:1000][["text"]], **options)
    right = [(one.predict(table[1000:]) == labels[1000:]).mean() for one in (supervised, model)]
    assert right[1] > right[0]
    assert "as unlabelled rows were divided" in str(model.schema)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"unlabelled": 3}, ParameterError, "a table of any kind"),
        ({"missing_labels": "guess"}, ParameterError, "'skip' or 'em'"),
        ({"unlabelled_weight": 0.5}, ParameterError, "unlabelled_weight with unlabelled rows"),
        ({"missing_labels": "em", "unlabelled_weight": -1}, ParameterError, "'auto', or a number"),
    ],
)
def test_bad_options_are_errors(parts, options, error, words):
    with pytest.raises(error, match=words):
        tb.fit(parts[0], "y", **options)


def test_what_cannot_be_divided_is_an_error(parts):
    with pytest.raises(DataError, match="at least two classes"):
        tb.fit(parts[0][parts[0]["y"] == "one"], "y", unlabelled=parts[1])
    with pytest.raises(UnsupportedError, match="read again in every round"):
        tb.fit(parts[0], "y", unlabelled=iter([parts[1]]))
    with pytest.raises(DataError, match="shares columns"):
        tb.fit(parts[0], "y", unlabelled=pd.DataFrame({"other": [1, 2]}))
    base = tb.fit(parts[0], "y")
    with pytest.raises(UnsupportedError, match="base_model"):
        tb.fit(parts[0], "y", unlabelled=parts[1], base_model=base)
    for verb in (tb.tune, tb.cross_validate, tb.prequential):
        with pytest.raises((UnsupportedError, ParameterError, TypeError)):
            verb(parts[0], "y", unlabelled=parts[1])


def test_no_rows_and_labels_that_are_not_used_are_said(parts):
    with pytest.warns(tb.DataWarning, match="no unlabelled rows"):
        assert tb.fit(parts[0], "y", unlabelled=parts[1][:0]).unlabelled is None
    with pytest.warns(tb.DataWarning, match="labels, which are not used"):
        tb.fit(parts[0], "y", unlabelled=parts[2], unlabelled_weight=1)


def test_columns_that_unlabelled_rows_lack_are_said(parts):
    with pytest.warns(tb.DataWarning, match=r"not in the data, treated as missing: x4"):
        tb.fit(parts[0], "y", unlabelled=parts[1].drop(columns="x4"), unlabelled_weight=1)


@pytest.mark.parametrize(
    "values",
    [
        {"x1": [1.0], "c": ["p"]},
        {"x1": [np.nan] * 3, "c": [None] * 3},
        {"x1": [1e300, -1e300, 0.0], "c": ["never seen", "p", None]},
        {"x1": [1.0] * 2000, "c": ["p"] * 2000},
    ],
    ids=["one row", "all missing", "huge and unseen", "repeats"],
)
@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
def test_unusual_rows_are_divided(parts, values, numeric):
    rows = parts[0][["x1", "c", "y"]]
    model = tb.fit(rows, "y", unlabelled=pd.DataFrame(values), unlabelled_weight=1, numeric=numeric)
    assert model.unlabelled.rows == len(values["x1"])
    assert model.unlabelled.statistics.class_rows.floats().sum() == len(values["x1"])
    assert np.isfinite(model.predict_log_proba(parts[2])).all()
