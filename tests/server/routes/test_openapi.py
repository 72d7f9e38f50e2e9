"""Requests made from the OpenAPI document: no request, valid or not, makes the server fail."""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from running_server import RunningServer, pets
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tallybayes.server.application import ENDPOINTS
from tallybayes.server.events.event_rows import ARROW, MODEL
from tallybayes.server.http.request_rows import CSV, NDJSON, TSV
from tallybayes.server.routes.api_document import openapi_document

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
STREAMS = "/v1/models/{model}/live"  # has no end


@schemathesis.serializer(NDJSON, CSV, TSV, ARROW, MODEL)
def as_it_is(context, value):
    """Texts and bytes that the generator has made up are sent as they are, other values as JSON."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    content = getattr(value, "data", value)
    return bytes(content) if isinstance(content, (bytes, bytearray)) else json.dumps(value, default=str).encode()


DOCUMENT = openapi_document(ENDPOINTS)
schema = schemathesis.openapi.from_dict(DOCUMENT).exclude(path=STREAMS)


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    pets().save(folder / "pets.tally")
    with RunningServer(folder, "--log-level", "warning", "--timeout", "20") as server:
        yield server
        assert not [line for line in server.log() if line["level"] == "error"]


@schema.parametrize()
@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_makes_the_server_fail(case, target):
    if "model" in case.path_parameters and case.method != "DELETE":
        case.path_parameters["model"] = "pets"
    response = case.call(base_url=target.url, timeout=30)
    case.validate_response(response, checks=CHECKS)


def test_conditions_are_documented_where_they_work():
    """Every operation that may answer 412 has the parameter If-Match, and every one with 304 has If-None-Match."""
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            names = {parameter.get("$ref", "").rpartition("/")[2] for parameter in operation.get("parameters", ())}
            where = f"{method} {path}"
            assert ("412" in operation["responses"]) == ("IfMatch" in names), where
            assert ("304" in operation["responses"]) == ("IfNoneMatch" in names), where


def test_the_answers_that_are_documented_have_a_status_that_comes():
    document = DOCUMENT["paths"]
    removal = document["/v1/models/{model}"]["delete"]["responses"]
    assert "204" in removal
    assert "200" not in removal
    upload = document["/v1/models/{model}"]["put"]
    assert {"200", "201", "412"} <= upload["responses"].keys()
    assert {"$ref": "#/components/parameters/IdempotencyKey"} in upload["parameters"]
