"""The Open Inference Protocol and MLflow's scoring protocol, with the requests of their documents."""

import json

import httpx2
import pytest
from running_server import CAT, DOG, PETS, RunningServer, pets

import tallybayes as tb
from tallybayes.model.saved_model import dumps

ROWS = [CAT, DOG]
COLUMNS = {name: [row[name] for row in ROWS] for name in CAT}
TYPES = {"weight": "FP64", "likes": "BYTES", "indoors": "BOOL"}


def tensor(name, data, datatype=None, shape=None):
    return {"name": name, "shape": shape or [len(data)], "datatype": datatype or TYPES[name], "data": data}


def infer(http, inputs, **more):
    return http.post("/v2/models/pets/infer", json={"inputs": inputs, **more})


# The Open Inference Protocol


def test_health_and_metadata_of_the_server(http):
    for path in ("/v2", "/v2/"):
        found = http.get(path).json()
        assert found == {"name": "tallybayes", "version": tb.__version__, "extensions": []}
    assert http.get("/v2/health/live").json() == {"live": True}
    assert http.get("/v2/health/ready").json()["live"] is True
    assert http.get("/v2/models/pets/ready").json() == {"name": "pets", "ready": True}
    assert http.get("/v2/models/pets/versions/0/ready").status_code == 200


def test_metadata_of_a_model(http):
    found = http.get("/v2/models/pets").json()
    assert found["name"] == "pets"
    assert found["versions"] == ["0"]
    assert {one["name"]: one["datatype"] for one in found["inputs"]} == TYPES
    assert found["outputs"] == [
        {"name": "predict", "datatype": "BYTES", "shape": [-1]},
        {"name": "predict_proba", "datatype": "FP64", "shape": [-1, 2]},
    ]
    assert http.get("/v2/models/pets/versions/0").json() == found


def test_inference(http):
    inputs = [tensor(name, data) for name, data in COLUMNS.items()]
    found = infer(http, inputs, id="42").json()
    assert (found["model_name"], found["model_version"], found["id"]) == ("pets", "0", "42")
    labels, proba = found["outputs"]
    assert labels == {"name": "predict", "shape": [2], "datatype": "BYTES", "data": ["cat", "dog"]}
    assert (proba["name"], proba["shape"], proba["datatype"]) == ("predict_proba", [2, 2], "FP64")
    assert proba["data"] == pets().predict_proba(ROWS).ravel().tolist()
    again = http.post("/v2/models/pets/versions/0/infer", json={"inputs": inputs}).json()
    assert again["outputs"] == found["outputs"]
    assert "id" not in again


def test_requested_outputs_shapes_and_nested_data(http):
    inputs = [tensor("weight", [[4.0], [15]], shape=[2, 1]), tensor("indoors", [True, None], shape=[2])]
    found = infer(http, inputs, outputs=[{"name": "predict"}], parameters={"any": 1}).json()
    assert [one["name"] for one in found["outputs"]] == ["predict"]
    expected = pets().predict([{"weight": 4.0, "indoors": True}, {"weight": 15, "indoors": None}]).tolist()
    assert found["outputs"][0]["data"] == expected
    tags = infer(http, [tensor("likes", ["fish", "sun", "walks", "fetch"], shape=[2, 2])]).json()
    expected = pets().predict_proba({"likes": [["fish", "sun"], ["walks", "fetch"]]}).ravel().tolist()
    assert tags["outputs"][1]["data"] == expected
    assert infer(http, [tensor("weight", [], shape=[0])]).json()["outputs"][1]["shape"] == [0, 2]


WRONG = [
    ({}, "inputs"),
    ({"inputs": []}, "inputs"),
    ({"inputs": [{"name": "weight"}]}, "shape"),
    ({"inputs": [tensor("weight", [1, 2], shape=[3])]}, "3 values"),
    ({"inputs": [tensor("weight", [1], shape=[1, 1, 1])]}, "shape"),
    ({"inputs": [tensor("weight", [1], shape=[-1])]}, "shape"),
    ({"inputs": [tensor("weight", [], shape=[1_000_000, 0])]}, "at least one value"),
    ({"inputs": [tensor("weight", ["x"])]}, "FP64"),
    ({"inputs": [tensor("weight", [1], datatype="COMPLEX")]}, "datatype"),
    ({"inputs": [tensor("weight", [1]), tensor("indoors", [True, False])]}, "rows"),
    ({"inputs": [tensor("weight", [1]), tensor("weight", [2])]}, "different names"),
    ({"inputs": [tensor("weight", [{}])]}, "object"),
    ({"inputs": [tensor("weight", [1])], "outputs": [{"name": "nope"}]}, "output"),
    ({"inputs": [tensor("weight", [1])], "id": 7}, "id"),
    ([], "object"),
]


@pytest.mark.parametrize(("body", "words"), WRONG)
def test_wrong_requests_have_the_error_of_the_protocol(http, body, words):
    found = http.post("/v2/models/pets/infer", json=body)
    assert 400 <= found.status_code < 500
    assert found.json().keys() == {"error"}
    assert words in found.json()["error"]


