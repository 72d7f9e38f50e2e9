"""Counting in pieces equals counting at once, bit for bit, however pieces are cut and combined."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from mixed_table import cut, mixed_table
from tables import FAMILIES, LABEL, in_order, pieces, rows
from tallybayes import engines
from tallybayes.model.saved_model import dumps


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sample_weight": "w"},
        {"dependence": "one"},
        {"column_weights": None, "numeric": "gaussian"},
        {"class_weight": "balanced", "missing_as_value": True, "ignore": ["when", "w"]},
    ],
    ids=["default", "weighted rows", "dependence", "gaussian", "class weights"],
)
def test_a_model_fitted_in_pieces_is_the_model(options):
    table = mixed_table(600)
    whole = dumps(tb.fit(table, LABEL, **options))
    plan = engines.plan_fit(table, LABEL, **options)
    sums = set()
    for n_parts in (1, 7, 60):
        parts = [engines.partial([piece], plan.to_bytes()) for piece in cut(table, n_parts)]
        order = np.random.default_rng(n_parts).permutation(n_parts)
        part = engines.combine(parts[i] for i in order)
        sums.add(part)
        assert dumps(engines.fitted(plan, part)) == whole
    assert len(sums) == 1  # the partial sums are equal too


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data(), table=rows)
def test_combining_is_associative_and_commutative_with_an_identity(data, table):
    plan = engines.plan_fit(table or [{LABEL: "p"}], LABEL, families=families_of(table)).to_bytes()
    parts = [engines.partial([piece] if piece else [], plan) for piece in pieces(data, table)]
    total = engines.combine(*parts)
    assert engines.combine(*[parts[i] for i in in_order(data, len(parts))]) == total
    place = data.draw(st.integers(0, len(parts)))
    halves = [engines.combine(*half) for half in (parts[:place], parts[place:]) if half]
    assert engines.combine(*halves) == total
    nothing = engines.partial([], plan)
    assert engines.combine(nothing, total) == engines.combine(total, nothing) == engines.combine(total) == total


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:please check:tallybayes.errors.DataWarning")
@settings(max_examples=60)
@given(data=st.data(), table=rows)
def test_any_pieces_give_the_model_of_all_rows(data, table):
    options = {"families": families_of(table), "column_weights": data.draw(st.sampled_from(["auto", None]))}
    if not table:
        return
    plan = engines.plan_fit(table, LABEL, **options)
    parts = [engines.partial([piece] if piece else [], plan.to_bytes()) for piece in pieces(data, table)]
    model = engines.fitted(plan, engines.combine(parts[i] for i in in_order(data, len(parts))))
    assert dumps(model) == dumps(tb.fit(table, LABEL, **options))


def families_of(table):
    """The families of the columns that a table has."""
    names = {name for row in table for name in row}
    return {name: family for name, family in FAMILIES.items() if name in names}


@pytest.mark.parametrize("verb", ["learn", "forget"])
def test_a_model_learns_and_forgets_in_pieces(verb):
    table = mixed_table(400)
    first, second = table.slice(0, 250), table.slice(250)
    model = tb.fit(table if verb == "forget" else first, LABEL)
    other = model.copy()
    plan = engines.plan_change(model, second, verb=verb)
    parts = [engines.partial([piece], plan.to_bytes()) for piece in cut(second, 5)]
    change = engines.apply(model, plan, engines.combine(parts), verb=verb)
    assert change == getattr(other, verb)(second)
    assert dumps(model) == dumps(other)


def test_new_columns_and_labels_are_learned_in_pieces():
    table = pa.table({"a": [1.5, 2.5, 3.5, 4.5], "b": ["x", "y", "x", "y"], "y": ["p", "q", "p", "r"]})
    model = tb.fit(table.select(["a", "y"]).slice(0, 2), "y")
    other = model.copy()
    plan = engines.plan_change(model, table)
    parts = [engines.partial([table.slice(i, 1)], plan.to_bytes()) for i in range(4)]
    assert engines.apply(model, plan, engines.combine(parts)) == other.learn(table)
    assert dumps(model) == dumps(other)
    assert model.schema.columns["b"].reason.startswith("new column")


def test_equal_rows_that_are_written_differently_are_one_row_of_the_sample():
    plan = engines.plan_fit({"x": [0.5, 2.0], "t": ["a b", "b"], "y": ["p", "q"]}, "y", families={"t": "text"})
    pieces_ = [{"x": [0.0], "t": ["A b"], "y": ["p"]}, {"x": [-0.0], "t": ["a  b"], "y": ["p"]}]
    parts = [engines.partial(piece, plan.to_bytes()) for piece in pieces_]
    assert parts[0] != parts[1]
    assert engines.combine(*parts) == engines.combine(*reversed(parts))


def test_pieces_may_be_anything_tabular(tmp_path):
    table = mixed_table(90).select(["size", "kind", "y"])
    plan = engines.plan_fit(table, LABEL)
    files = []
    for i, piece in enumerate(cut(table, 3)):
        files.append(tmp_path / f"{i}.parquet")
        tb_write(piece, files[-1])
    by_files = engines.combine(engines.partial(path, plan.to_bytes()) for path in files)
    by_batches = engines.partial(table.to_batches(max_chunksize=20), plan.to_bytes())
    by_frame = engines.partial(table.to_pandas(), plan.to_bytes())
    models = {dumps(engines.fitted(plan, part)) for part in (by_files, by_batches, by_frame)}
    assert models == {dumps(tb.fit(table, LABEL))}


def tb_write(table, path):
    import pyarrow.parquet as pq

    pq.write_table(table, path)
