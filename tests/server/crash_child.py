"""The process that is killed: hosts a model under load and tells of every answer it got.

Each thread changes the model as one client would: it learns rows of its own with idempotency keys, and at times undoes
one of its events. After a restart it first repeats the request that it has no answer to.
"""

import contextlib
import random
import threading

from tallybayes.errors import TallyError
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import compact
from tallybayes.server.live.change_request import ChangeRequest
from tallybayes.server.live.live_model import LiveModel

__all__ = ["compact_once", "host", "row_of"]


def row_of(key):
    """The row of a key: every row can be told from the others by its number."""
    rng = random.Random(key)
    number = rng.getrandbits(40)
    kind, label = rng.choice(["red", "blue", f"new {number % 50}"]), rng.choice("pq")
    return {"number": number / 1024, "kind": kind, "flag": rng.random() < 0.5, "words": f"a b{number % 9}", "y": label}


def request_of(key, event):
    if event is not None:
        return ChangeRequest("undo", event=event, key=key)
    return ChangeRequest.of_rows("learn", [row_of(key)], key=key)


def host(path, connection, seed, unanswered):
    """Open the model and change it until killed; unanswered: by thread, the (key, event to undo) to repeat first."""
    tell, lock = connection.send, threading.Lock()
    with LiveModel.open(path, snapshot_events=25) as live:
        tell(("open", live.current.version))

        def client(number):
            rng, mine, count = random.Random(f"{seed} {number}"), [], 0
            waiting = unanswered.get(number)
            while True:
                if waiting is None:
                    count += 1
                    event = mine.pop(rng.randrange(len(mine))) if mine and rng.random() < 0.2 else None
                    waiting = (f"{seed}-{number}-{count}", event)
                with lock:
                    tell(("asked", number, waiting))
                try:
                    applied = live.submit(request_of(*waiting)).result()
                except TallyError as error:
                    with lock:
                        tell(("refused", number, waiting, str(error)))
                    waiting = None
                    continue
                with lock:
                    tell(("answered", number, waiting, applied))
                if applied.kind == "learn":
                    mine.append(applied.event)
                waiting = None

        threads = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def compact_once(path, connection, seed, unanswered):
    """Fold most events into the base, again and again until killed."""
    with contextlib.suppress(TallyError):
        connection.send(("open", 0))
        for keep in range(20, -1, -1):
            connection.send(("compacted", compact(ModelFiles.of(path), keep=keep)))
