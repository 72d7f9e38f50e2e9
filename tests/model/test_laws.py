"""The promises of the project, as laws over random tables of mixed columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tables import FAMILIES, LABEL, doubles, in_order, mixed_frame, pieces, row, rows
from tallybayes.io.read import to_source


def fit(data, **options):
    columns = {name for one in data for name in one}
    families = {name: family for name, family in FAMILIES.items() if name in columns}
    table = data if any(LABEL in one for one in data) else {LABEL: []}
    return tb.fit(table, label=LABEL, families=families, **options)


def empty():
    schema = {name: [] for name in FAMILIES} | {LABEL: []}
    return tb.fit(schema, label=LABEL, families=FAMILIES)


def learned(data, model=None):
    model = model or empty()
    if data:
        model.learn(data)
    return model


@given(rows, st.data())
def test_order_of_rows_does_not_matter(table, data):
    shuffled = [table[i] for i in in_order(data, len(table))]
    assert learned(shuffled).same_counts(learned(table))


@given(rows, st.data())
def test_batches_and_merge_trees_do_not_matter(table, data):
    whole = learned(table)
    parts = [learned(piece) for piece in pieces(data, table)]
    one_by_one = empty()
    for piece in pieces(data, table):
        learned(piece, one_by_one)
    while len(parts) > 1:
        i = data.draw(st.integers(0, len(parts) - 2))
        parts[i : i + 2] = [parts[i].merge(parts[i + 1])]
    assert parts[0].same_counts(whole)
    assert one_by_one.same_counts(whole)


@given(rows, rows)
def test_merge_commutes_and_empty_is_its_identity(a, b):
    assert learned(a).merge(learned(b)).same_counts(learned(b).merge(learned(a)))
    assert learned(a).merge(empty()).same_counts(learned(a))
    assert empty().merge(empty()).same_counts(empty())


@given(rows, rows)
def test_forgetting_gives_the_model_that_never_saw_the_rows(a, b):
    model = learned(b, learned(a))
    if b:
        model.forget(b)
    assert model.same_counts(learned(a))
    assert model.classes == learned(a).classes


@given(rows, st.data())
def test_equal_sums_score_equal_bit_for_bit(table, data):
    shuffled = [table[i] for i in in_order(data, len(table))]
    one, other = learned(table), learned(shuffled)
    probe = [{name: value for name, value in one_row.items() if name != LABEL} for one_row in table]
    if one.classes and probe:
        assert np.array_equal(one.log_score(probe), other.log_score(probe))


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_equal_sums_of_many_keys_score_equal_bit_for_bit(seed):
    """Forty keys and a few hundred rows: enough for the order of arrival to show in a sum of rounded terms."""
    rng = np.random.default_rng(seed)
    data = [
        {
            "kind": f"k{rng.integers(40)}",
            "genre": [f"t{i}" for i in rng.choice(40, 3, replace=False)],
            "words": {f"w{i}": int(rng.integers(1, 4)) for i in rng.choice(40, 3, replace=False)},
            LABEL: "pqr"[rng.integers(3)],
        }
        for _ in range(200)
    ]
    families = {"kind": "categorical", "genre": "tags", "words": "multinomial"}
    given = {"label": LABEL, "families": families, "column_weights": None}
    whole = tb.fit(data, **given)
    shuffled = tb.fit([data[i] for i in rng.permutation(200)], **given)
    merged = tb.fit(data[120:], **given).merge(tb.fit(data[:120], **given))
    there_and_back = tb.fit(data[50:], **given)
    for one in data[:50]:
        there_and_back.learn([one])
    there_and_back.learn(data[:70])
    there_and_back.forget(data[:70])
    for other in (shuffled, merged, there_and_back):
        assert other.same_counts(whole)
        assert np.array_equal(other.log_score(data), whole.log_score(data))


@given(rows, st.lists(row, min_size=1, max_size=5))
def test_a_row_scores_alone_as_in_a_batch(table, probe):
    model = learned(table)
    if not model.classes:
        return
    together = model.log_score(to_source(probe))  # by the general path
    assert np.array_equal(model.log_score(probe), together)
    alone = np.concatenate([model.log_score([one]) for one in probe])
    assert np.array_equal(together, alone)


@given(rows, st.lists(row, min_size=1, max_size=5))
def test_finite_input_gives_finite_log_odds_and_probabilities_that_add_up(table, probe):
    model = learned(table)
    if model.classes:
        log_score = model.log_score(probe)
        assert np.isfinite(log_score).all()
        p = model.predict_proba(probe)
        assert np.allclose(p.sum(axis=1), 1, rtol=1e-12)
        assert (p >= 0).all()


@given(rows, st.data())
def test_whole_weights_equal_repeated_rows(table, data):
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)))
    if not table:
        return
    weighted = empty()
    weighted.learn(table, sample_weight=np.array(weights, float))
    repeated = [one for one, weight in zip(table, weights, strict=True) for _ in range(weight)]
    assert weighted.same_counts(learned(repeated))


@given(rows, st.data())
def test_fractional_weights_are_exact_in_any_order(table, data):
    if not table:
        return
    weight = st.one_of(st.floats(0, 10), st.sampled_from([1e-5, 0.1, 1e300, 5e-324, 1 / 3]))
    weights = data.draw(st.lists(weight, min_size=len(table), max_size=len(table)))
    weights = [w if w < 1e18 else 0.7 for w in weights]  # counts end at 2**63
    order = in_order(data, len(table))
    one, other = empty(), empty()
    one.learn(table, sample_weight=weights)
    other.learn([table[i] for i in order], sample_weight=[weights[i] for i in order])
    assert one.same_counts(other)
    one.forget(table, sample_weight=weights)
    assert one.same_counts(empty())


@given(rows)
def test_renaming_classes_renames_answers(table):
    names = {"p": "z", "q": "b", "r": "a", None: None}
    renamed = learned([{**one, LABEL: names[one[LABEL]]} for one in table])
    model = learned(table)
    assert sorted(names[c] for c in model.classes) == renamed.classes
    if model.classes:
        probe = [{name: v for name, v in one.items() if name != LABEL} for one in table]
        order = [renamed.classes.index(names[c]) for c in model.classes]
        assert np.allclose(model.log_score(probe), renamed.log_score(probe)[:, order], rtol=1e-9, atol=1e-9)


@given(rows)
def test_order_of_columns_does_not_matter(table):
    turned = [dict(reversed(one.items())) for one in table]
    assert learned(turned).same_counts(learned(table))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_threads_do_not_matter(threads, weighted, monkeypatch):
    from tallybayes.arrays import chunks

    monkeypatch.setattr(chunks, "SMALL", 8)
    sizes = []
    pool = chunks._pool
    monkeypatch.setattr(chunks, "_pool", lambda size: sizes.append(size) or pool(size))
    table = mixed_frame(997)
    weight = np.random.default_rng(1).random(997) if weighted else None
    monkeypatch.setenv("TALLYBAYES_THREADS", "1")
    alone = tb.fit(table, label=LABEL, families=FAMILIES, sample_weight=weight)
    monkeypatch.setenv("TALLYBAYES_THREADS", threads)
    together = tb.fit(table, label=LABEL, families=FAMILIES, sample_weight=weight)
    assert alone.same_counts(together)
    assert set(sizes) == ({int(threads)} if threads != "1" else set())
    probe = {name: values for name, values in table.items() if name != LABEL}
    assert np.array_equal(alone.predict_proba(probe), together.predict_proba(probe))


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
@settings(max_examples=15)
def test_histograms_coarsen_the_same_in_any_order(seed, n_parts):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=3000) * 10.0 ** rng.integers(-5, 5, 3000)
    y = rng.integers(0, 2, 3000)
    whole = tb.fit({"x": x, "y": y}, label="y")
    order = rng.permutation(3000)
    merged = None
    for part in np.array_split(order, n_parts):
        model = tb.fit({"x": x[part], "y": y[part]}, label="y")
        merged = model if merged is None else merged.merge(model)
    assert merged.same_counts(whole)


def test_forgetting_on_a_coarse_grid_says_so_and_subtracts_on_the_present_grid():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=5000), rng.integers(0, 2, 5000)
    model = tb.fit({"x": x, "y": y}, label="y")
    change = model.forget({"x": x[:2000], "y": y[:2000]})
    assert "present grid" in change.notes[0]
    rest = tb.fit({"x": x[2000:], "y": y[2000:]}, label="y")
    assert model.class_counts == rest.class_counts
    (grid,), (fresh,) = (
        model.snapshot().state.statistics.blocks.values(),
        rest.snapshot().state.statistics.blocks.values(),
    )
    assert (grid.levels > 0).all()
    assert grid.same(fresh.at_levels(grid.levels).summed(coarsen=False))
    model.forget({"x": x[2000:], "y": y[2000:]})
    assert model.classes == []


numbers = st.one_of(st.none(), doubles, st.integers(-(2**60), 2**60))
number_rows = st.lists(
    st.fixed_dictionaries({LABEL: st.sampled_from([0, 1])}, optional=dict.fromkeys("abc", numbers)), max_size=12
)


@given(number_rows)
@settings(max_examples=200)
def test_single_rows_of_numbers_take_a_quick_way_to_the_same_bits(table):
    start = [{"a": 1.0, "b": 2.0, "c": 3.5, LABEL: 0}, {"a": 2.0, "b": 0.5, "c": -1.0, LABEL: 1}]
    one, whole = (tb.fit(start, label=LABEL, numeric="gaussian") for _ in range(2))
    for single in table:
        one.learn(dict(single))
    if table:
        whole.learn(table)
    assert one.same_counts(whole)
    for single in table:
        probe = {name: value for name, value in single.items() if name != LABEL}
        assert np.array_equal(one.predict_proba(probe), whole.predict_proba(to_source([probe])))
    if table:
        one.forget(table)
    assert one.same_counts(tb.fit(start, label=LABEL, numeric="gaussian"))


@given(rows)
def test_an_explanation_adds_up_to_the_score(table):
    model = learned(table)
    if not model.classes:
        return
    probe = [{name: v for name, v in one.items() if name != LABEL} for one in table]
    log_score = model.log_score(probe)
    for explanation, score in zip(model.explain(probe), log_score, strict=True):
        assert np.allclose(explanation.log_score, score, rtol=1e-9, atol=1e-9)


@given(rows)
def test_copies_are_independent(table):
    model = learned(table)
    copy = model.copy()
    copy.learn([{LABEL: "p", "real": 1.0, "kind": "red"}])
    assert model.same_counts(learned(table))
