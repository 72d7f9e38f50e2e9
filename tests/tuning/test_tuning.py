"""Tuning: selection by leave-one-out, validation and evidence, and the resulting models."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tables import LABEL, mixed_frame
from tallybayes.arrays.random_stream import row_stream
from tallybayes.errors import DataError, ParameterError
from tallybayes.io.read import to_source
from tallybayes.tuning.column_evidence import ColumnEvidence, sample_rows
from tallybayes.tuning.tune import DEFAULT, WHAT

EXCLUDED = "excluded by tuning: removing it lowers the leave-one-out log loss"


def copies(n, times, noise=0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q"], n)
    x = np.where(rng.random(n) < 0.75, y, rng.choice(["p", "q"], n))
    return {f"x{i}": x for i in range(times)} | {f"z{i}": rng.choice(["a", "b"], n) for i in range(noise)} | {"y": y}


def test_copies_of_a_column_share_a_total_weight_of_one():
    tuned = tb.tune(copies(2000, 4), label="y", what="column_weights")
    weights = tuned.model.column_weights.table([f"x{i}" for i in range(4)], ["p", "q"])
    np.testing.assert_allclose(weights.sum(axis=0), 1.0, atol=0.15)
    assert (
        tuned.log_loss[1]
        < 0.5 * tb.evaluate(tb.fit(copies(2000, 4), label="y", column_weights=None), copies(2000, 4)).log_loss
    )
    assert tuned.model.stale == []


def test_the_leave_one_out_log_loss_estimates_that_of_new_rows():
    """Within a few standard errors, of the default model and of the tuned one."""
    table, new = copies(3000, 4, noise=3), copies(3000, 4, noise=3, seed=1)
    tuned = tb.tune(table, label="y", strengths=10)
    assert tb.evaluate(tuned.model, new).log_loss == pytest.approx(tuned.log_loss[1], abs=0.03)
    assert tb.evaluate(tb.fit(table, label="y"), new).log_loss == pytest.approx(tuned.log_loss[0], abs=0.03)


def test_columns_of_noise_are_excluded():
    table = copies(1500, 1)
    rng = np.random.default_rng(0)
    table |= {f"z{i}": rng.integers(0, 300, 1500).astype(str) for i in range(3)}
    tuned = tb.tune(
        table, label="y", what="columns", smoothing=0.01, families=dict.fromkeys(table.keys() - {"y"}, "categorical")
    )
    excluded = [name for name, field in tuned.model.schema.columns.items() if field.family is None]
    assert {"z1", "z2"} <= set(excluded) <= {"z0", "z1", "z2"}
    assert all(tuned.model.schema.columns[name].reason == EXCLUDED for name in excluded)


def test_the_family_that_generated_the_numbers_is_selected():
    rng = np.random.default_rng(1)  # other seeds can leave the difference between two families within its error
    y = rng.choice(["p", "q"], 1500)
    table = {"x": np.exp(rng.normal(size=1500) + (y == "q")), "n": rng.poisson(3 + 2 * (y == "q")), "y": y}
    tuned = tb.tune(table, label="y", what="families", families=None)
    families = {name: str(field.family) for name, field in tuned.model.schema.columns.items()}
    assert families == {"x": "gaussian:log=True", "n": "poisson"}
    assert all("selected by tuning" in field.reason for field in tuned.model.schema.columns.values())
    given = tb.tune(table, label="y", what="families", families={"x": "gaussian"})
    assert str(given.model.schema.families["x"]) == "gaussian"


def test_a_number_without_a_logarithm_is_scored_as_missing_and_refused_in_learning():
    table = {"x": [1.0, 2.0, 3.0, 9.0], "y": ["p", "p", "q", "q"]}
    model = tb.fit(table, label="y", families={"x": "gaussian:log=True"}, column_weights=None)
    assert model.predict_proba({"x": [0.0, -3.0]}).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(DataError, match="a number above 0"):
        model.learn({"x": [0.0], "y": ["p"]})


def test_the_curve_is_the_leave_one_out_log_loss_of_each_k():
    table = copies(200, 2, noise=1)
    tuned = tb.tune(table, label="y", what="smoothing", strengths=7)
    assert len(tuned.curve) == 7
    codes = np.searchsorted(["p", "q"], table["y"])
    for point in tuned.curve[::3]:
        left = tb.fit(table, label="y", smoothing=point["k"], column_weights=None).leave_one_out(table)
        assert point["log_loss"] == pytest.approx(-left[np.arange(200), codes].mean(), rel=1e-9)
    assert "<- minimum" in str(tuned)


@pytest.mark.parametrize("rows", [30, 1000])
def test_the_result_does_not_depend_on_the_batches(tmp_path, rows):
    """A file is read in batches, a table at once."""
    pa, csv = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.csv")
    table = copies(400, 2, noise=2)
    csv.write_csv(pa.table(table), tmp_path / "table.csv")
    one, other = (
        tb.tune(table, label="y", rows=rows, strengths=5),
        tb.tune(str(tmp_path / "table.csv"), label="y", rows=rows, strengths=5),
    )
    assert one.to_dict() == other.to_dict()
    assert one.model.column_weights == other.model.column_weights


def test_label_and_weight_can_be_arrays():
    table = copies(200, 3)
    y, w = table.pop("y"), np.full(200, 2.0)
    tuned = tb.tune(table, y, sample_weight=w, what="column_weights")
    assert tuned.log_loss[1] <= tuned.log_loss[0]
    named = tb.tune(table | {"y": y, "w": w}, label="y", sample_weight="w", what="column_weights")
    assert tuned.model.column_weights == named.model.column_weights


def test_columns_of_every_family_can_be_tuned():
    table = mixed_frame(200)
    tuned = tb.tune(table, label=LABEL, strengths=4)
    assert tuned.log_loss[1] <= tuned.steps[0].after  # terms are added to column weights only if they help
    assert np.isfinite(tuned.model.predict_proba(table)).all()


def test_validation_uses_three_disjoint_parts():
    table = copies(3000, 3, noise=2)
    tuned = tb.tune(table, label="y", by="validation", strengths=5, seed=1)
    assert tuned.test is not None
    assert 450 < tuned.test.n_rows < 750
    assert sum(tuned.model.class_counts.values()) + tuned.test.n_rows == 3000
    assert tuned.log_loss[1] == min(tuned.log_loss[0], *(point["log_loss"] for point in tuned.curve))
    assert f"test part, {tuned.test.n_rows} rows: accuracy" in str(tuned)


def test_evidence_selects_the_k_with_the_largest_marginal_likelihood():
    table = {"x": ["a", "b", "b", "a", "c"] * 50, "y": ["p", "q"] * 125}
    tuned = tb.tune(table, label="y", by="evidence")
    k = tuned.model.settings.smoothing["x"]
    tried = {
        s: tb.fit(table, label="y", smoothing=s, column_weights=None).log_evidence()["x"] for s in (k / 4, k, k * 4)
    }
    assert max(tried, key=tried.get) == k


def test_progress_is_reported():
    calls, table = [], copies(100, 4, noise=1)
    table["interacting"] = np.where(table["y"] == "p", table["z0"], np.where(table["z0"] == "a", "b", "a"))
    what = [*DEFAULT, "smoothing"]
    tb.tune(table, label="y", what=what, strengths=3, progress=lambda step, share: calls.append((step, share)))
    assert {"smoothing", "column weights", "interactions", "counting", "fitting"} <= {step for step, _ in calls}
    assert all(0 <= share <= 1 for _, share in calls)


def test_smoothing_families_prior_and_columns_are_tuned_on_request_only():
    assert set(WHAT) - set(DEFAULT) == {"smoothing", "families", "class_smoothing", "columns"}
    table = mixed_frame(120)
    plain, tuned = tb.fit(table, label=LABEL), tb.tune(table, label=LABEL)
    assert tuned.curve == []
    assert tuned.model.settings.smoothing == plain.settings.smoothing
    families = tuned.model.schema.families
    members = {one.column for spec in tuned.model.schema.derived.values() for one in spec.reader.inputs}
    for name, family in plain.schema.families.items():  # those that are not given up for a group
        assert families.get(name, name in members and family) == family


def test_the_estimate_is_reported():
    tuned = tb.tune(copies(400, 3, noise=2), label="y")
    own = tuned.estimate
    assert own.log_loss == tuned.log_loss[1]
    assert own.n_rows == tuned.n_rows
    assert 0.5 < own.accuracy < 1
    assert 0 < own.error < own.log_loss
    assert tuned.to_dict()["estimate"]["accuracy"] == own.accuracy
    accuracy = f"accuracy {own.accuracy:.4f} (standard error {own.accuracy_error:.4f})"
    assert f"expected on new rows: {accuracy}, log loss {own.log_loss:.4f} (standard error" in str(tuned)
    assert tb.tune(copies(400, 3), label="y", what="smoothing", strengths=3).estimate is None


@pytest.mark.parametrize("seconds", [-1, float("nan"), "5", True, [1]])
def test_a_time_that_is_none_is_refused(seconds):
    with pytest.raises(ParameterError, match="seconds: a number of at least 0, or None"):
        tb.tune(copies(20, 1), label="y", seconds=seconds)


def test_without_time_the_weights_are_those_of_fit():
    table = copies(300, 4, noise=3)
    tuned = tb.tune(table, label="y", seconds=0)
    assert [step.name for step in tuned.steps] == ["column weights", "other terms"]
    assert "not tried: no time left" in str(tuned)
    assert tuned.steps[1].before == tuned.steps[1].after == tuned.steps[0].after
    assert tuned.is_default
    assert tuned.model.column_weights == tb.fit(table, label="y").column_weights
    assert tuned.model.schema.families.keys() == tb.fit(table, label="y").schema.families.keys()


def test_enough_time_is_as_good_as_any():
    table = copies(300, 3, noise=2)
    assert tb.tune(table, label="y", seconds=1e6).to_dict() == tb.tune(table, label="y").to_dict()


@pytest.mark.parametrize("options", [{"n": 30}, {"what": "text"}])
def test_what_was_not_measured_is_not_reported(options):
    """With too few rows for weights, or nothing to select, there is no log loss to report: least of all 0."""
    tuned = tb.tune(copies(options.get("n", 200), 2), label="y", **{k: v for k, v in options.items() if k != "n"})
    assert tuned.steps == []
    assert "log loss 0.0000 -> 0.0000" not in str(tuned)


@settings(max_examples=8)
@given(n=st.integers(10, 20), seed=st.integers(0, 5))
def test_small_tables_can_be_tuned(n, seed):
    rng = np.random.default_rng(seed)
    table = {"x": rng.normal(size=n), "c": rng.choice(["a", None], n), "y": ["p", "q"] + ["p"] * (n - 2)}
    tuned = tb.tune(table, label="y", strengths=2)
    assert np.isfinite(tuned.model.predict_proba(table)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"what": "everything"}, "what: a hyperparameter"),
        ({"by": "magic"}, "by: 'leave-one-out'"),
        ({"rows": 3}, "rows to be an integer of at least 10"),
        ({"strengths": 1}, "strengths"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        tb.tune(copies(20, 1), label="y", **options)


def test_one_class_and_streams_are_refused():
    with pytest.raises(DataError, match="at least two classes"):
        tb.tune({"x": [1, 2], "y": ["p", "p"]}, label="y")
    with pytest.raises(ParameterError, match="read more than once"):
        tb.tune(iter([{"x": [1, 2], "y": ["p", "q"]}]), label="y")


def test_column_evidence_sums_to_leave_one_out():
    table = mixed_frame(50)
    model = tb.fit(table, label=LABEL, smoothing=1.0, numeric="gaussian", column_weights=None)
    source = to_source(table)
    evidence = ColumnEvidence(model, sample_rows(source, model, LABEL, None, n_rows=50, limit=20, seed=0), LABEL, None)
    total = evidence.rows(model).log_prior + sum(evidence.of(model, name) for name in model.schema.families)
    chosen = np.sort(row_stream(0, "sample").choice(50, size=20, replace=False))
    expected = model.leave_one_out(table)[chosen]
    total -= np.log(np.exp(total - total.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)) + total.max(
        axis=1, keepdims=True
    )
    np.testing.assert_allclose(total, expected, atol=1e-9)


@pytest.mark.parametrize(("name", "label"), [("car", "class"), ("votes", "Class"), ("wine", "class")])
def test_tuning_does_not_harm_on_real_tables(shared_data, name, label):
    """Threefold cross-validation: the log loss is at most 2 % larger."""
    pd = pytest.importorskip("pandas")
    frame = pd.read_parquet(shared_data / f"{name}.parquet")
    fold, losses = np.random.default_rng(0).permutation(np.arange(len(frame)) % 3), []
    for number in range(3):
        train, test = frame[fold != number], frame[fold == number]
        tuned = tb.tune(train, label=label).model
        losses.append(
            [tb.evaluate(model, test).log_loss for model in (tb.fit(train, label=label, column_weights=None), tuned)]
        )
    before, after = np.mean(losses, axis=0)
    assert after < before * 1.02


def leave_one_out_log_loss(model, table, label):
    log_p = model.leave_one_out(table)
    codes = np.array([model.classes.index(one) for one in table[label]])
    return -log_p[np.arange(len(codes)), codes].mean()


@pytest.mark.parametrize("what", ["smoothing", "families", "class_smoothing", "columns"])
def test_the_reported_log_loss_is_that_of_the_model(what):
    """Before and after tuning, by leave-one-out on the same rows."""
    table = mixed_frame(150)
    fixed = {"label": LABEL, "smoothing": 1.0, "numeric": "gaussian"}
    plain = tb.fit(table, **fixed, column_weights=None)
    tuned = tb.tune(table, what=what, strengths=5, **fixed)
    assert tuned.log_loss[0] == pytest.approx(leave_one_out_log_loss(plain, table, LABEL), rel=1e-9)
    assert tuned.log_loss[1] == pytest.approx(leave_one_out_log_loss(tuned.model, table, LABEL), rel=1e-9)


def test_maximum_likelihood_has_no_smoothing_to_tune():
    with pytest.raises(ParameterError, match="estimate='bayes'"):
        tb.tune(copies(100, 2), label="y", what="smoothing", estimate="mle")
    tuned = tb.tune(copies(100, 2), label="y", estimate="mle")
    assert not [step for step in tuned.steps if "k " in step.name]


def test_a_model_tuned_on_arrays_has_no_label_column():
    table = copies(100, 2)
    y = table.pop("y")
    tuned, fitted_model = (
        tb.tune(table, y, sample_weight=np.ones(100)).model,
        tb.fit(table, label=y, column_weights=None),
    )
    assert (tuned.schema.label, tuned.schema.weight) == (None, None)
    tuned.learn({"x0": ["p"], "x1": ["p"]}, label=["p"])
    assert sum(fitted_model.merge(tuned).class_counts.values()) == 201


def test_given_options_of_text_are_kept():
    table = {"note": [f"cash prize {i}" if i % 2 else f"lunch noon {i}" for i in range(80)], "y": ["p", "q"] * 40}
    for family in ("text:variant=complement,tf=count,k=3.0", "text:variant=presence,k=1.0"):
        tuned = tb.tune(table, label="y", families={"note": family}, strengths=3)
        assert str(tuned.model.schema.families["note"]) == family
        assert tuned.model.settings.smoothing_of("note") == "auto"


def test_an_unseen_value_is_treated_as_missing_after_tuning():
    table = copies(300, 2)
    tuned = tb.tune(table, label="y").model
    missing = tuned.predict_proba([{}])
    np.testing.assert_allclose(tuned.predict_proba([{"x0": "never", "x1": "seen"}]), missing, atol=0.02)


@pytest.mark.filterwarnings("ignore:.* could not be read and w:tallybayes.errors.DataWarning")
def test_bad_rows_are_counted_once(tmp_path):
    lines = ["x,z,w,y"] + [f"{i % 7}.5,{i},1,{'p' if i % 3 else 'q'}" for i in range(120)]
    lines[50] = "inf,1,1,p"
    lines[70] = "-inf,2,1,q"
    path = tmp_path / "bad.csv"
    path.write_text("\n".join(lines))
    for by in ("leave-one-out", "validation"):
        source = tb.read(str(path), skip_bad=True)
        tuned = tb.tune(source, label="y", families={"x": "gaussian"}, sample_weight="w", by=by, strengths=3)
        assert source.bad.count == 2
        n_test = 0 if tuned.test is None else tuned.test.n_rows
        assert sum(tuned.model.class_counts.values()) + n_test == 118


def test_numbers_with_missing_values_in_a_file_can_be_tuned(tmp_path):
    """Written as 1.0, as pandas does where values are missing."""
    lines = ["ca,y"] + [f"{'' if i % 5 == 0 else f'{i % 4}.0'},{'p' if i % 4 > 1 else 'q'}" for i in range(100)]
    path = tmp_path / "gaps.csv"
    path.write_text("\n".join(lines))
    assert np.isfinite(tb.tune(str(path), label="y", strengths=3).log_loss).all()


def test_log_likelihoods_of_long_texts_are_not_truncated():
    """They can exceed a hundred nats."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    table = {"t": [" ".join(rng.choice(words[: 30 + 10 * (i % 2)], 300)) for i in range(60)], "y": ["p", "q"] * 30}
    options = {"label": "y", "families": {"t": "text:variant=counts,tf=count,k=0.01"}}
    tuned = tb.tune(table, what="class_smoothing", **options)
    assert tuned.log_loss[0] == pytest.approx(
        leave_one_out_log_loss(tb.fit(table, **options, column_weights=None), table, "y"), rel=1e-9, abs=1e-12
    )


