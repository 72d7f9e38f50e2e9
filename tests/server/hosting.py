"""Hosted models for the tests: a base in a folder, changes, and the state computed in other ways."""

import contextlib

import models
import tallybayes as tb
from tables import LABEL
from tallybayes.errors import TallyError
from tallybayes.model.fit import with_text_selection
from tallybayes.model.saved_model import dumps
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import ModelHistory
from tallybayes.server.live.change_request import ChangeRequest
from tallybayes.server.live.live_model import LiveModel

__all__ = ["bytes_of", "change", "forget", "learn", "opened", "replayed", "saved_base", "try_all", "undo"]


def saved_base(folder, model=None, name="model"):
    path = folder / f"{name}.tally"
    (models.small() if model is None else model).save(path)
    return path


@contextlib.contextmanager
def opened(path, **more):
    with LiveModel.open(path, **more) as live:
        yield live


def learn(rows, **more):
    return ChangeRequest.of_rows("learn", rows, **more)


def forget(rows, **more):
    return ChangeRequest.of_rows("forget", rows, **more)


def undo(event, **more):
    return ChangeRequest("undo", event=event, **more)


def change(live, request):
    return live.submit(request).result(timeout=60)


def try_all(live, requests):
    """Submit requests at once, so that they are applied in groups; the answers and the errors."""
    futures = [live.submit(request) for request in requests]
    results = []
    for future in futures:
        try:
            results.append(future.result(timeout=60))
        except TallyError as error:
            results.append(error)
    return results


def bytes_of(live):
    return dumps(live.current.model)


def replayed(path, **how):
    """The bytes of the base and all events that are not undone, replayed in some way."""
    files = ModelFiles.of(path)
    log = EventLog(files.log, read_only=True)
    try:
        return dumps(tb.Model(ModelHistory(files, log).state_after(log.last_id, **how)))
    finally:
        log.close()


def fitted_at_once(path, rows):
    """The bytes of the base after learning rows in one call of the library."""
    model = with_text_selection(tb.load(path), now=False)
    if rows:
        model.learn(rows, label=LABEL)
    return dumps(model)
