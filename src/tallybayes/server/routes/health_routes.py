"""Health and measurements, for orchestration and monitoring."""

from __future__ import annotations

from tallybayes.errors import Described
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.call import Call
from tallybayes.server.http.direct_route import Endpoint
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.server_metrics import METRICS_TYPE
from tallybayes.server.routes.api_document import answers, text_answer

__all__ = ["ENDPOINTS"]


async def health_live(call: Call) -> Answer:
    """Say that the server answers."""
    return Answer.of({"status": "live"})


async def health_ready(call: Call) -> Answer:
    """Say whether the server takes requests: not while it shuts down."""
    if call.service.closing.is_set():
        return Answer.of({"status": "stopping"}, status=503, headers=[(b"retry-after", b"1")])
    return Answer.of({"status": "ready"})


async def metrics(call: Call) -> Answer:
    """Measurements in the format of Prometheus."""
    if call.api_key is not None and "*" not in call.api_key.models:
        got = Described(f"a key for {', '.join(call.api_key.models)}")
        raise HttpError.of(403, "a key for all models, as the measurements name all", got=got)
    call.service.metrics.active.set(call.service.n_active)
    return Answer(await call.service.in_thread(call.service.metrics.text), METRICS_TYPE)


_TAG = "Health"
ENDPOINTS = [
    Endpoint(
        "GET",
        "/health/live",
        health_live,
        None,
        {
            "tags": [_TAG],
            "summary": "Whether the server answers",
            "description": "For a liveness probe.",
            "responses": answers("Health"),
        },
    ),
    Endpoint(
        "GET",
        "/health/ready",
        health_ready,
        None,
        {
            "tags": [_TAG],
            "summary": "Whether the server takes requests",
            "description": "For a readiness probe.",
            "responses": answers("Health"),
        },
    ),
    Endpoint(
        "GET",
        "/metrics",
        metrics,
        "predict",
        {
            "tags": [_TAG],
            "summary": "Measurements for Prometheus",
            "description": "Requests by route and status with their durations, events, rows, versions, queues.",
            "responses": text_answer(METRICS_TYPE.partition(";")[0]),
        },
    ),
]