def test_a_class_of_prior_probability_zero_can_be_tuned():
    table = copies(60, 2)
    tuned = tb.tune(table, label="y", class_prior={"p": 0.0, "q": 1.0}, strengths=3)
    assert np.isfinite(tuned.log_loss).all()


def texts(n=120):
    """Documents whose classes differ in the words they repeat."""
    rng = np.random.default_rng(4)
    labels = [str(label) for label in rng.choice(["ham", "spam"], n)]
    words = {"ham": ["lunch", "noon", "team"], "spam": ["cash", "prize", "team"]}
    return {"note": [" ".join(rng.choice(words[label], 5)) for label in labels], "n": rng.poisson(3, n), "y": labels}


def test_validation_makes_no_choice_by_the_test_part():
    """Other texts in the rows of the test part, which is that of `split`, change neither families nor k."""
    table = texts()
    tuned = tb.tune(table, label="y", by="validation", strengths=5, seed=3)
    numbers = {"i": list(range(120)), "y": table["y"]}
    is_test = np.isin(np.arange(120), tb.split(numbers, label="y", parts=(60, 20, 20), seed=3)[2]["i"])
    notes = [note if not test else note[::-1] * 9 for note, test in zip(table["note"], is_test, strict=True)]
    changed = {**table, "note": notes}
    other = tb.tune(changed, label="y", by="validation", strengths=5, seed=3)
    assert other.test.n_rows == tuned.test.n_rows == is_test.sum()
    assert {name: str(family) for name, family in other.model.schema.families.items()} == {
        name: str(family) for name, family in tuned.model.schema.families.items()
    }
    assert other.model.settings == tuned.model.settings
    assert (other.curve, other.log_loss, other.steps) == (tuned.curve, tuned.log_loss, tuned.steps)
    assert other.model == tuned.model
    assert other.test.log_loss != tuned.test.log_loss


def test_validation_without_rows_in_a_part_is_refused():
    table = {"x": ["a", "b"] * 6, "y": [None if draw < 0.8 else "p" for draw in np.random.default_rng(0).random(12)]}
    with pytest.raises(DataError, match="two classes in the training part"):
        tb.tune(table, label="y", by="validation", strengths=2)
