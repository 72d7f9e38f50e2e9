"""Kill a process that hosts a model at random moments under load, and look at what is left.

    python -m tests.server.crash_rounds 1000           # a process that hosts the model
    python -m tests.server.crash_rounds 1000 --http    # tally serve, with clients over HTTP

After every kill: each event that was answered is in the log once, with its rows; none is there twice; what was not
answered is there at most once, and was asked for; and the model has the bytes of its base and the rows of these events.
Every eighth round kills a compaction instead.
"""

import argparse
import importlib
import multiprocessing
import pathlib
import random
import shutil
import sys
import tempfile
import time

import tallybayes as tb
from tallybayes.model.saved_model import dumps
from tallybayes.server.events.event_log import find_undone
from tallybayes.server.live.live_model import LiveModel

sys.path[:0] = [str(pathlib.Path(__file__).parent)]
crash_child = importlib.import_module("crash_child")  # beside this file, which may be run as a command
row_of = crash_child.row_of

__all__ = ["CrashRounds", "main"]

FAMILIES = {"number": "gaussian", "kind": "categorical", "flag": "bernoulli", "words": "text:counts,tf=count,k=1"}


class CrashRounds:
    """One model that is killed again and again, and what is known of its events."""

    def __init__(self, folder, seed=0, children=(crash_child.host, crash_child.compact_once)):
        self.path = folder / "model.tally"
        rows = [row_of(f"base {i}") for i in range(40)]
        tb.fit(rows, label="y", families=FAMILIES).save(self.path)
        self.first = tb.load(self.path)
        self.reference = tb.load(self.path)  # the base and the rows of all events so far, by the library alone
        self.random = random.Random(seed)
        self.children = children
        self.answered = {}  # key -> (event, event that it undoes)
        self.asked = {}  # key -> event that it undoes
        self.unanswered = {}  # thread -> (key, event that it undoes)
        self.events = {}  # number -> key, of all events that were seen in the log
        self.undoes = {}
        self.n_kills = self.n_unanswered_kept = self.n_compactions = 0
        self._spawn = multiprocessing.get_context("forkserver")
        self._spawn.set_forkserver_preload(["tallybayes.server.live.live_model"])

    def run(self, n_rounds, tell=None):
        for number in range(n_rounds):
            self.kill_one(number, self.children[number % 8 == 7])
            self.look()
            if number % 25 == 24:
                self.look_at_once()
            if tell is not None and number % 25 == 24:
                tell(self)
        self.look_at_once()

    def kill_one(self, number, target):
        here, there = self._spawn.Pipe(duplex=False)
        child = self._spawn.Process(target=target, args=(str(self.path), there, number, dict(self.unanswered)))
        child.start()
        there.close()
        moment, limit, until = self.random.random() * 0.3, time.monotonic() + 60, None
        begins = self.random.choice(["open", "answered", "answered", "answered"])  # what the time is counted from
        if self.random.random() < 0.05:
            until = time.monotonic() + moment  # perhaps before the model is open
        while until is None or time.monotonic() < until:
            assert time.monotonic() < limit, "the process does not answer"
            if here.poll(0.001):
                try:
                    message = here.recv()
                except EOFError:
                    break
                self.note(message)
                if until is None and (message[0] == begins or target is not self.children[0]):
                    until = time.monotonic() + moment
        child.kill()
        child.join()
        self.n_kills += 1
        while here.poll():
            try:
                self.note(here.recv())
            except EOFError:
                break
        here.close()

    def note(self, message):
        what, *facts = message
        if what == "asked":
            thread, (key, event) = facts
            self.asked[key], self.unanswered[thread] = event, (key, event)
        elif what == "answered":
            thread, (key, event), applied = facts
            assert self.answered.setdefault(key, (applied.event, event)) == (applied.event, event)
            self.unanswered.pop(thread, None)
        elif what == "refused":
            thread, (key, _event), error = facts
            assert "was folded into the base" in error, f"{key} was refused: {error}"
            del self.asked[key], self.unanswered[thread]
        elif what == "compacted":
            self.n_compactions += facts[0].folded > 0

    def look(self):
        """Compare the log and the model after a restart with what is known."""
        with LiveModel.open(self.path, read_only=True) as live:
            events = {event.id: event for event in live.log.page(after=0, limit=-1)}
            assert list(events) == list(range(1, len(events) + 1)), "numbers with gaps"
            keys = {event.key: event for event in events.values()}
            assert len(keys) == len(events), "an event is there twice"
            for key, (number, undoes) in self.answered.items():
                assert keys[key].id == number, f"{key} was answered with event {number}"
                assert keys[key].undoes == undoes
            assert keys.keys() <= self.asked.keys(), "an event that nobody asked for"
            for number in sorted(events.keys() - self.events.keys()):
                event = events[number]
                assert event.undoes == self.asked[event.key]
                self.n_unanswered_kept += event.key not in self.answered
                if event.kind == "learn" and not event.is_folded:
                    assert live.log.get(number).row_values() == [row_of(event.key)], "other rows than those sent"
                self.events[number] = event.key
                if event.undoes is None:
                    self.reference.learn([row_of(event.key)])
                else:
                    self.undoes[number] = event.undoes
                    self.reference.forget([row_of(self.events[event.undoes])])
            assert dumps(live.current.model) == dumps(self.reference), "another model than that of the rows"

    def look_at_once(self):
        """Compare the model with that of all rows that are not undone, learned at once from the first base."""
        undone = find_undone(self.undoes)
        rows = [
            row_of(key) for number, key in self.events.items() if number not in undone and number not in self.undoes
        ]
        model = self.first.copy()
        model.learn(rows, label="y")
        with LiveModel.open(self.path) as live:
            assert dumps(live.current.model) == dumps(model)

    def __str__(self):
        kept = f"{self.n_unanswered_kept} of these were killed before their answer"
        return (
            f"{self.n_kills} kills, {self.n_compactions} compactions, {len(self.answered)} answers,"
            f" {len(self.events)} events in the log; {kept}: nothing lost, nothing twice, equal bytes"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("rounds", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--http", action="store_true", help="kill tally serve instead")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        kind = importlib.import_module("crash_server").ServerCrashRounds if options.http else CrashRounds
        rounds = kind(folder, options.seed)
        rounds.run(options.rounds, tell=lambda own: print(own, flush=True))
        print(rounds)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
