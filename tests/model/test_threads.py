"""Threads may read a model while one changes it: readers see it before or after a change, never in between."""

import sys
import threading

import numpy as np
import pytest

import tallybayes as tb
from tables import FAMILIES, LABEL, mixed_frame

N_START, N_MORE, N_READERS, ROUNDS = 20, 60, 3, 3


@pytest.fixture(autouse=True)
def switching_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def rows_of(name, seed):
    """Rows of one column, with categories and tokens that are new from time to time."""
    frame = mixed_frame(N_START + N_MORE, seed)
    new = {"kind": lambda i: f"kind {i}", "genre": lambda i: [f"tag {i}"], "note": lambda i: f"token{i} cash"}
    values = [new[name](i) if name in new and i % 7 == 0 else value for i, value in enumerate(frame[name])]
    return [{name: value, LABEL: label} for value, label in zip(values, frame[LABEL], strict=True)]


def read(model, probe, found, done, errors):
    try:
        while not done.is_set():
            found.append(model.predict_proba(probe))
    except Exception as error:  # any exception in a reader is a failure
        errors.append(error)


@pytest.mark.parametrize("name", FAMILIES)
def test_readers_see_the_states_between_changes_in_their_order(name):
    for seed in range(ROUNDS):
        rows = rows_of(name, seed)
        probe = [{name: row[name]} for row in rows[:5]]
        families = {name: FAMILIES[name]}

        def started(rows=rows, families=families):
            return tb.fit(rows[:N_START], label=LABEL, families=families)

        alone = started()
        states = [alone.predict_proba(probe).tobytes()]
        for row in rows[N_START:]:
            alone.learn_one({name: row[name]}, row[LABEL])
            states.append(alone.predict_proba(probe).tobytes())
        model, done, errors = started(), threading.Event(), []
        found = [[] for _ in range(N_READERS)]
        readers = [threading.Thread(target=read, args=(model, probe, own, done, errors)) for own in found]
        for reader in readers:
            reader.start()
        for row in rows[N_START:]:
            model.learn_one({name: row[name]}, row[LABEL])
        done.set()
        for reader in readers:
            reader.join()
        assert not errors
        assert model.same_counts(alone)
        assert model.predict_proba(probe).tobytes() == states[-1]
        for own in found:
            at = 0
            for proba in own:
                at = states.index(proba.tobytes(), at)  # raises a ValueError for a state that never was


def test_writers_take_turns():
    rows = rows_of("kind", 0)
    model = tb.fit(rows[:N_START], label=LABEL, families={"kind": "categorical"})
    threads = [
        threading.Thread(target=lambda part=part: [model.learn(row) for row in part])
        for part in (rows[N_START::2], rows[N_START + 1 :: 2])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.same_counts(tb.fit(rows, label=LABEL, families={"kind": "categorical"}))


def test_a_snapshot_stays_as_it_is():
    rows = rows_of("note", 0)
    model = tb.fit(rows[:N_START], label=LABEL, families={"note": FAMILIES["note"]})
    snapshot = model.snapshot()
    before = snapshot.proba(rows[:5])
    for row in rows[N_START:]:
        model.learn(row)
    model.forget(rows[0])
    assert np.array_equal(snapshot.proba(rows[:5]), before)
    assert tb.Model(snapshot.state).same_counts(
        tb.fit(rows[:N_START], label=LABEL, families={"note": FAMILIES["note"]})
    )


def test_a_copy_and_its_original_go_their_own_ways():
    rows = rows_of("words", 1)
    fit = {"label": LABEL, "families": {"words": "multinomial"}}
    model = tb.fit(rows[:N_START], **fit)
    other = model.copy()
    model.learn(rows[N_START])
    other.forget(rows[0])
    assert model.same_counts(tb.fit(rows[: N_START + 1], **fit))
    assert other.same_counts(tb.fit(rows[1:N_START], **fit))


def test_learning_while_reading_in_the_same_thread_reads_the_old_state():
    rows = rows_of("real", 0)
    model = tb.fit(rows[:N_START], label=LABEL, families={"real": "gaussian"})
    before = model.predict_proba(rows[:5])
    with model.reading() as snapshot:
        model.learn(rows[N_START:])
        assert np.array_equal(snapshot.proba(rows[:5]), before)
    assert model.same_counts(tb.fit(rows, label=LABEL, families={"real": "gaussian"}))


def test_data_that_changes_the_model_while_it_is_read_is_refused():
    rows = rows_of("real", 0)
    model = tb.fit(rows[:N_START], label=LABEL, families={"real": "gaussian"})
    before = model.copy()

    def batches():
        yield rows[N_START : N_START + 2]
        model.learn(rows[N_START + 2])
        yield rows[N_START + 3 :]

    with pytest.raises(tb.errors.ParameterError, match="does not change the model"):
        model.learn(batches())
    before.learn(rows[N_START + 2])
    assert model == before
