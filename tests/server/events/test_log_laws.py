"""The state of a hosted model is a function of its base and its events, however they were grouped, stored and read."""

import pathlib
import shutil
import tempfile

import pytest
from hosting import bytes_of, fitted_at_once, forget, learn, opened, replayed, try_all, undo
from hypothesis import given, settings
from hypothesis import strategies as st

import models
from tables import row
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import compact
from tallybayes.server.live.change_request import Applied, ChangeRequest

labelled = st.lists(row, min_size=1, max_size=4)
odd_values = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 2.0, 2**60, "2", "1,5", "red", "yes", ""])
)
odd_row = st.dictionaries(
    st.sampled_from(["flag", "kind", "real", "events", "new", "other", "note"]), odd_values, max_size=4
).flatmap(lambda own: st.sampled_from(["p", "q", "s", 1, True, None, "P"]).map(lambda label: own | {"y": label}))
decisions = st.sampled_from([{}, {"positive": "p", "threshold": 0.25}, {"abstain": 0.5}])


@st.composite
def operations(draw):
    """Groups of changes, each of them submitted at once; a restart between some of them."""
    kinds = st.one_of(
        st.tuples(st.just("learn"), labelled),
        st.tuples(st.just("learn"), st.lists(odd_row, min_size=1, max_size=2)),
        st.tuples(st.just("forget"), st.integers(0, 20)),
        st.tuples(st.just("undo"), st.integers(0, 20)),
        st.tuples(st.just("decide"), decisions),
    )
    return draw(st.lists(st.tuples(st.lists(kinds, min_size=1, max_size=6), st.booleans()), min_size=1, max_size=4))


class History:
    """Applies operations and remembers which rows should be in the model."""

    def __init__(self, path, steps):
        self.path, self.learned, self.others = path, {}, False
        done = 0
        while done < len(steps):
            with opened(path) as live:
                while done < len(steps):
                    group, restart = steps[done]
                    self.apply(live, group)
                    done += 1
                    if restart:
                        break
                self.now, self.last = bytes_of(live), live.log.last_id

    def apply(self, live, group):
        requests = [self.request(kind, what, live.log.last_id + i) for i, (kind, what) in enumerate(group)]
        for request, result in zip(requests, try_all(live, requests), strict=True):
            if isinstance(result, Applied):
                if request.kind == "learn":
                    self.learned[result.event] = request.data
                else:
                    self.others = True

    def request(self, kind, what, n):
        if kind == "learn":
            return learn(what)
        if kind == "forget":
            rows = list(self.learned.values())
            return forget(rows[what % len(rows)] if rows else [{"y": "p"}])
        if kind == "undo":
            return undo(what % max(n, 1) + 1)
        return ChangeRequest("decide", settings=what)


@pytest.fixture(scope="module")
def bases():
    folder = pathlib.Path(tempfile.mkdtemp())
    models.empty().save(folder / "empty.tally")
    models.small().save(folder / "small.tally")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")
@settings(max_examples=12)
@given(steps=operations(), base=st.sampled_from(["empty", "small"]), keep=st.integers(0, 5))
def test_groups_restarts_snapshots_and_compaction_give_the_same_bytes(bases, steps, base, keep):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.tally"
        shutil.copy(bases / f"{base}.tally", path)
        history = History(path, steps)
        assert replayed(path) == history.now
        assert replayed(path, group_rows=1) == history.now
        assert replayed(path, group_rows=3) == history.now
        with opened(path) as live:  # the snapshot that was written at the end
            assert bytes_of(live) == history.now
            assert live.current.version == history.last
        path.with_suffix(".snapshot").unlink(missing_ok=True)
        with opened(path) as live:
            assert bytes_of(live) == history.now
        compact(ModelFiles.of(path), keep=keep)
        with opened(path) as live:
            assert bytes_of(live) == history.now


@settings(max_examples=12)
@given(groups=st.lists(labelled, max_size=6), undone=st.sets(st.integers(0, 5)))
def test_the_model_is_that_of_all_rows_that_are_not_undone_learned_at_once(bases, groups, undone):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.tally"
        shutil.copy(bases / "small.tally", path)
        with opened(path) as live:
            numbers = [result.event for result in try_all(live, [learn(rows) for rows in groups])]
            try_all(live, [undo(numbers[i]) for i in sorted(undone) if i < len(numbers)])
            rows = [row for i, rows in enumerate(groups) if i not in undone for row in rows]
            assert bytes_of(live) == fitted_at_once(path, rows)
