"""For every history of fit, learn, forget and merge: the model can be saved, and its file gives it back."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.errors import DataError, TallyError
from tallybayes.model.saved_model import dumps

TEXTS = {
    "plain": "text:counts,tf=count,k=1",
    "bounded": "text:counts,tf=count,k=1,max_tokens=2",
    "presence": "text:presence,max_tokens=3",
}
FAMILIES = {"kind": "categorical", "level": "histogram", "real": "gaussian", "bag": "multinomial"} | TEXTS

NUMBERS = [0.5, 1, 2, 2**53, 2.0**53, 2**53 + 1, 2**53 - 1, -1e-320, 0]
LABELS = st.sampled_from([["p", "q", ""], ["a\x1b", "\x00", "é", "\u2028"], NUMBERS, [True, False], [1, 2, 3]])
WEIGHTS = st.sampled_from([1, 1, 2, 0, 0.5, 1 / 3, 5e-324, 1e-300, 1e15])
REALS = st.sampled_from([0.0, 1.5, -2.25, 1e-320, 1e300, 5e-324])
WORDS = st.lists(st.sampled_from("abcde"), max_size=4).map(" ".join)


@st.composite
def batches(draw, labels):
    """Some rows, and their weight."""
    row = st.fixed_dictionaries(
        {"y": st.sampled_from(labels)},
        optional={
            "kind": st.sampled_from(["red", "green", "", "\x1b"]),
            "level": REALS,
            "real": REALS,
            "bag": st.dictionaries(st.sampled_from("uvw"), st.sampled_from([1, 0.5, 5e-324, 3]), max_size=2),
            **dict.fromkeys(TEXTS, WORDS),
        },
    )
    rows = draw(st.lists(row, min_size=1, max_size=5))
    weight = draw(WEIGHTS)
    return [row | {"w": weight} for row in rows]


@st.composite
def histories(draw):
    """Labels, options and steps: (what to do, with which rows)."""
    labels = draw(LABELS)
    prior = draw(st.sampled_from(["empirical", "uniform", "given"]))
    given = {label: 1 / len(set(labels[:2])) for label in labels[:2]}
    options = {"class_prior": given if prior == "given" else prior}
    step = st.tuples(st.sampled_from(["learn", "forget", "forget again", "merge", "merge given"]), batches(labels))
    return options, draw(batches(labels)), draw(st.lists(step, max_size=6))


def empty(**options):
    columns = {name: [] for name in (*FAMILIES, "y", "w")}
    return tb.fit(columns, label="y", families=FAMILIES, sample_weight="w", **options)


def check_saved(model, path):
    """Save a model: the file gives it back, and saving that gives the same bytes."""
    model.save(path)
    again = tb.load(path)
    assert again == model
    assert (again.classes, again.settings, again.schema) == (model.classes, model.settings, model.schema)
    assert dumps(again) == dumps(model)


def stepped(model, step, rows, learned, options):
    """The model after a step; learned rows are remembered, to be forgotten."""
    if step == "learn":
        model.learn(rows)
        learned.append(rows)
    elif step == "forget":
        model.forget(learned.pop() if learned else rows)
    elif step == "forget again":
        model.forget(rows)
    else:
        other = empty(**(options if step == "merge given" else {}))
        other.learn(rows)
        return model.merge(other)
    return model


@pytest.mark.slow
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories())
def test_every_history_can_be_saved_and_loaded(tmp_path, history):
    options, rows, steps = history
    model, learned = empty(**options), []
    for step, batch in [("learn", rows), *steps]:
        before = dumps(model)
        try:
            model = stepped(model, step, batch, learned, options)
        except TallyError:
            assert dumps(model) == before
        check_saved(model, tmp_path / "model.tally")


@pytest.mark.parametrize(
    ("first", "then"),
    [([0.5, 2.0**53], [2**53 + 1, 2**53]), ([0.5, 1.0], [2**53 + 1, 2.0**53]), ([1, 2], [0.5, 2**53 + 1])],
)
def test_labels_that_collide_are_refused_or_saved(tmp_path, first, then):
    model = tb.fit({"x": ["a", "b"], "y": first}, label="y")
    for label in then:
        try:
            model.learn([{"x": "a", "y": label}])
        except TallyError:
            continue
    check_saved(model, tmp_path / "model.tally")


def test_forgetting_with_a_bounded_vocabulary_can_be_saved(tmp_path):
    texts = ["a b", "b c c", "a", "d d"]
    rows = {"t": texts, "y": ["p", "q", "p", "q"]}
    model = tb.fit(rows, label="y", families={"t": "text:counts,tf=count,k=1,max_tokens=2"})
    more = [{"t": "c d a", "y": "p"}, {"t": "b b e", "y": "q"}]
    model.learn(more)
    model.forget(more)
    check_saved(model, tmp_path / "model.tally")


def test_amounts_whose_product_with_the_weight_underflows_are_refused():
    rows = [{"b": {"u": 0.5}, "y": "p", "w": 5e-324}, {"b": {"v": 1}, "y": "q", "w": 1}]
    with pytest.raises(DataError, match="an amount times a weight of at least 5e-324"):
        tb.fit(rows, label="y", sample_weight="w", families={"b": "multinomial"})
