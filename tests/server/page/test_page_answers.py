"""What the page asks for beyond the API: fields of a form, files as rows, importance, nomogram, demo models."""

import io
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from running_server import RunningServer
from typer.testing import CliRunner

import tallybayes as tb
from tallybayes.cli.main import app
from tallybayes.errors import DataError, TallyError
from tallybayes.server.demo_models import DEMO_MODELS, demo_rows, write_demo_models
from tallybayes.server.http.uploaded_rows import uploaded_rows
from tallybayes.server.routes.form_fields import form_fields
from tallybayes.server.routes.page_routes import expected_importance


def mixed(n=120):
    rng = np.random.default_rng(2)
    kind = rng.integers(0, 2, n)
    return {
        "id": [f"row-{i}-{i * 7919}" for i in range(n)],
        "size": rng.normal(5 + 3 * kind, 1).round(2).tolist(),
        "children": rng.poisson(2 + 2 * kind).tolist(),
        "town": np.where(rng.random(n) < 0.7, "Ulm", "Bonn").tolist(),
        "member": (rng.random(n) < 0.3 + 0.4 * kind).tolist(),
        "likes": ["sun|sea" if k else "snow" for k in kind],
        "since": [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(n)],
        "grade": np.array(["low", "medium", "high"])[np.minimum(kind + rng.integers(0, 2, n), 2)].tolist(),
        "note": [
            f"{'warm beach holiday' if k else 'cold winter evening'} number {i} again" for i, k in enumerate(kind)
        ],
        "trip": np.array(["ski", "swim"])[kind].tolist(),
    }


@pytest.fixture(scope="module")
def model():
    families = {"size": "gaussian", "children": "poisson", "likes": "tags", "note": "text:counts", "since": "date"}
    return tb.fit(mixed(), label="trip", families=families | {"grade": "ordinal:low<medium<high"})


@pytest.fixture(scope="module")
def fields(model):
    return {one["name"]: one for one in form_fields(model)["columns"]}


def test_every_kind_of_column_has_a_field(fields):
    kinds = {name: one["kind"] for name, one in fields.items()}
    assert kinds == {
        "size": "number",
        "children": "count",
        "town": "category",
        "member": "flag",
        "likes": "tags",
        "since": "date",
        "grade": "order",
        "note": "text",
    }


def test_fields_are_in_the_order_of_the_table_and_excluded_columns_have_a_reason(model, fields):
    assert list(fields) == [name for name in mixed() if name not in ("id", "trip")]
    assert [one["name"] for one in form_fields(model)["excluded"]] == ["id"]


def test_choices_are_counted_and_ranges_hold_the_values(fields):
    rows = mixed()
    assert fields["town"]["values"] == [
        {"value": name, "rows": rows["town"].count(name)}
        for name in sorted(set(rows["town"]), key=rows["town"].count)[::-1]
    ]
    assert {one["value"]: one["rows"] for one in fields["likes"]["values"]} == {
        "sun": rows["likes"].count("sun|sea"),
        "sea": rows["likes"].count("sun|sea"),
        "snow": rows["likes"].count("snow"),
    }
    assert [one["value"] for one in fields["grade"]["values"]] == ["low", "medium", "high"]
    low, high = fields["size"]["range"]
    assert low < np.median(rows["size"]) < high


def test_pictures_show_the_distribution_in_each_class(model, fields):
    assert {one["picture"]["kind"] for one in fields.values() if one["picture"]} == {"curve", "values", "words"}
    shares = [row for row in fields["member"]["picture"]["rows"] if row["value"] == "yes"]
    expected = model.predictives()["member"].table()
    assert [row["p"] for row in shares] == pytest.approx([row["P(yes)"] for row in expected], rel=1e-4)


def test_given_probabilities_and_models_without_intervals_have_fields():
    cancer = tb.from_probabilities(
        {"ill": 0.01, "well": 0.99}, {"test": {"ill": {"+": 0.9, "-": 0.1}, "well": {"+": 0.05, "-": 0.95}}}
    )
    found = form_fields(cancer)
    assert [one["kind"] for one in found["columns"]] == ["category"]
    assert not found["intervals"]
    assert form_fields(tb.fit({"a": [1, 2, 3, 4], "y": [0, 0, 1, 1]}, label="y"))["intervals"]


