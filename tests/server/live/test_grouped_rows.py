"""Rows of several events that are counted together give the sums and the schema of one event after the other."""

import contextlib
import json

import pytest
from hosting import bytes_of, change, fitted_at_once, learn, opened, replayed, saved_base, undo
from hypothesis import given, settings
from hypothesis import strategies as st

import models
import tallybayes as tb
from tables import FAMILIES, cells
from tallybayes.errors import TallyError
from tallybayes.model.saved_model import dumps
from tallybayes.server.events.event import NewEvent
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.event_rows import JSON, write_rows
from tallybayes.server.events.hosted_state import Done, HostedState
from tallybayes.server.events.known_values import GroupTypes
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.replay import Replay

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")

TEXTS = st.sampled_from(["2", "1,5", "1.500", "red", "Red", "yes", "NA", "", "2024-03-01"])
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 0.5, 1.0, 2.0, 2**53, 2**60]),
    TEXTS,
    st.lists(st.sampled_from(["a", "b", 1]), max_size=2),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from([1, 2, 0.5]), max_size=2),
)
LABELS = st.sampled_from([None, "r", "R", "P", " q", "", "NA", "0", "1", 0, 1, 1.0, True, False])
# Where the rows of a base decide something about each other: new labels, columns without a family, tokens to be kept.
OPEN = [
    ("numbers", {"y": st.sampled_from([0, 1, True, False, "0", "1", 1.0])}),
    ("inferred", {"blank": TEXTS}),
    ("given", {"new": TEXTS}),
    ("limited", {"note": cells["note"].filter(bool)}),
]


@st.composite
def cases(draw):
    """A base and events of a few rows that share up to two columns, so that unlike values or labels meet."""
    known = {kind: st.sampled_from(base.statistics.in_use() or ["p", "q"]) for kind, base in BASES.items()}
    if draw(st.integers(0, 2)):
        kind, values = draw(st.sampled_from(OPEN))
        row = st.fixed_dictionaries({"y": known[kind]} | values)
    else:
        kind = draw(st.sampled_from(sorted(BASES)))
        names = draw(st.lists(st.sampled_from(["new", *cells]), min_size=1, max_size=2, unique=True))
        values = {name: draw(st.sampled_from([TEXTS, ODD, cells.get(name, ODD)])) for name in names}
        row = st.fixed_dictionaries({"y": draw(st.sampled_from([known[kind], LABELS]))}, optional=values)
    return kind, draw(st.lists(st.lists(row, min_size=1, max_size=2), min_size=4, max_size=8))


LIMITED = {"note": "text:counts,tf=count,k=1,max_tokens=2", "kind": "categorical", "level": "histogram"}


def as_events(parts):
    """Events that were accepted one after the other, and the state after them."""
    return [NewEvent("learn", "", media_type=JSON, rows=write_rows(rows)).with_number(i, b"") for i, rows in parts]


def accepted(base, parts):
    hosted, kept = HostedState(base), []
    for i, rows in enumerate(parts):
        try:
            hosted.change(json.loads(write_rows(rows)), 1)
            kept.append((i, rows))
        except TallyError:
            pass
    return dumps(tb.Model(hosted.state)), as_events(kept)


def base_of(kind):
    if kind == "empty":
        return models.empty().snapshot().state
    if kind in ("inferred", "numbers"):  # families that were chosen from data, categories (and labels) of numbers
        p, q = ("p", "q") if kind == "inferred" else (0, 1)
        rows = [
            {"kind": 1, "real": 0.5, "flag": 0, "note": "cash at noon", "when": "2024-03-01", "blank": None, "y": p},
            {"kind": 2, "real": 1.5, "flag": 1, "note": "lunch at noon", "when": "2024-03-02", "blank": None, "y": q},
        ] * 6
        return tb.fit(rows, label="y", families={"kind": "categorical"}).snapshot().state
    families = LIMITED if kind == "limited" else FAMILIES
    rows = [dict.fromkeys(families) | {"y": "p"}, {"kind": "red", "level": 1.5, "note": "cash", "y": "q"}]
    return tb.fit(rows, label="y", families=families).snapshot().state


BASES = {kind: base_of(kind) for kind in ("empty", "given", "inferred", "limited", "numbers")}


@settings(max_examples=160)
@given(case=cases())
def test_groups_of_events_give_the_bytes_of_one_event_after_the_other(case):
    kind, parts = case
    expected, events = accepted(BASES[kind], parts)
    for group_rows in (1, 3, 1000):
        state = Replay(HostedState(BASES[kind])).run([events] if events else [], {}, group_rows=group_rows)
        assert dumps(tb.Model(state)) == expected, group_rows


ALONE = {
    "a new column": [{"new": 1, "y": "p"}, {"new": "abc", "y": "p"}],
    "a new label that is written in two ways": [{"y": "Red "}, {"y": "red "}],
    "categories of several types": [{"kind": 1, "y": "p"}, {"kind": "2", "y": "p"}],
    "numbers as text": [{"real": "1,5", "y": "p"}, {"real": "1.500", "y": "p"}],
    "a large integer": [{"events": 2**53, "y": "p"}, {"events": 1, "y": "p"}],
    "tags of several types": [{"genre": ["a"], "y": "p"}, {"genre": [1], "y": "p"}],
}


@pytest.mark.parametrize("what", sorted(ALONE))
def test_rows_that_decide_something_are_counted_alone(what):
    hosted = HostedState(BASES["given"])
    first, second = ALONE[what]
    types = GroupTypes()
    assert not (hosted.may_join([first], types) and hosted.may_join([second], types))


def test_rows_without_the_label_are_refused_in_a_group_as_alone():
    hosted = HostedState(models.small().snapshot().state)
    asked = [learn(own) for own in ([{"real": 1.5, "y": "p"}], [{"real": 1.5}], [{"real": 2.5, "y": "q"}])]
    first, refused, last = hosted.change_rows(asked)
    assert first == last == Done(rows=1)
    assert isinstance(refused, TallyError)
    assert "expected the label column" in str(refused)


def test_a_log_with_rows_that_joined_others_without_a_label_can_still_be_replayed(tmp_path):
    path = saved_base(tmp_path)
    rows = write_rows([{"real": 1.5}, {"real": 2.5}])
    with opened(path) as live:
        change(live, learn([{"real": 0.5, "y": "p"}]))
    with contextlib.closing(EventLog(ModelFiles.of(path).log)) as log:
        log.append([NewEvent("learn", "", media_type=JSON, rows=rows, skipped=2)])
    with opened(path) as live:
        assert live.current.snapshot.state.skipped == 2
        change(live, undo(1))
        assert live.current.snapshot.state.skipped == 2
        assert bytes_of(live) == replayed(path) == replayed(path, group_rows=1)
        change(live, undo(2))
        assert bytes_of(live) == replayed(path) == fitted_at_once(path, [])


def test_usual_rows_are_counted_together():
    hosted = HostedState(models.small().snapshot().state)
    types = GroupTypes()
    usual = [
        {
            "flag": True,
            "kind": "red",
            "real": 1,
            "level": 2.5,
            "events": 3,
            "genre": ["a"],
            "words": {"a": 2},
            "y": "p",
        },
        {"flag": False, "kind": "new colour", "real": 1.5, "note": "cash", "topics": ["a", "b"], "y": "q"},
        {"real": None, "y": None},
    ]
    assert all(hosted.may_join([row], types) for row in usual)
