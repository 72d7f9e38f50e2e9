"""Changes over HTTP: durable, idempotent, with conditions; and the events they leave."""

import io
import json
import time

import httpx2
import pyarrow.parquet as pq
import pytest
from running_server import CAT, DOG, PETS, Api, RunningServer, pets
from test_api_answers import ARROW, BODIES, CSV, JSON, NDJSON, TSV

import tallybayes as tb
from tallybayes.model.saved_model import dumps, loads
from tallybayes.server.live.change_request import ChangeRequest, VersionError
from tallybayes.server.live.model_folder import ModelFolder

NEW = [{**CAT, "pet": "cat"}, {**DOG, "pet": "dog"}, {**DOG, "weight": 30.5, "pet": "cow"}]


def learned(*parts):
    model = pets()
    for part in parts:
        model.learn(part)
    return model


def downloaded(api):
    return loads(api.get("/download").content)


def test_learn_forget_and_undo(api):
    first = api.post("/learn", json={"rows": NEW})
    assert first.json() == {
        "event": 1,
        "version": 1,
        "kind": "learn",
        "rows": 3,
        "skipped": 0,
        "notes": first.json()["notes"],
        "repeated": False,
    }
    assert first.headers["etag"].startswith(f'"{api.name}-1.')
    assert dumps(downloaded(api)) == dumps(learned(NEW))
    assert api.post("/predict", json={"row": {"weight": 30.5}}).json()["classes"] == ["cat", "cow", "dog"]
    assert api.post("/forget", json={"rows": NEW[:1]}).json()["version"] == 2
    assert dumps(downloaded(api)) == dumps(learned(NEW[1:]))
    assert api.post("/undo", json={"event": 2}).json()["version"] == 3
    assert api.post("/undo", json={"event": 1}).json()["version"] == 4
    assert dumps(downloaded(api)) == dumps(pets())
    again = api.post("/undo", json={"event": 1})
    assert again.status_code == 409
    assert "undone" in again.json()["detail"]


@pytest.mark.parametrize("kind", [JSON, NDJSON, CSV, TSV, ARROW])
def test_rows_of_every_format_are_learned_alike(api, kind):
    found = api.post("/learn", content=BODIES[kind](NEW), headers={"Content-Type": kind})
    assert found.json()["rows"] == 3
    assert downloaded(api) == learned(NEW)
    event = api.get("/events/1").json()
    assert [row["pet"] for row in event["data"]] == ["cat", "dog", "cow"]
    assert api.post("/undo", json={"event": 1}).status_code == 200
    assert downloaded(api) == pets()


def test_numbers_and_labels_of_text_are_learned_in_the_types_of_the_model(served):
    rows = [{"age": i, "zip": i % 3, "ill": i % 2 == 0} for i in range(20)]
    model = tb.fit(rows, label="ill", families={"age": "gaussian", "zip": "categorical"})
    with served.client() as client:
        client.upload(dumps(model), "ill")
    with Api(f"{served.url}/v1/models/ill") as api:
        body = "age,zip,ill\n7.5,1,true\n,2,false\n"
        found = api.post("/learn", content=body, headers={"Content-Type": "text/csv"})
        assert found.json()["rows"] == 2, found.json()
        model.learn([{"age": 7.5, "zip": 1, "ill": True}, {"age": None, "zip": 2, "ill": False}])
        assert downloaded(api) == model
        assert api.get("").json()["classes"] == [False, True]


def test_objects_within_rows_are_read_by_their_paths(served):
    rows = [{"place": {"state": "CT"[i % 2], "pos": {"x": i % 7 - 3, "y": 2.5}}, "sold": i % 2} for i in range(40)]
    model = tb.fit(rows, label="sold")
    with served.client() as client:
        client.upload(dumps(model), "places")
    new = {"place": {"state": "C", "pos": {"x": 2, "y": 2.5}}}
    flat = {"place.state": "C", "place.pos.x": 2, "place.pos.y": 2.5}
    with Api(f"{served.url}/v1/models/places") as api:
        found = api.post("/predict", json={"row": new}).json()
        assert found == api.post("/predict", json={"row": flat}).json()
        assert found != api.post("/predict", json={"row": {"place": {}}}).json()
        assert (answer := api.post("/learn", json={"rows": [new | {"sold": 0}]}).json()).get("rows") == 1, answer
        model.learn([new | {"sold": 0}])
        assert downloaded(api) == model
        assert api.post("/undo", json={"event": 1}).status_code == 200
        assert api.post("/forget", json={"rows": [rows[0]]}).json()["rows"] == 1


