"""The promises of the project for models with dates and ordered categories."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.io.read import to_source

FAMILIES = {"when": "date:day_first", "at": "date", "size": "ordinal:S<M<L<XL", "n": "histogram"}
TEXTS = [
    "2024-01-31",
    "31.12.1999",
    "05/06/2024 11:30 pm",
    "2024-07-01T10:00:00Z",
    "1 May 2020",
    "99999-01-01",
    "0001-01-01",
]

dates = st.one_of(
    st.sampled_from([*TEXTS, "soon", "", "10:30"]), st.dates().map(str), st.datetimes().map(lambda one: one.isoformat())
)
row = st.fixed_dictionaries(
    {"y": st.sampled_from(["p", "q"])},
    optional={
        "when": st.one_of(st.none(), dates),
        "at": st.one_of(st.none(), st.datetimes(), st.dates()),
        "size": st.sampled_from(["S", "M", "xl", "huge", None]),
        "n": st.integers(0, 5),
    },
)
rows = st.lists(row, max_size=10)

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")


def learned(data, model=None):
    model = model or tb.fit({name: [] for name in (*FAMILIES, "y")}, label="y", families=FAMILIES)
    if data:
        model.learn(data)
    return model


@given(rows, st.data())
def test_neither_order_nor_batches_matter(table, data):
    whole = learned(table)
    shuffled = [table[i] for i in data.draw(st.permutations(range(len(table))))]
    assert learned(shuffled).same_counts(whole)
    cut = data.draw(st.integers(0, len(table)))
    assert learned(table[cut:], learned(table[:cut])).same_counts(whole)
    assert learned(table[:cut]).merge(learned(table[cut:])).same_counts(whole)


@given(rows, rows)
def test_forgetting_gives_the_model_that_never_saw_the_rows(a, b):
    model = learned(b, learned(a))
    if b:
        model.forget(b)
    assert model.same_counts(learned(a))


@given(rows, rows)
def test_a_row_scores_alone_as_in_a_batch(table, probe):
    model = learned(table)
    if not probe or not model.classes:
        return
    together = model.log_score(to_source(probe))  # by the general path
    for i, one in enumerate(probe):
        plain = {name: value for name, value in one.items() if name != "y"}
        assert np.array_equal(model.log_score(plain)[0], together[i])
        assert np.array_equal(model.log_score([plain])[0], together[i])


@given(rows, row)
def test_a_single_row_is_learned_as_a_batch_of_one(table, one):
    one_by_one, batch = learned(table), learned(table)
    values = {name: value for name, value in one.items() if name != "y"}
    one_by_one.learn_one(values, one["y"])
    batch.learn([one])
    assert one_by_one.same_counts(batch)
    one_by_one.forget_one(values, one["y"])
    assert one_by_one.same_counts(learned(table))


@given(rows)
def test_a_saved_model_is_the_same(tmp_path_factory, table):
    model, path = learned(table), tmp_path_factory.mktemp("models") / "dates.tally"
    model.save(path)
    again = tb.load(path)
    assert again == model
    assert again.schema.to_dict() == model.schema.to_dict()


def signups(n=400, seed=0):
    """Dates on which weekends matter, sizes of which large ones matter, and a number."""
    rng = np.random.default_rng(seed)
    start = datetime.datetime(2023, 1, 1)
    when = [start + datetime.timedelta(hours=int(hour)) for hour in rng.integers(0, 17_000, n)]
    size = rng.choice(["S", "M", "L", "XL"], n)
    odds = np.array([1.5 if day.weekday() > 4 else -1.0 for day in when]) + np.where(np.isin(size, ["L", "XL"]), 1, -1)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")
    return {"when": when, "size": size.tolist(), "n": rng.integers(0, 90, n).tolist(), "y": y.tolist()}


@pytest.mark.parametrize("options", [{}, {"column_weights": None}, {"dependence": "one"}, {"missing_as_value": True}])
def test_every_question_has_an_answer(options):
    table = signups()
    model = tb.fit(table, label="y", **options)
    probe = {name: column[:5] for name, column in table.items()}
    assert model.predict_proba(probe).shape == (5, 2)
    explanation = model.explain(probe)[0]
    assert {"when.weekday", "when.elapsed"} <= explanation.log_evidence.keys()
    assert explanation.values["when.weekday"] in ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert np.exp(explanation.log_score) == pytest.approx(np.exp(model.log_score(probe)[0]))
    assert explanation.flip() is not None
    assert tb.evaluate(model, table).accuracy > 0.7
    sampled = model.sample(20)
    if "dependence" not in options:  # then numbers are sampled as their cells
        assert model.predict_proba(sampled).shape == (20, 2)  # the parts themselves
        assert {"when.elapsed", "when.year", "when.month", "when.weekday", "when.hour"} <= {*sampled.column_names}
        assert pa.types.is_integer(sampled["when.year"].type)
        assert pa.types.is_integer(sampled["n"].type)


def test_weekdays_are_found_and_ranked():
    table = signups(2000)
    model = tb.fit(table, label="y")
    found = {one.column: one.information for one in tb.importance(model, table).columns}
    assert found["when.weekday"] > max(found[f"when.{part}"] for part in ("elapsed", "year", "month", "hour"))
    rows = [row for row in model.describe().columns["when.weekday"] if row["class"] == "yes"]
    assert [row["value"] for row in rows] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def test_tuning_and_leave_one_out_with_dates():
    table = signups(300)
    tuned = tb.tune(table, label="y", strengths=5)
    assert "when.weekday" in tuned.model.schema.families
    assert tb.evaluate(tuned.model, table).accuracy > 0.7
    model = tb.fit(table, label="y", column_weights=None)
    assert np.isfinite(model.leave_one_out(table)).all()
    assert model.predict_interval(table).shape[0] == 300
    assert {row["value"] for row in model.intervals().columns["size"]} == {"S", "M", "L", "XL"}


@pytest.mark.slow
def test_a_report_with_dates():
    pytest.importorskip("altair")
    table = signups(200)
    assert "when.weekday" in str(tb.report(tb.fit(table, label="y"), table))