def test_a_model_without_rows_has_fields_and_no_rulers():
    rows = {"a": [1.5, 2.5], "town": ["Ulm", "Bonn"], "y": ["x", "z"]}
    model = tb.fit(rows, label="y")
    model.forget(rows)
    found = form_fields(model)
    assert [(one["name"], one["values"], one["range"]) for one in found["columns"]] == [
        ("a", [], None),
        ("town", [], None),
    ]
    assert (found["classes"], found["intervals"]) == ([], False)
    assert expected_importance(model)["columns"] == []


def test_importance_of_a_model_agrees_with_that_on_its_data(model):
    rows = mixed(400)
    names = ("size", "town", "member", "trip")
    plain = tb.fit({name: rows[name] for name in names}, label="trip", families={"size": "gaussian"})
    found = {one["column"]: one for one in expected_importance(plain, 4_000)["columns"]}
    measured = tb.importance(plain, {name: rows[name] for name in names})
    for one in measured.columns:
        assert found[one.column]["information"] == pytest.approx(one.information, abs=0.08)


def test_a_model_that_cannot_be_sampled_says_why():
    texts = ["cheap pills now", "lunch on friday"] * 10
    model = tb.fit({"text": texts, "y": [1, 0] * 10}, label="y", families={"text": "text:complement"})
    found = expected_importance(model)
    assert found["columns"] == []
    assert "likelihoods" in found["reason"]


# Files as rows


@pytest.mark.parametrize(
    ("name", "media_type", "body"),
    [
        ("a.csv", "text/csv", b"name;size;member\nMimi;3,5;yes\n"),
        ("", "text/plain", b"name,size,member\nMimi,3.5,true\n"),
        ("", "text/plain", b"name\tsize\tmember\nMimi\t3.5\tTRUE\n"),
        ("", "text/plain", b'{"name": "Mimi", "size": 3.5, "member": true}'),
        ("", "application/json", b'[{"name": "Mimi", "size": 3.5, "member": true}]'),
        ("a.jsonl", "", b'{"name": "Mimi", "size": 3.5, "member": true}\n'),
    ],
)
def test_files_and_pasted_tables_have_the_types_of_the_model(model, name, media_type, body):
    found = uploaded_rows(body, model.schema, media_type=media_type, name=name)
    assert found["rows"] == [{"name": "Mimi", "size": 3.5, "member": True}]
    assert found["columns"] == ["name", "size", "member"]
    assert not found["truncated"]


def test_a_parquet_file_and_an_arrow_stream_are_read(model):
    table = pa.table({"size": [3.5, None], "town": ["Ulm", None]})
    file, stream = io.BytesIO(), io.BytesIO()
    pyarrow.parquet.write_table(table, file)
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    for body in (file, stream):
        assert uploaded_rows(body.getvalue(), model.schema)["rows"] == table.to_pylist()


def test_a_mail_is_one_row_with_its_name():
    mail = b"From: a@example.org\nTo: b@example.org\nSubject: soup\nDate: Thu, 02 Apr 2026 09:51:00 +0000\n\nToday?\n"
    (row,) = uploaded_rows(mail, tb.Schema(None), name="C:\\mails\\soup.eml")["rows"]
    assert (row["subject"], row["text"].strip(), row["file"]) == ("soup", "Today?", "soup.eml")


def test_rows_beyond_the_limit_are_cut_and_it_is_said():
    body = b"size\n" + b"1\n" * 30
    found = uploaded_rows(body, tb.Schema(None), limit=10)
    assert (len(found["rows"]), found["truncated"]) == (10, True)


@pytest.mark.parametrize(
    ("body", "got"),
    [
        (b"", "an empty body"),
        (b"  \n", "an empty body"),
        (b"PK\x03\x04xxxx", "a zip archive"),
        (b"\x1f\x8b\x08xxxx", "a compressed file"),
        (b"SQLite format 3\x00xx", "a database"),
        (b"12345678DUCKxx", "a database"),
    ],
)
def test_archives_and_databases_are_refused(body, got):
    with pytest.raises(DataError, match=got):
        uploaded_rows(body, tb.Schema(None))


@pytest.mark.parametrize("name", ["/etc/passwd", "../../x.csv", "SELECT 1", "a\x00b.csv", "." * 300])
def test_the_name_of_a_file_is_only_a_name(name):
    assert uploaded_rows(b"a\n1\n", tb.Schema(None), name=name, media_type="text/csv")["rows"] == [{"a": "1"}]


def test_an_error_names_the_file_of_the_user(model):
    with pytest.raises(TallyError, match=r"mine\.json") as caught:
        uploaded_rows(b'[{"size": 1}, {"size": ', model.schema, name="mine.json")
    assert "tmp" not in str(caught.value)


