"""The application: all routes behind the gateway."""

from __future__ import annotations

from starlette.types import ASGIApp

from tallybayes.formatting import json_text
from tallybayes.server.events.event_rows import JSON
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import Routes, create_router
from tallybayes.server.http.gateway import Gateway
from tallybayes.server.http.service import Service
from tallybayes.server.routes import (
    change_routes,
    event_routes,
    health_routes,
    inference_protocol,
    mlflow_protocol,
    model_routes,
    page_files,
    page_routes,
    prediction_routes,
)
from tallybayes.server.routes.api_document import openapi_document

__all__ = ["ENDPOINTS", "create_app"]

_reference = Routes("Reference")


@_reference.add("GET", "/openapi.json", needs=None, summary="This reference as an OpenAPI document", answer="Document")
async def openapi(call: Call) -> Answer:
    """For programs that generate clients or tests."""
    return Answer(json_text(openapi_document(ENDPOINTS)).encode(), JSON)


# The order of routes is the order in which they are tried: those that are called most come first.
ENDPOINTS = [
    endpoint
    for routes in (
        prediction_routes.routes,
        change_routes.routes,
        inference_protocol.routes,
        model_routes.routes,
        event_routes.routes,
        mlflow_protocol.routes,
        health_routes.routes,
        _reference,
        page_routes.routes,
        page_files.routes,
    )
    for endpoint in routes.endpoints
]


def create_app(service: Service) -> ASGIApp:
    """The application for a service."""
    return Gateway(create_router(ENDPOINTS), service)
