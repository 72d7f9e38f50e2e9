"""Tuning: gradients are right, choices are honest, nothing is made worse by much."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

import tallybayes as tb
from tables import LABEL, mixed_frame
from tallybayes.data.source import to_source
from tallybayes.errors import DataError, ParameterError
from tallybayes.tuning.column_evidence import Evidence, sampled
from tallybayes.tuning.weight_fit import KINDS, _Problem, cross_fitted, fitted

DATA = Path(__file__).parents[3] / "shared" / "data"


def problem(seed=0, n=40, columns=3, classes=3):
    rng = np.random.default_rng(seed)
    evidence, codes = rng.normal(size=(columns, n, classes)), rng.integers(0, classes, n).astype(np.int32)
    log_prior = np.log(rng.dirichlet(np.ones(classes), n))
    return log_prior, evidence, codes, rng.choice([0.5, 1.0, 2.0], n)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_the_slope_of_the_loss_is_its_slope(kind):
    own = _Problem(kind, *problem(), True)
    for seed in range(3):
        at = np.random.default_rng(seed).random(own._n + 1 + 3)
        np.testing.assert_allclose(own._loss(at)[1], approx_fprime(at, lambda v: own._loss(v)[0], 1e-7), atol=1e-4)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_the_weights_found_are_the_best_near_them(kind):
    given = problem()
    own, found = _Problem(kind, *given, True), fitted(kind, *given)
    assert (found.weights >= 0).all()
    best = own.solved()
    rng = np.random.default_rng(0)
    for _ in range(50):
        near = best + rng.normal(size=len(best)) * 0.05
        near[: own._n + 1] = np.maximum(near[: own._n + 1], 0.0)
        assert own._loss(near)[0] >= own._loss(best)[0] - 1e-6


def copies(n, times, noise=0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q"], n)
    x = np.where(rng.random(n) < 0.75, y, rng.choice(["p", "q"], n))
    return {f"x{i}": x for i in range(times)} | {f"z{i}": rng.choice(["a", "b"], n) for i in range(noise)} | {"y": y}


def test_copies_of_a_column_share_its_weight():
    tuned = tb.tune(copies(2000, 4), label="y", what="weights")
    assert sum(tuned.model.column_weights.weights.values()) == pytest.approx(1.0, abs=0.15)
    assert tuned.log_loss[1] < tuned.log_loss[0]
    assert tuned.model.stale == []


def test_left_out_is_what_new_rows_will_say():
    """The log loss that is told is that on other rows of the same kind, within a few standard errors."""
    tuned = tb.tune(copies(3000, 4, noise=3), label="y")
    fresh = tb.evaluate(tuned.model, copies(3000, 4, noise=3, seed=1))
    assert fresh.log_loss == pytest.approx(tuned.log_loss[1], abs=0.03)
    plain = tb.evaluate(tb.fit(copies(3000, 4, noise=3), label="y"), copies(3000, 4, noise=3, seed=1))
    assert plain.log_loss == pytest.approx(tuned.log_loss[0], abs=0.15)  # rows that are wrong cost several nats each


def test_columns_of_noise_go():
    table = copies(1500, 1)
    rng = np.random.default_rng(0)
    table |= {f"z{i}": rng.integers(0, 300, 1500).astype(str) for i in range(3)}
    tuned = tb.tune(
        table, label="y", what="columns", smoothing=0.01, families=dict.fromkeys(table.keys() - {"y"}, "categorical")
    )
    gone = [name for name, field in tuned.model.schema.fields.items() if field.family is None]
    assert {"z1", "z2"} <= set(gone) <= {"z0", "z1", "z2"}
    assert all("left out by tuning" in tuned.model.schema.fields[name].reason for name in gone)


def test_the_family_that_made_the_numbers_wins():
    rng = np.random.default_rng(0)
    y = rng.choice(["p", "q"], 1500)
    table = {"x": np.exp(rng.normal(size=1500) + (y == "q")), "n": rng.poisson(3 + 2 * (y == "q")), "y": y}
    tuned = tb.tune(table, label="y", what="families", families=None)
    families = {name: str(field.family) for name, field in tuned.model.schema.fields.items()}
    assert families["x"] == "gaussian:log=True"
    assert families["n"] in ("histogram", "poisson", "gaussian")
    assert "chosen by tuning" in tuned.model.schema.fields["x"].reason
    asked = tb.tune(table, label="y", what="families", families={"x": "gaussian"})
    assert str(asked.model.schema.families["x"]) == "gaussian"


def test_a_number_that_has_no_logarithm_is_silent_and_cannot_be_learned():
    table = {"x": [1.0, 2.0, 3.0, 9.0], "y": ["p", "p", "q", "q"]}
    model = tb.fit(table, label="y", families={"x": "gaussian:log=True"})
    assert model.predict_proba({"x": [0.0, -3.0]}).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(DataError, match="a number above 0"):
        model.learn({"x": [0.0], "y": ["p"]})


def test_the_curve_is_the_leave_one_out_log_loss_of_each_k():
    table = copies(200, 2, noise=1)
    tuned = tb.tune(table, label="y", what="smoothing", strengths=7)
    assert len(tuned.curve) == 7
    codes = np.searchsorted(["p", "q"], table["y"])
    for point in tuned.curve[::3]:
        left = tb.fit(table, label="y", smoothing=point["k"]).leave_one_out(table)
        assert point["log_loss"] == pytest.approx(-left[np.arange(200), codes].mean(), rel=1e-9)
    assert "<- the least" in str(tuned)


@pytest.mark.parametrize("rows", [30, 1000])
def test_the_order_of_batches_does_not_matter(tmp_path, rows):
    """A file is read in batches, a table at once; both give the same model."""
    pa, csv = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.csv")
    table = copies(400, 2, noise=2)
    csv.write_csv(pa.table(table), tmp_path / "table.csv")
    one, other = tb.tune(table, label="y", rows=rows), tb.tune(str(tmp_path / "table.csv"), label="y", rows=rows)
    assert one.to_dict() == other.to_dict()
    assert one.model.column_weights == other.model.column_weights


def test_arrays_as_label_and_weight():
    table = copies(200, 3)
    y, w = table.pop("y"), np.full(200, 2.0)
    tuned = tb.tune(table, y, weight=w, what="weights")
    assert tuned.log_loss[1] <= tuned.log_loss[0]
    named = tb.tune(table | {"y": y, "w": w}, label="y", weight="w", what="weights")
    assert list(tuned.model.column_weights.weights.values()) == pytest.approx(
        list(named.model.column_weights.weights.values())
    )


def test_every_kind_of_column_can_be_tuned():
    table = mixed_frame(200)
    tuned = tb.tune(table, label=LABEL, strengths=4)
    assert tuned.log_loss[1] <= tuned.log_loss[0]
    assert np.isfinite(tuned.model.predict_proba(table)).all()


def test_validation_touches_the_test_once():
    table = copies(3000, 3, noise=2)
    tuned = tb.tune(table, label="y", by="validation", strengths=5, seed=1)
    assert tuned.test is not None
    assert 450 < tuned.test.n_rows < 750
    assert sum(tuned.model.class_counts.values()) + tuned.test.n_rows == 3000
    assert tuned.log_loss[1] == min(tuned.log_loss[0], *(point["log_loss"] for point in tuned.curve))
    assert "touched once" in str(tuned)


def test_evidence_chooses_from_the_sums_alone():
    table = {"x": ["a", "b", "b", "a", "c"] * 50, "y": ["p", "q"] * 125}
    tuned = tb.tune(table, label="y", by="evidence")
    k = tuned.model.settings.smoothing["x"]
    tried = {s: tb.fit(table, label="y", smoothing=s).log_evidence()["x"] for s in (k / 4, k, k * 4)}
    assert max(tried, key=tried.get) == k


def test_it_is_told_how_far_it_is():
    told = []
    tb.tune(copies(100, 2), label="y", strengths=3, progress=lambda what, share: told.append((what, share)))
    assert {"smoothing", "weights of columns"} <= {what for what, _ in told}
    assert all(0 <= share <= 1 for _, share in told)


@settings(max_examples=15, deadline=None)
@given(n=st.integers(10, 20), seed=st.integers(0, 5))
def test_small_tables_are_tuned_too(n, seed):
    rng = np.random.default_rng(seed)
    table = {"x": rng.normal(size=n), "c": rng.choice(["a", None], n), "y": ["p", "q"] + ["p"] * (n - 2)}
    tuned = tb.tune(table, label="y", strengths=2)
    assert np.isfinite(tuned.model.predict_proba(table)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"what": "everything"}, "something that can be tuned"),
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


def test_weights_are_judged_on_rows_kept_apart():
    """On rows that are no better than chance, weights must not look better than none."""
    log_prior, evidence, codes, weights = problem(n=60, columns=8)
    apart = cross_fitted("per class", log_prior, evidence, codes, weights).mean()
    inside = fitted("per class", log_prior, evidence, codes, weights).log_joint(log_prior, evidence)
    top = inside - inside.max(axis=1, keepdims=True)
    assert apart > (np.log(np.exp(top).sum(axis=1)) - top[np.arange(60), codes]).mean()


def test_evidence_is_that_of_the_model_without_the_row():
    table = mixed_frame(50)
    model = tb.fit(table, label=LABEL, smoothing=1.0)
    source = to_source(table)
    evidence = Evidence(model, sampled(source, model, LABEL, None, n_rows=50, limit=20, seed=0), LABEL, None)
    judged = evidence.judged(model)
    total = judged.log_prior + sum(evidence.of(model, name) for name in model.schema.families)
    chosen = np.sort(np.random.default_rng(0).choice(50, size=20, replace=False))
    expected = model.leave_one_out(table)[chosen]
    total -= np.log(np.exp(total - total.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)) + total.max(
        axis=1, keepdims=True
    )
    np.testing.assert_allclose(total, expected, atol=1e-9)


@pytest.mark.skipif(not DATA.exists(), reason="the shared tables are not here")
@pytest.mark.parametrize(("name", "label"), [("car", "class"), ("votes", "Class"), ("wine", "class")])
def test_real_tables_are_not_made_worse(name, label):
    """Tuned on two thirds and judged on the rest, in turn: better on average, never by more than 2 % worse."""
    pd = pytest.importorskip("pandas")
    frame = pd.read_parquet(DATA / f"{name}.parquet")
    fold, losses = np.random.default_rng(0).permutation(np.arange(len(frame)) % 3), []
    for number in range(3):
        train, test = frame[fold != number], frame[fold == number]
        tuned = tb.tune(train, label=label).model
        losses.append([tb.evaluate(model, test).log_loss for model in (tb.fit(train, label=label), tuned)])
    before, after = np.mean(losses, axis=0)
    assert after < before * 1.02


def left_out_log_loss(model, table, label):
    log_p = model.leave_one_out(table)
    codes = np.array([model.classes.index(one) for one in table[label]])
    return -log_p[np.arange(len(codes)), codes].mean()


@pytest.mark.parametrize("what", ["smoothing", "families", "text", "prior", "columns"])
def test_what_is_told_is_what_the_model_does(what):
    """The log loss of the steps is that of the tuned model on the same rows, each left out."""
    table = mixed_frame(150)
    plain = tb.fit(table, label=LABEL)
    tuned = tb.tune(table, label=LABEL, what=what, strengths=5)
    assert tuned.log_loss[0] == pytest.approx(left_out_log_loss(plain, table, LABEL), rel=1e-9)
    assert tuned.log_loss[1] == pytest.approx(left_out_log_loss(tuned.model, table, LABEL), rel=1e-9)


def test_maximum_likelihood_has_no_smoothing_to_choose():
    with pytest.raises(ParameterError, match="estimate='bayes'"):
        tb.tune(copies(100, 2), label="y", what="smoothing", estimate="mle")
    tuned = tb.tune(copies(100, 2), label="y", estimate="mle")
    assert not [step for step in tuned.steps if "k " in step.what]


def test_a_model_of_arrays_is_like_one_that_was_fitted():
    table = copies(100, 2)
    y = table.pop("y")
    tuned, fitted_model = tb.tune(table, y, weight=np.ones(100)).model, tb.fit(table, label=y)
    assert (tuned.schema.label, tuned.schema.weight) == (None, None)
    tuned.learn({"x0": ["p"], "x1": ["p"]}, label=["p"])
    assert sum(fitted_model.merge(tuned).class_counts.values()) == 201


def test_options_of_text_that_are_asked_for_stay():
    table = {"note": [f"cash prize {i}" if i % 2 else f"lunch noon {i}" for i in range(80)], "y": ["p", "q"] * 40}
    for asked in ("text:variant=complement,tf=count,k=3.0", "text:variant=presence,k=1.0"):
        tuned = tb.tune(table, label="y", families={"note": asked}, strengths=3)
        assert str(tuned.model.schema.families["note"]) == asked
        assert tuned.model.settings.smoothing_of("note") == "auto"


def test_a_value_never_seen_says_nothing_after_tuning():
    table = copies(300, 2)
    tuned = tb.tune(table, label="y").model
    nothing = tuned.predict_proba([{}])
    np.testing.assert_allclose(tuned.predict_proba([{"x0": "never", "x1": "seen"}]), nothing, atol=0.02)


def test_bad_rows_are_left_out_once(tmp_path):
    lines = ["x,z,w,y"] + [f"{i % 7}.5,{i},1,{'p' if i % 3 else 'q'}" for i in range(120)]
    lines[50] = "inf,1,1,p"
    lines[70] = "what,2,1,q"
    path = tmp_path / "bad.csv"
    path.write_text("\n".join(lines))
    for by in ("leave-one-out", "validation"):
        source = tb.read(str(path), skip_bad=True)
        tuned = tb.tune(source, label="y", families={"x": "gaussian"}, weight="w", by=by, strengths=3)
        assert source.bad.count == 2
        n_test = 0 if tuned.test is None else tuned.test.n_rows
        assert sum(tuned.model.class_counts.values()) + n_test == 118


def test_numbers_of_a_file_with_gaps_can_be_tuned(tmp_path):
    """Written as 1.0 where there are gaps, as pandas does."""
    lines = ["ca,y"] + [f"{'' if i % 5 == 0 else f'{i % 4}.0'},{'p' if i % 4 > 1 else 'q'}" for i in range(100)]
    path = tmp_path / "gaps.csv"
    path.write_text("\n".join(lines))
    assert np.isfinite(tb.tune(str(path), label="y", strengths=3).log_loss).all()


def test_long_texts_are_not_cut_short():
    """A text may say more than a hundred nats."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    table = {"t": [" ".join(rng.choice(words[: 30 + 10 * (i % 2)], 300)) for i in range(60)], "y": ["p", "q"] * 30}
    options = {"label": "y", "families": {"t": "text:variant=counts,tf=count,k=0.01"}}
    tuned = tb.tune(table, what="prior", **options)
    assert tuned.log_loss[0] == pytest.approx(
        left_out_log_loss(tb.fit(table, **options), table, "y"), rel=1e-9, abs=1e-12
    )


def test_a_prior_that_rules_out_a_class_does_not_stop_it():
    table = copies(60, 2)
    tuned = tb.tune(table, label="y", prior={"p": 0.0, "q": 1.0}, strengths=3)
    assert np.isfinite(tuned.log_loss).all()