def test_cells_that_are_no_numbers_are_missing_and_it_is_said(model):
    found = uploaded_rows(b"size,town\n1,Ulm\nheavy,Bonn\n", model.schema, name="mine.csv")
    assert [row["size"] for row in found["rows"]] == [1, None]
    assert "heavy" in found["notes"][0]
    assert "mine.csv" in found["notes"][0]


# Routes


def test_columns_follow_the_model(api):
    before = api.get("/columns").json()
    assert api.get("/columns").json() == before
    api.post("/learn", json={"row": {"weight": 2.0, "likes": "carrots", "indoors": True, "pet": "rabbit"}})
    after = api.get("/columns").json()
    assert (before["version"], after["version"]) == (0, 1)
    assert after["classes"] == ["cat", "dog", "rabbit"]
    assert "carrots" in [one["value"] for one in after["columns"][1]["values"]]


def test_the_nomogram_adds_up_to_the_score(http):
    data = http.get("/v1/models/pets/nomogram").json()
    (ruler,) = (one for one in data["rulers"] if one["name"] == "indoors")
    total = np.array(data["prior"]) + np.array(ruler["adds"][ruler["marks"].index("yes")])
    p = np.exp(total - np.logaddexp.reduce(total))
    answer = http.post("/v1/models/pets/predict", json={"row": {"indoors": True}}).json()
    assert p == pytest.approx(answer["probabilities"][0])


def test_reading_needs_a_model_and_tells_what_is_wrong(http):
    assert http.post("/v1/models/cows/read", content=b"a\n1\n").status_code == 404
    answer = http.post("/v1/models/pets/read", content=b"PK\x03\x04....", headers={"Content-Type": "application/zip"})
    assert answer.status_code == 422
    assert answer.json()["hint"] == "unpack or export it first"
    answer = http.post(
        "/v1/models/pets/read?file=a.csv", content=b"weight\n4.5\n", headers={"Content-Type": "text/csv"}
    )
    assert answer.json()["rows"] == [{"weight": 4.5}]


def test_there_are_examples_only_where_they_are_given(http):
    assert http.get("/v1/models/pets/examples").json() == {"rows": []}


def test_the_page_needs_no_package_of_the_report():
    """Without Altair there are no larger charts; everything else is there."""
    code = """
import sys
sys.modules["altair"] = sys.modules["vl_convert"] = None
import tallybayes as tb
from tallybayes.errors import UnsupportedError
from tallybayes.server.routes import page_routes
model = tb.fit({"a": [1.5, 2.5, 3.5], "y": [0, 0, 1]}, label="y")
assert page_routes.read_columns(model)["charts"] is False
assert page_routes.read_nomogram(model)["rulers"]
try:
    page_routes.column_chart_spec(model, "a")
except UnsupportedError as error:
    print(error.hint)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "pip install 'tallybayes[report]'\n", done.stderr


def test_a_chart_is_of_a_column_of_the_model(http):
    pytest.importorskip("altair")
    answer = http.get("/v1/models/pets/chart?column=wieght")
    assert (answer.status_code, answer.json()["hint"]) == (404, "did you mean 'weight'?")
    spec = http.get("/v1/models/pets/chart?column=weight").json()
    assert spec["$schema"].endswith("vega-lite/v6.json")
    assert {row["class"] for rows in spec["datasets"].values() for row in rows} == {"cat", "dog"}


def test_demo_models_answer_their_rows(tmp_path):
    paths = write_demo_models(tmp_path)
    rows = demo_rows()
    for name, path in zip(DEMO_MODELS, paths, strict=True):
        model = tb.load(path)
        assert len(model.predict(rows[name])) == len(rows[name])
        assert model.schema.label not in rows[name][0]


@pytest.mark.parametrize(("given", "got"), [([], "got none"), (["--demo", "x.tally"], "got --demo and x.tally")])
def test_either_a_model_or_the_demo_is_served(given, got):
    done = CliRunner().invoke(app, ["serve", *given])
    assert got in str(done.exception)


def test_the_demo_leaves_nothing_behind(tmp_path):
    with (
        RunningServer("--demo", environment={"TMPDIR": str(tmp_path)}) as server,
        server.client(model="pets") as client,
    ):
        client.learn([{"kilos": 4.0, "pet": "cat"}])
        assert [path.name for path in tmp_path.glob("tally-demo-*/*.tally")]
    assert list(tmp_path.glob("tally-demo-*")) == []
