"""Vocabularies with max_tokens: whatever is fitted, learned, forgotten and merged, the model file can be read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.errors import ForgetError

WORDS = ["aa", "bb", "cc", "dd"]
documents = st.tuples(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join), st.sampled_from(["x", "y"])
)


def table(rows):
    return {"text": [text for text, _ in rows], "label": [label for _, label in rows]}


def fitted(rows, limit):
    family = f"text:counts,tf=count,k=1,max_tokens={limit}"
    return tb.fit(table(rows), label="label", families={"text": family})


@pytest.mark.parametrize(
    ("limit", "fit", "learn", "forget"),
    [
        (3, ["cc cc bb bb", "dd bb aa aa", "bb bb"], ["bb dd aa bb", "aa", "aa bb cc"], ["bb bb", "dd bb aa aa"]),
        (2, ["aa", "bb", "dd bb dd", "bb cc", "aa bb"], ["aa cc bb bb", "cc dd bb cc", "cc dd bb"], ["aa cc bb bb"]),
    ],
)
def test_forgetting_after_tokens_were_pooled_leaves_a_readable_file(limit, fit, learn, forget, tmp_path):
    """Occurrences that were counted in the pool are not subtracted from the few documents under the name."""
    path = tmp_path / "m.tally"
    model = fitted([(fit[0], "y"), *((text, "x") for text in fit[1:])], limit)
    model.learn(table([(text, "x") for text in learn]))
    for text in forget:
        model.forget(table([(text, "x")]))
        model.save(path)
        assert tb.load(path) == model


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_any_sequence_of_changes_with_max_tokens_can_be_saved_and_loaded(data, tmp_path_factory):
    limit = data.draw(st.integers(2, 3), label="max_tokens")
    rows = data.draw(st.lists(documents, min_size=3, max_size=5), label="fit")
    model, path = fitted(rows, limit), tmp_path_factory.getbasetemp() / "limited.tally"
    for step in data.draw(st.lists(st.sampled_from(["learn", "forget", "merge"]), max_size=6), label="steps"):
        if step == "forget" and rows:
            model.forget(table([rows.pop(data.draw(st.integers(0, len(rows) - 1), label="row"))]))
        elif step != "forget":
            more = data.draw(st.lists(documents, min_size=1, max_size=4), label=step)
            rows += more
            if step == "learn":
                model.learn(table(more))
            else:
                model = model.merge(fitted(more, limit))
        model.save(path)
        assert tb.load(path) == model
    for row in rows:  # every row that is left can be forgotten too
        model.forget(table([row]))
    assert model.class_counts == {}


def test_more_than_was_learned_cannot_be_forgotten_from_the_pool():
    rows = [("aa bb", "x"), ("cc dd", "y"), ("ee", "x")]
    model = fitted(rows, 2)
    with pytest.raises(ForgetError, match="was not learned that often"):
        model.forget(table([("zz zz", "y"), ("zz " * 50, "x")]))
    for row in rows:
        model.forget(table([row]))
