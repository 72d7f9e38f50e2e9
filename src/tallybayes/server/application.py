"""The application: all routes behind the gateway."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from tallybayes.server.http.direct_route import add_endpoints
from tallybayes.server.http.gateway import Gateway
from tallybayes.server.http.service import Service
from tallybayes.server.routes import (
    change_routes,
    event_routes,
    health_routes,
    inference_protocol,
    mlflow_protocol,
    model_routes,
    page_routes,
    prediction_routes,
    reference_page,
)
from tallybayes.server.routes.api_document import documented
from tallybayes.version import __version__

__all__ = ["ROUTES", "create_app", "routed"]

# The order of routes is the order in which they are tried: those that are called most come first.
ROUTES = (
    prediction_routes,
    change_routes,
    inference_protocol,
    model_routes,
    event_routes,
    mlflow_protocol,
    health_routes,
    reference_page,
    page_routes,
)

_DESCRIPTION = """
Naive Bayes models that answer and learn. Every change is an event of a durable log and can be taken back.

Rows are objects of JSON, lines of JSON, CSV or Arrow. Errors are `application/problem+json` with what was expected,
what was given and a hint. Answers have the version of the model in `ETag` and `X-Model-Version`.
"""


class _Documented(FastAPI):
    """FastAPI with our parts in its OpenAPI document."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        if self.openapi_schema is None:
            self.openapi_schema = documented(super().openapi())
        return self.openapi_schema


def routed() -> FastAPI:
    """The routes, without what they need to answer."""
    app = _Documented(
        title="tallybayes",
        version=__version__,
        description=_DESCRIPTION.strip(),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    for module in ROUTES:
        add_endpoints(app, module.ENDPOINTS)
    return app


def create_app(service: Service) -> ASGIApp:
    """The application for a service."""
    return Gateway(routed(), service)