def test_a_repeated_request_is_applied_once(api):
    headers = {"Idempotency-Key": "a1"}
    first = api.post("/learn", json={"rows": NEW}, headers=headers).json()
    again = api.post("/learn", json={"rows": NEW}, headers=headers).json()
    assert again == first | {"repeated": True}
    assert api.get("").json()["rows"] == 9
    other = api.post("/learn", json={"rows": NEW[:1]}, headers=headers)
    assert other.status_code == 422
    assert "key" in other.json()["detail"].lower()
    assert api.get("").json()["rows"] == 9


def test_a_change_for_another_version_is_refused(api):
    current = api.get("").headers["etag"]
    assert api.post("/learn", json={"rows": NEW}, headers={"If-Match": current}).status_code == 200
    for verb, body in (("learn", {"rows": NEW}), ("forget", {"rows": NEW}), ("undo", {"event": 1})):
        late = api.post(f"/{verb}", json=body, headers={"If-Match": current})
        assert late.status_code == 412
        assert late.json()["type"] == "urn:tallybayes:error:VersionError"
    assert api.put("/decision", json={"abstain": 0.9}, headers={"If-Match": current}).status_code == 412
    assert api.post("/predict", json={"row": CAT}, headers={"If-Match": current}).status_code == 412
    assert api.post("/learn", json={"rows": NEW}, headers={"If-Match": f'"x-9", "{api.name}-1"'}).status_code == 200
    assert api.post("/learn", json={"rows": NEW}, headers={"If-Match": "*"}).status_code == 200


def test_a_change_that_was_made_can_be_repeated_with_its_condition(api):
    """The reply was lost: the same key and the same If-Match give the first answer, though the version has changed."""
    headers = {"Idempotency-Key": "once", "If-Match": api.get("").headers["etag"]}
    first = api.post("/learn", json={"rows": NEW}, headers=headers).json()
    assert api.post("/learn", json={"rows": NEW}, headers=headers).json() == first | {"repeated": True}
    for wrong in ('"other-0"', '"x"', f'"{api.name}-{"9" * 50}"', ""):
        refused = api.post("/learn", json={"rows": NEW}, headers={"If-Match": wrong})
        assert refused.status_code == 412, wrong


def test_a_decision_rule(api):
    assert api.post("/predict", json={"row": CAT}).json()["predictions"] == ["cat"]
    assert api.put("/decision", json={"positive": "dog", "threshold": 0.01}).status_code == 200
    assert api.post("/predict", json={"row": CAT}).json()["predictions"] == ["dog"]
    assert "dog if its probability is at least 0.01" in api.get("").json()["decision"]
    assert api.put("/decision", json={"abstain": 0.999}).status_code == 200
    assert api.post("/predict", json={"row": {}}).json()["predictions"] == [None]
    csv = api.post("/predict", json={"row": {}}, headers={"Accept": "text/csv"}).text
    assert csv.splitlines()[1].startswith(",,")
    assert api.put("/decision", json={"positive": "dog", "false_negatives": 0, "rows": PETS}).status_code == 200
    assert api.put("/decision", json={"costs": {"dog": {"cat": 20}}}).status_code == 200
    assert api.put("/decision", json={}).status_code == 200
    assert api.get("").json()["decision"] is None
    assert api.post("/undo", json={"event": 5}).status_code == 200
    assert "least expected cost" in api.get("").json()["decision"]


def test_a_calibration(api):
    assert api.post("/calibrate", json={"rows": PETS}).status_code == 200
    expected = pets()
    expected.calibrate(PETS)
    assert api.get("").json()["calibration"] == str(expected.calibration)
    found = api.post("/predict", json={"row": CAT}).json()["probabilities"][0]
    assert found == expected.predict_proba([CAT])[0].tolist()
    assert api.post("/calibrate", json={"method": "none"}).status_code == 200
    assert api.get("").json()["calibration"] is None
    assert api.post("/calibrate", json={"rows": PETS, "method": "isotonic", "new": True}).status_code == 200
    assert api.get("").json()["calibration"].startswith("isotonic")