@pytest.mark.parametrize(
    "path", ["/v2/models/nope", "/v2/models/pets/versions/7", "/v2/models/pets/versions/7/ready", "/v2/nothing"]
)
def test_unknown_models_and_versions(http, path):
    found = http.get(path)
    assert found.status_code == 404
    assert found.json().keys() == {"error"}


@pytest.mark.parametrize(
    ("labels", "datatype"), [([0, 1], "INT64"), ([False, True], "BOOL"), ([0.5, 1.5], "FP64"), (["a", "b"], "BYTES")]
)
def test_the_datatype_of_labels(served, http, labels, datatype):
    rows = [{"x": i, "y": labels[i % 2]} for i in range(10)]
    with served.client() as client:
        client.upload(dumps(tb.fit(rows, label="y", families={"x": "gaussian"})), "typed")
    assert http.get("/v2/models/typed").json()["outputs"][0]["datatype"] == datatype
    (found, _) = http.post("/v2/models/typed/infer", json={"inputs": [tensor("x", [3.0], "FP64")]}).json()["outputs"]
    assert found["datatype"] == datatype
    assert found["data"][0] in labels


# MLflow


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    """A server with one model, as MLflow's."""
    folder = tmp_path_factory.mktemp("mlflow")
    pets().save(folder / "pets.tally")
    with RunningServer(folder / "pets.tally") as server, httpx2.Client(base_url=server.url) as client:
        yield client


SCHEMA = ["indoors", "likes", "weight"]
BODIES = {
    "split": {"dataframe_split": {"columns": list(CAT), "data": [list(row.values()) for row in ROWS]}},
    "split with an index": {
        "dataframe_split": {"index": [7, 8], "columns": list(CAT), "data": [list(row.values()) for row in ROWS]}
    },
    "records": {"dataframe_records": ROWS},
    "instances": {"instances": ROWS},
    "inputs by column": {"inputs": COLUMNS},
    "inputs by row": {"inputs": ROWS},
}


@pytest.mark.parametrize("form", BODIES)
def test_invocations(mlflow, form):
    found = mlflow.post("/invocations", json=BODIES[form])
    assert found.json() == {"predictions": ["cat", "dog"]}


def test_rows_without_names_have_the_columns_of_the_schema(mlflow):
    names = [name for name in pets().schema.columns if name in CAT]
    for key in ("instances", "inputs"):
        found = mlflow.post("/invocations", json={key: [[row[name] for name in names] for row in ROWS]})
        assert found.json() == {"predictions": ["cat", "dog"]}, found.text


def test_invocations_of_csv_and_other_forms(mlflow):
    csv = "weight,likes,indoors\n4.1,fish,true\n15,walks,false\n"
    for kind in ("text/csv", "text/csv; charset=utf-8"):
        found = mlflow.post("/invocations", content=csv, headers={"Content-Type": kind})
        assert found.json() == {"predictions": ["cat", "dog"]}
    body = json.dumps(BODIES["records"])
    for kind, status in (
        ("application/json;", 200),
        ("application/json; charset=utf-8", 200),
        ("application/json; charset=latin-1", 415),
        ("application/xml", 415),
    ):
        found = mlflow.post("/invocations", content=body, headers={"Content-Type": kind})
        assert found.status_code == status, kind
    assert mlflow.post("/invocations", json={"dataframe_records": []}).json() == {"predictions": []}


def test_probabilities_by_a_parameter(mlflow):
    found = mlflow.post("/invocations", json={"instances": ROWS, "params": {"proba": True}}).json()["predictions"]
    assert found == [dict(zip(["cat", "dog"], own, strict=True)) for own in pets().predict_proba(ROWS).tolist()]


def test_health_and_version(mlflow):
    for path in ("/ping", "/health"):
        assert (mlflow.get(path).status_code, mlflow.get(path).text.strip()) == (200, "")
    assert mlflow.get("/version").text == tb.__version__


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ([], 400),
        ({}, 400),
        ({"columns": ["a"], "data": [[1]]}, 400),
        ({"instances": ROWS, "inputs": ROWS}, 400),
        ({"dataframe_split": []}, 400),
        ({"dataframe_split": {"columns": ["weight"], "data": [[1, 2]]}}, 422),
        ({"dataframe_split": {"columns": "weight", "data": [[1]]}}, 400),
        ({"dataframe_records": [1]}, 422),
        ({"instances": 5}, 400),
        ({"inputs": {"weight": [1, 2], "likes": ["x"]}}, 422),
        ({"instances": [{"weight": "heavy"}]}, 422),
        ({"instances": ROWS, "params": {"model": "nope"}}, 404),
        ({"instances": ROWS, "params": {"nope": 1}}, 400),
        ({"instances": ROWS, "params": 7}, 400),
    ],
)
def test_wrong_invocations_have_the_error_of_mlflow(mlflow, body, status):
    found = mlflow.post("/invocations", json=body)
    assert found.status_code == status, found.text
    assert found.json().keys() == {"error_code", "message"}


def test_invocations_of_a_server_with_several_models(served, http):
    with served.client() as client:
        client.upload(dumps(pets()), "second")
    found = http.post("/invocations", json={"instances": PETS})
    assert found.status_code == 400
    assert "params" in found.json()["message"]
    found = http.post("/invocations", json={"instances": ROWS, "params": {"model": "second"}})
    assert found.json() == {"predictions": ["cat", "dog"]}
