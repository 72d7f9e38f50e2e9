"""A client for `tally serve`, with the verbs, arguments and results of a `Model`.

What differs has another name: `explain_as_dicts`, `evaluate_as_dict`, `set_decision`, `info`. Every change (learn,
forget, undo, calibrate, decide) returns a `RemoteChange`.

Needs nothing but the standard library and what the library itself needs. Connections stay open between requests, one
per thread, so that a client can be shared by threads. A request that could not be sent, or that the server refuses for
a moment (429, 503), is repeated with growing pauses; changes have an idempotency key, so that none is made twice.
Errors are those of the library: a DataError on the server is a DataError here, with its column, row and hint.

    client = Client("http://127.0.0.1:8000")
    client.predict([{"weight": 4.2}])
    change = client.learn([{"weight": 4.2, "pet": "cat"}])
    client.undo(change.event)
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import numpy as np
from numpy.typing import NDArray

from tallybayes import errors
from tallybayes.client_body import packed_json, row_dicts, rows_body
from tallybayes.errors import Described, FileError, ParameterError, TallyError
from tallybayes.formatting import shown
from tallybayes.state.decision import Decision
from tallybayes.typing import RowLike, TableLike
from tallybayes.version import __version__

if TYPE_CHECKING:
    from tallybayes.columns.schema import Schema

__all__ = ["Client", "RemoteChange", "ServerError"]

_JSON, _ARROW, _FILE = "application/json", "application/vnd.apache.arrow.stream", "application/octet-stream"
_PATIENCE = 0.1  # seconds before the first repetition; each further pause is twice as long
_LONGEST_PAUSE = 5.0
_REPEATED = (429, 503)
_TYPE = "urn:tallybayes:error:"


class ServerError(FileError):
    """The server cannot be reached, or failed."""


@dataclass(frozen=True)
class RemoteChange:
    """What a change did, as `Change`, with the number of its event and the version of the model after it."""

    event: int
    version: int
    rows: int
    skipped: int = 0
    notes: tuple[str, ...] = ()
    repeated: bool = False


class _Reply(NamedTuple):
    """A complete answer."""

    status: int
    retry_after: str
    body: bytes


class Client:
    """A model of a server, or several.

    url: the address that `tally serve` prints. key: a key that `tally key` has made, if the server has keys.
    model: the name of the model; it may be left out if the server has one.
    timeout: seconds to wait for an answer. retries: repetitions of a request that could not be answered.
    """

    def __init__(
        self, url: str, key: str | None = None, model: str | None = None, *, timeout: float = 60.0, retries: int = 5
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError("the address of a server, such as http://127.0.0.1:8000", got=url)
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._root = parts.path.rstrip("/")
        self._key, self._model, self._timeout, self._retries = key, model, timeout, retries
        self._local = threading.local()

    # Answers

    def predict(self, data: TableLike) -> NDArray[Any]:
        """The label of every row; None where the decision rule abstains."""
        answer = self._ask("predict", {**rows_body(data), "probabilities": False})
        labels = answer["predictions"]
        whole = None not in labels and len({type(label) for label in labels}) <= 1
        return np.array(labels) if whole else np.array(labels, object)

    def predict_proba(self, data: TableLike) -> NDArray[np.float64]:
        """P(class | row), (rows, classes), the classes as in `classes`."""
        answer = self._ask("predict", rows_body(data))
        return np.array(answer["probabilities"], np.float64).reshape(-1, len(answer["classes"]))

    def predict_interval(self, data: TableLike, level: float = 0.95) -> NDArray[np.float64]:
        """Credible intervals of P(class | row), (rows, classes, 2)."""
        answer = self._ask("predict", {"rows": row_dicts(data), "interval": level})
        return np.array(answer["intervals"], np.float64).reshape(-1, len(answer["classes"]), 2)

    def predict_one(self, row: RowLike) -> Any:
        """The label of a single row, a dict."""
        return self._ask("predict", {"row": dict(row), "probabilities": False})["predictions"][0]

    def predict_proba_one(self, row: RowLike) -> dict[Any, float]:
        """P(class | row) of a single row, by label."""
        answer = self._ask("predict", {"row": dict(row)})
        return dict(zip(answer["classes"], answer["probabilities"][0], strict=True))

    def explain_as_dicts(self, data: TableLike) -> list[dict[str, Any]]:
        """For every row the prior and the contribution of each column, as `Explanation.to_dict`."""
        return list(self._ask("explain", rows_body(data))["explanations"])

    def evaluate_as_dict(self, data: TableLike, *, leave_one_out: bool | None = None) -> dict[str, Any]:
        """The evaluation of the model on labelled rows, as `Evaluation.to_dict`; leave_one_out as in `tb.evaluate`."""
        options = {} if leave_one_out is None else {"leave_one_out": leave_one_out}
        return self._ask("evaluate", {"rows": row_dicts(data)} | options)

    def sample(self, n: int, *, seed: int | None = None) -> Any:
        """Rows drawn from the model, as an Arrow table; the label is the first column."""
        import pyarrow as pa

        reply = self._reply("GET", self._path(f"sample?{urlencode(_known(n=n, seed=seed))}"), None, {"Accept": _ARROW})
        return pa.ipc.open_stream(reply.body).read_all()

    # What the model holds

    @property
    def classes(self) -> list[Any]:
        """The labels in sorted order."""
        return list(self._get("")["classes"])

    @property
    def class_counts(self) -> dict[Any, float]:
        """Rows (or their weight) learned per label."""
        facts = self._get("")
        return dict(zip(facts["classes"], facts["class_counts"], strict=True))

    @property
    def version(self) -> int:
        """The last event that changed the model."""
        return int(self._get("")["version"])

    @property
    def schema(self) -> Schema:
        """The family of every column and the reason for it."""
        from tallybayes.columns.schema import Schema  # which loads Arrow

        return Schema.from_dict(self._get("schema"))

    def info(self) -> dict[str, Any]:
        """Name, label, classes, rows, version and settings of the model, as the server tells them."""
        return self._get("")

    def stream(self) -> dict[str, Any]:
        """Test-then-learn accuracy and log loss over windows, class shares, drift, rate."""
        return self._get("stream")

    def models(self) -> list[dict[str, Any]]:
        """The models of the server."""
        return list(self._json("GET", "/v1/models")["models"])

    def events(
        self, *, after: int | None = None, before: int | None = None, limit: int = 100, **only: str
    ) -> list[Any]:
        """Events of the log, the newest first, or those after one; only: kind=, who=."""
        query = _known(after=after, before=before, limit=limit, **only)
        return list(self._get(f"events?{urlencode(query)}")["events"])

    def event(self, number: int) -> dict[str, Any]:
        """An event with its rows."""
        return self._get(f"events/{int(number)}")

    def download(self) -> bytes:
        """The content of the model file as it is now; `tallybayes.model.saved_model.loads` reads it."""
        return self._reply("GET", self._path("download"), None, {}).body

    # Changes

    def learn(self, data: TableLike, *, key: str | None = None, if_version: int | None = None) -> RemoteChange:
        """Add rows with labels, all or nothing; key: an idempotency key, if the caller repeats requests itself."""
        return self._change("POST", "learn", rows_body(data), key, if_version)

    def forget(self, data: TableLike, *, key: str | None = None, if_version: int | None = None) -> RemoteChange:
        """Subtract rows with labels, all or nothing."""
        return self._change("POST", "forget", rows_body(data), key, if_version)

    def undo(self, event: int, *, key: str | None = None, if_version: int | None = None) -> RemoteChange:
        """Take back an event, however old it is."""
        return self._change("POST", "undo", {"event": event}, key, if_version)

    def calibrate(self, data: TableLike, method: str = "temperature", *, leave_one_out: bool = True) -> RemoteChange:
        """Calibrate the probabilities on rows with labels; the method "none" (and no data) removes the calibration."""
        rows = {} if method == "none" else {"rows": row_dicts(data), "new": not leave_one_out}
        return self._change("POST", "calibrate", {**rows, "method": method})

    def decide(
        self,
        data: TableLike,
        positive: Any,
        *,
        false_negatives: float | None = None,
        false_positives: float | None = None,
        maximise: Literal["f1"] | None = None,
        costs: Mapping[Any, Any] | None = None,
        budget: float | None = None,
        leave_one_out: bool = True,
    ) -> RemoteChange:
        """Choose the threshold for the class `positive` on rows with labels, as `Model.decide`."""
        rule = _known(false_negatives=false_negatives, false_positives=false_positives, maximise=maximise)
        rule |= _known(budget=budget, costs=_by_name(costs))
        rows = {"rows": row_dicts(data), "new": not leave_one_out}
        return self._change("PUT", "decision", {"positive": positive, **rule, **rows})

    def set_decision(self, decision: Decision | None) -> RemoteChange:
        """Set the decision rule; None: the most probable class."""
        rule = decision or Decision()
        settings = _known(positive=rule.positive, threshold=rule.threshold, costs=_by_name(rule.costs or None))
        return self._change("PUT", "decision", {**settings, "abstain": rule.abstain})

    def upload(self, content: bytes, name: str | None = None) -> dict[str, Any]:
        """Add a model file under a new name, or replace a model by it (admin)."""
        headers = {"Content-Type": _FILE, "Idempotency-Key": str(uuid.uuid4())}
        return dict(json.loads(self._reply("PUT", self._path("", name), content, headers).body))

    def remove(self, name: str | None = None) -> None:
        """Remove a model with its log (admin)."""
        self._reply("DELETE", self._path("", name), None, {})

    @property
    def model(self) -> str:
        """The name of the model."""
        if self._model is None:
            names = [model["name"] for model in self.models()]
            if len(names) != 1:
                hint = f"Client(url, model=NAME); the models are {', '.join(names) or 'none yet'}"
                raise ParameterError("the name of a model, as the server has not exactly one", got=None, hint=hint)
            self._model = names[0]
        return self._model

    def close(self) -> None:
        """Close the connection of this thread."""
        connection = self._local.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    # Details

    def _path(self, verb: str, model: str | None = None) -> str:
        return f"/v1/models/{quote(model or self.model, safe='')}" + (f"/{verb}" if verb else "")

    def _ask(self, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._json("POST", self._path(verb), body)

    def _get(self, verb: str) -> dict[str, Any]:
        return self._json("GET", self._path(verb))

    def _change(
        self, method: str, verb: str, body: Mapping[str, Any], key: str | None = None, if_version: int | None = None
    ) -> RemoteChange:
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        if if_version is not None:
            headers["If-Match"] = f'"{quote(self.model, safe="")}-{if_version}"'
        answer = self._json(method, self._path(verb), body, headers)
        known = {field.name: answer[field.name] for field in fields(RemoteChange)}
        return RemoteChange(**known | {"notes": tuple(answer["notes"])})

    def _json(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The answer to a request; a table is sent as Arrow, without the options beside it, other bodies as JSON."""
        sent, content = {"Accept": _JSON, **(headers or {})}, None
        if body is not None:
            is_table = isinstance(body.get("rows"), bytes)
            content, sent["Content-Type"] = (body["rows"], _ARROW) if is_table else (packed_json(body), _JSON)
        return dict(json.loads(self._reply(method, path, content, sent).body))

    def _reply(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> _Reply:
        """Send a request, again if need be; an error of the library unless it succeeds."""
        sent = {"User-Agent": f"tallybayes/{__version__}", **headers}
        if self._key is not None:
            sent["Authorization"] = f"Bearer {self._key}"
        failure: Exception | None = None
        for pause in [*_pauses(self._retries), None]:
            try:
                reply = self._send(method, self._root + path, content, sent)
            except (OSError, http.client.HTTPException) as error:
                failure = error
                self.close()
            else:
                if reply.status < 400:
                    return reply
                failure = _error(reply)
                if reply.status not in _REPEATED:
                    break
                if pause is not None:
                    pause = max(pause, _retry_after(reply))
            if pause is not None:
                time.sleep(pause)
        if isinstance(failure, TallyError):
            raise failure
        address = f"{'https' if self._secure else 'http'}://{self._host}:{self._port or ''}"
        got = Described(str(failure) or type(failure).__name__)
        hint = "is `tally serve` running there?"
        raise ServerError(f"an answer from {address}", got=got, hint=hint) from failure

    def _send(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> _Reply:
        """One request on the connection of this thread."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            self._local.connection = connection = kind(self._host, self._port, timeout=self._timeout)
        connection.request(method, path, content, dict(headers))
        answer = connection.getresponse()
        body = answer.read()
        return _Reply(answer.status, answer.headers.get("Retry-After", ""), body)


def _known(**values: Any) -> dict[str, Any]:
    """Those of the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _by_name(costs: Mapping[Any, Any] | None) -> dict[str, dict[str, float]] | None:
    """Costs by the names of the classes, because the keys of objects of JSON are texts."""
    if costs is None:
        return None
    nested = Decision(costs=costs).costs.items()
    return {shown(true): {shown(answered): cost for answered, cost in by_answer.items()} for true, by_answer in nested}


def _pauses(n: int) -> Iterator[float]:
    """Pauses that grow, each of a random length, so that clients that failed together do not come again together."""
    for i in range(n):
        yield min(_PATIENCE * 2**i, _LONGEST_PAUSE) * (0.5 + random.random() / 2)


def _retry_after(reply: _Reply) -> float:
    text = reply.retry_after
    return min(float(text), _LONGEST_PAUSE) if text.isdecimal() else 0.0


def _error(reply: _Reply) -> TallyError:
    """The error of the library that a problem reports."""
    try:
        facts = json.loads(reply.body)
    except ValueError:
        facts = {}
    if not isinstance(facts, dict) or "expected" not in facts:
        text = reply.body[:200].decode("utf-8", "replace")
        return ServerError("an answer", got=Described(f"status {reply.status}: {text}"))
    name = str(facts.get("type", "")).removeprefix(_TYPE)
    kind = ServerError if reply.status >= 500 else _KINDS.get(name, ParameterError)
    details = {name: facts[name] for name in ("column", "row", "line", "hint") if name in facts}
    if "got" in facts:
        details["got"] = Described(facts["got"])
    error = kind(facts["expected"], **details)
    error.status, error.request_id = reply.status, facts.get("request_id")  # type: ignore[attr-defined]
    return error


_KINDS: dict[str, type[TallyError]] = {
    name: getattr(errors, name)
    for name in ("DataError", "ForgetError", "FileError", "ParameterError", "CountError", "UnsupportedError")
}