def test_events_are_listed_by_pages_and_kinds(api):
    for weight in range(5):
        api.post("/learn", json={"row": {"weight": weight, "pet": "cat"}})
    api.post("/undo", json={"event": 2})
    newest = api.get("/events?limit=2").json()
    assert [event["event"] for event in newest["events"]] == [6, 5]
    assert newest["next"] == 5
    older = api.get(f"/events?before={newest['next']}").json()
    assert [event["event"] for event in older["events"]] == [4, 3, 2, 1]
    assert older["next"] is None
    assert [event["event"] for event in api.get("/events?after=3").json()["events"]] == [4, 5, 6]
    (undo,) = api.get("/events?kind=undo").json()["events"]
    assert (undo["undoes"], undo["event"]) == (2, 6)
    second = api.get("/events/2").json()
    assert (second["undone_by"], second["data"]) == (6, [{"weight": 1, "pet": "cat"}])


def test_events_are_exported_as_parquet(api):
    api.post("/learn", json={"rows": NEW}, headers={"Idempotency-Key": "k1"})
    api.post("/undo", json={"event": 1})
    found = api.get("/events.parquet")
    assert found.headers["content-type"] == "application/vnd.apache.parquet"
    first, second = pq.read_table(io.BytesIO(found.content)).to_pylist()
    assert (first["event"], first["kind"], first["rows"], first["key"], first["undone_by"]) == (1, "learn", 3, "k1", 2)
    assert json.loads(first["data"]) == NEW
    assert (second["kind"], second["undoes"]) == ("undo", 1)


def test_news_of_changes_as_server_sent_events(api):
    with api.stream("GET", "/live") as stream:
        assert stream.headers["content-type"] == "text/event-stream"
        lines = stream.iter_lines()
        assert next(lines) == "event: hello"
        assert json.loads(next(lines).removeprefix("data: ")) == {"version": 0}
        httpx2.post(f"{api.root}/learn", json={"rows": NEW})
        while (line := next(lines)) != "event: published":
            assert line == "" or line.startswith(":")
        news = json.loads(next(lines).removeprefix("data: "))
        assert (news["version"], news["event"], news["kind"], news["rows"]) == (1, 1, "learn", 3)
    assert api.get("/events").json()["events"][0]["rows"] == 3


def test_the_stream_of_a_model_that_is_removed_ends(api):
    with api.stream("GET", "/live") as news:
        lines = news.iter_lines()
        assert next(lines) == "event: hello"
        assert httpx2.delete(api.root).status_code == 204
        started = time.monotonic()
        assert "event: published" not in list(lines)
        assert time.monotonic() - started < 10


def test_models_are_added_replaced_and_removed(served):
    kind = {"Content-Type": "application/octet-stream"}
    with Api(f"{served.url}/v1/models") as api:
        added = api.put("/more", content=dumps(learned(NEW)), headers=kind)
        assert (added.status_code, added.json()["rows"]) == (201, 9)
        assert {"more", "pets"} <= {one["name"] for one in api.get("").json()["models"]}
        assert api.post("/more/learn", json={"rows": NEW}).json()["event"] == 1
        replaced = api.put("/more", content=dumps(pets()), headers=kind)
        assert (replaced.status_code, replaced.json()["rows"], replaced.json()["version"]) == (200, 6, 2)
        assert api.post("/more/undo", json={"event": 2}).status_code == 200
        assert api.get("/more").json()["rows"] == 12
        assert api.put("/bad", content=dumps(pets())[:-3], headers=kind).status_code == 422
        assert api.put("/bad", content=b"", headers=kind).status_code == 422
        assert api.put("/bad", content=dumps(pets()), headers=kind | {"If-Match": "*"}).status_code == 412
        once = kind | {"Idempotency-Key": "replace"}
        assert api.put("/more", content=dumps(pets()), headers=once).json()["version"] == 4
        assert api.put("/more", content=dumps(pets()), headers=once).json()["version"] == 4
        assert api.put("/%2e%2e%2fbad", content=dumps(pets()), headers=kind).status_code in (404, 405, 422)
        assert api.put("/.hidden", content=dumps(pets()), headers=kind).status_code == 422
        assert api.put("/more", content=dumps(pets()), headers=kind | {"If-Match": '"more-0"'}).status_code == 412
        assert api.delete("/more").status_code == 204
        assert api.get("/more").status_code == 404
    names = {path.name for path in served.path.iterdir()}
    assert "pets.tally" in names
    assert not [name for name in names if name.startswith(("more", "bad", ".hidden"))]
    assert not list(served.path.parent.glob("bad.*"))


