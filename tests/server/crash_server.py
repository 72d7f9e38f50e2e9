"""The same kills against the real server over HTTP: `tally serve` in a process, clients in threads of the test."""

import contextlib
import random
import threading
import time

from crash_child import row_of
from crash_rounds import CrashRounds
from running_server import RunningServer

from tallybayes.client import ServerError
from tallybayes.errors import TallyError

__all__ = ["ServerCrashRounds"]


class ServerCrashRounds(CrashRounds):
    """Kills `tally serve` instead of a process that hosts the model by itself; compactions are killed as before."""

    def kill_one(self, number, target):
        if target is not self.children[0]:
            super().kill_one(number, target)
            return
        server = RunningServer(self.path, "--log-level", "error")
        self._lock, self._failure = threading.Lock(), None
        threads = [
            threading.Thread(target=self._work, args=(server, f"{number} {thread}", thread), daemon=True)
            for thread in range(8)
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.05 + self.random.random() * 0.6)
        server.process.kill()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "a client does not notice that the server is gone"
        with contextlib.suppress(ValueError):
            server.stop()
        self.n_kills += 1
        assert self._failure is None, self._failure

    def _work(self, server, seed, thread):
        """One client: as the threads of `crash_child.host`, over HTTP and without repetitions of its own."""
        rng, mine, count, waiting = random.Random(seed), [], 0, self.unanswered.get(thread)
        try:
            with server.client(retries=0, timeout=30) as client:
                while True:
                    if waiting is None:
                        count += 1
                        event = mine.pop(rng.randrange(len(mine))) if mine and rng.random() < 0.2 else None
                        waiting = (f"{seed}-{count}", event)
                    key, event = waiting
                    self._note(("asked", thread, waiting))
                    try:
                        change = client.learn([row_of(key)], key=key) if event is None else client.undo(event, key=key)
                    except ServerError:
                        return
                    except TallyError as error:
                        self._note(("refused", thread, waiting, str(error)))
                        waiting = None
                        continue
                    self._note(("answered", thread, waiting, change))
                    if event is None:
                        mine.append(change.event)
                    waiting = None
        except AssertionError as error:
            self._failure = error

    def _note(self, message):
        with self._lock:
            self.note(message)
