"""Measurements in the format of Prometheus, in a registry of their own.

tally_requests_total{method,route,status}     tally_request_seconds{route}      tally_requests_active
tally_events_total{model,kind}                tally_rows_total{model,kind}      tally_commit_seconds
tally_model_version{model}                    tally_model_rows{model}           tally_queue_length{model}
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tallybayes.server.live.model_folder import ModelFolder

__all__ = ["METRICS_TYPE", "ServerMetrics"]

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# From a tenth of a millisecond, which the fastest requests take, to the time limit.
_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class ServerMetrics:
    """The measurements of one server."""

    def __init__(self, folder: ModelFolder) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry, buckets=_SECONDS)
        self._requests = counter("tally_requests", "Requests by route and status.", ["method", "route", "status"])
        waited = "Seconds from the headers of a request to the end of its answer."
        self._seconds = histogram("tally_request_seconds", waited, ["route"])
        self.active = gauge("tally_requests_active", "Requests that are being answered.")
        self._events = counter("tally_events", "Changes that were committed.", ["model", "kind"])
        self._rows = counter("tally_rows", "Rows of these changes.", ["model", "kind"])
        committed = "Seconds from the arrival of a change to its durable commit."
        self._commits = histogram("tally_commit_seconds", committed)
        self._children: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self.registry.register(_ModelCollector(folder))

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = method, route, status
        metrics = self._children.get(key)
        if metrics is None:
            metrics = self._requests.labels(method, route, str(status)), self._seconds.labels(route)
            self._children[key] = metrics
        metrics[0].inc()
        metrics[1].observe(seconds)

    def observe_change(self, model: str, kind: str, rows: int, seconds: float) -> None:
        """Count a change that was committed."""
        self._events.labels(model, kind).inc()
        self._rows.labels(model, kind).inc(rows)
        self._commits.observe(seconds)

    def text(self) -> bytes:
        """All measurements, for Prometheus."""
        return generate_latest(self.registry)


class _ModelCollector(Collector):
    """What is measured of every model when the measurements are read."""

    def __init__(self, folder: ModelFolder) -> None:
        self._folder = folder

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges of all models."""
        version = GaugeMetricFamily("tally_model_version", "The last event that changed the model.", labels=["model"])
        rows = GaugeMetricFamily("tally_model_rows", "Rows that the model has learned.", labels=["model"])
        queue = GaugeMetricFamily("tally_queue_length", "Changes that wait for the writer.", labels=["model"])
        for name, live in list(self._folder.items()):
            current = live.current
            version.add_metric([name], current.version)
            state = current.snapshot.state
            rows.add_metric([name], sum(state.class_counts.values()) if state.given is None else 0)
            queue.add_metric([name], live.n_waiting)
        yield from (version, rows, queue)
