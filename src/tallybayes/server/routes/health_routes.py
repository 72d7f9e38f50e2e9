"""Health and measurements, for orchestration and monitoring."""

from __future__ import annotations

from tallybayes.errors import Described
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import Routes
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.server_metrics import METRICS_TYPE

__all__ = ["routes"]

routes = Routes("Health")


@routes.add("GET", "/health/live", needs=None, summary="Whether the server answers", answer="Health")
async def health_live(call: Call) -> Answer:
    """For a liveness probe."""
    return Answer.of({"status": "live"})


@routes.add("GET", "/health/ready", needs=None, summary="Whether the server takes requests", answer="Health")
async def health_ready(call: Call) -> Answer:
    """For a readiness probe: not ready while the server shuts down."""
    if call.service.closing.is_set():
        return Answer.of({"status": "stopping"}, status=503, headers=[(b"retry-after", b"1")])
    return Answer.of({"status": "ready"})


@routes.add("GET", "/metrics", needs="predict", summary="Measurements for Prometheus", formats=["text/plain"])
async def metrics(call: Call) -> Answer:
    """Requests by route and status with their durations, events, rows, versions, queues."""
    if call.api_key is not None and "*" not in call.api_key.models:
        got = Described(f"a key for {', '.join(call.api_key.models)}")
        raise HttpError.of(403, "a key for all models, as the measurements name all", got=got)
    call.service.metrics.active.set(call.service.n_active)
    return Answer(await call.service.in_thread(call.service.metrics.text), METRICS_TYPE)