FILE = {"Content-Type": "application/octet-stream"}


def test_a_model_that_is_uploaded_again_has_another_etag(served):
    """Both begin at version 0: who has kept the first one must not be told that nothing has changed."""
    with Api(f"{served.url}/v1/models/again") as api:
        tags = []
        for content in (dumps(pets()), dumps(learned(NEW))):
            assert api.put("", content=content, headers=FILE).status_code == 201
            found = api.get("/download", headers={"If-None-Match": ", ".join(tags) or '"none"'})
            assert (found.status_code, found.content) == (200, content)
            tags.append(found.headers["etag"])
            assert api.get("/download", headers={"If-None-Match": tags[-1]}).status_code == 304
            last = content == dumps(learned(NEW))
            refused = api.post("/learn", json={"rows": NEW}, headers={"If-Match": tags[0]})
            assert refused.status_code == (412 if last else 200)
            assert api.delete("").status_code == 204
    assert tags[0] != tags[1]


def test_etags_are_the_same_after_a_restart(tmp_path):
    pets().save(tmp_path / "pets.tally")
    tags = []
    for _ in range(2):
        with RunningServer(tmp_path) as server:
            tags.append(httpx2.get(f"{server.url}/v1/models/pets").headers["etag"])
    assert tags[0] == tags[1]


def test_an_upload_that_is_repeated_leaves_no_event(served):
    once = FILE | {"Idempotency-Key": "first"}
    with Api(f"{served.url}/v1/models/uploaded") as api:
        assert api.put("", content=dumps(pets()), headers=once).status_code == 201
        again = api.put("", content=dumps(pets()), headers=once)
        assert (again.status_code, again.json()["version"]) == (200, 0)
        assert api.put("", content=dumps(learned(NEW)), headers=FILE | {"Idempotency-Key": "2"}).json()["version"] == 1
        assert api.delete("").status_code == 204


def test_only_the_version_that_was_meant_is_removed(api):
    old = api.get("").headers["etag"]
    assert api.post("/learn", json={"rows": NEW}).status_code == 200
    refused = api.delete("", headers={"If-Match": old})
    assert refused.status_code == 412
    assert "version" in refused.json()["detail"]
    assert api.post("/learn", json={"rows": NEW}).status_code == 200
    assert api.delete("", headers={"If-Match": api.get("").headers["etag"]}).status_code == 204


def test_a_change_that_is_on_its_way_keeps_a_model_from_being_removed(tmp_path):
    """The condition is compared once more after the last change is committed."""
    pets().save(tmp_path / "pets.tally")
    with ModelFolder.open(tmp_path) as folder:
        live = folder["pets"]
        waiting = [live.submit(ChangeRequest.of_rows("learn", NEW)) for _ in range(50)]
        with pytest.raises(VersionError):
            folder.remove("pets", if_version=0)
        assert [change.result().event for change in waiting] == list(range(1, 51))
        assert folder["pets"].current.version == 50
        folder.remove("pets", if_version=50)
        assert list(folder) == []


def test_a_server_of_one_file_takes_no_other_models(tmp_path):
    pets().save(tmp_path / "pets.tally")
    kind = {"Content-Type": "application/octet-stream"}
    with RunningServer(tmp_path / "pets.tally") as server:
        found = httpx2.put(f"{server.url}/v1/models/other", content=dumps(pets()), headers=kind)
    assert found.status_code == 422
    assert "folder" in found.json()["detail"]
