"""The commands compute what the library computes, from and into files of every format."""

import csv
import io
import json
import re

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import tallybayes as tb
from command_line import fine, table, tally


@pytest.mark.filterwarnings(
    "ignore:texts that hardly repeat, excluded as identifiers. name:tallybayes.errors.DataWarning"
)
def test_fit_does_what_the_library_does(here):
    report = json.loads(fine("fit", "pets.csv", "--label", "pet", "--json", cwd=here))
    model = tb.load(here / "pets.tally")
    assert model == tb.fit(here / "pets.csv", label="pet")
    assert report["rows"] == sum(model.class_counts.values())
    assert report["model"] == "pets.tally"
    assert [c["class"] for c in report["classes"]] == model.classes
    assert {c["column"]: c["family"] for c in report["columns"]}["likes"] == "tags"


def test_options_of_fit_reach_the_model(here):
    fine(
        "fit",
        "pets.csv",
        "--label",
        "pet",
        "-o",
        "m.tally",
        "--as",
        "kilos=gaussian:nu=3",
        "--ignore",
        "colour",
        "--smoothing",
        "2",
        "--smoothing",
        "likes=0.5",
        "--class-prior",
        "cat=0.2",
        "--class-prior",
        "dog=0.5",
        "--class-prior",
        "rabbit=0.3",
        "--unseen",
        "missing",
        "--numeric",
        "poisson",
        cwd=here,
    )
    model = tb.load(here / "m.tally")
    assert str(model.schema.families["kilos"]) == "gaussian:nu=3.0"
    assert "colour" not in model.schema.families
    assert model.settings.smoothing_of("likes") == 0.5
    assert model.settings.smoothing_of("kilos") == 2.0
    assert model.settings.class_prior == {"cat": 0.2, "dog": 0.5, "rabbit": 0.3}
    assert np.exp(model.log_prior()).round(3).tolist() == [0.2, 0.5, 0.3]
    fine(
        "fit", "pets.csv", "--label", "pet", "-o", "m.tally", "--estimate", "mle", "--class-prior", "uniform", cwd=here
    )
    assert tb.load(here / "m.tally").settings.estimate == "mle"
    (here / "w.csv").write_text("x,w,pet\n1,2,cat\n2,0.5,dog\n")
    fine("fit", "w.csv", "--label", "pet", "-o", "m.tally", "--sample-weight", "w", "--class-smoothing", "0", cwd=here)
    assert tb.load(here / "m.tally").class_counts == {"cat": 2, "dog": 0.5}


def test_nothing_is_written_by_a_dry_run(here):
    fine("fit", "pets.csv", "--label", "pet", "-o", "dry.tally", "--dry-run", cwd=here)
    assert not (here / "dry.tally").exists()


def test_predictions_keep_the_input(here):
    model = tb.load(here / "pets.tally")
    out = list(csv.DictReader(io.StringIO(fine("predict", "pets.tally", "pets.csv", cwd=here))))
    given = table(here / "pets.csv")
    assert [{name: row[name] for name in given[0]} for row in out] == given
    assert [row["predicted"] for row in out] == model.predict(here / "pets.csv").tolist()
    only = list(csv.reader(io.StringIO(fine("predict", "pets.tally", "pets.csv", "--id", "name", "--proba", cwd=here))))
    assert only[0] == ["name", "predicted", "probability", "P(cat)", "P(dog)", "P(rabbit)"]
    p = np.array([row[3:] for row in only[1:]], float)
    assert np.allclose(p, model.predict_proba(here / "pets.csv"), rtol=1e-9, atol=0)


def test_formats_go_in_and_out(here):
    rows = [
        {"kilos": 2.5, "likes": "carrots", "note": {"a": [1, "x"]}},
        {"kilos": None, "likes": "walks", "note": None},
    ]
    (here / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = [json.loads(line) for line in fine("predict", "pets.tally", "a.jsonl", cwd=here).splitlines()]
    assert [{name: row[name] for name in rows[0]} for row in out] == rows
    assert [row["predicted"] for row in out] == ["rabbit", "dog"]
    piped = fine("predict", "pets.tally", "-", cwd=here, stdin=(here / "a.jsonl").read_text())
    assert [json.loads(line) for line in piped.splitlines()] == out
    for name in ("o.csv", "o.tsv", "o.jsonl", "o.parquet"):
        fine("predict", "pets.tally", "new.csv", "-o", name, cwd=here)
    assert pyarrow.parquet.read_table(here / "o.parquet").column("predicted").to_pylist() == ["cat", "dog"]
    assert (here / "o.tsv").read_text().splitlines()[0].split("\t")[0] == "name"
    assert [json.loads(line)["predicted"] for line in (here / "o.jsonl").read_text().splitlines()] == ["cat", "dog"]
    again = fine("predict", "pets.tally", "o.tsv", cwd=here)
    assert again.splitlines()[0].split("\t")[-2:] == ["predicted_", "probability_"]
    as_csv = fine("predict", "pets.tally", "o.parquet", cwd=here)
    assert as_csv.splitlines()[1].startswith("Mimi,3.9,grey,fish|sun,true,cat")
    as_json = fine("predict", "pets.tally", "new.csv", "--json", cwd=here)
    assert json.loads(as_json.splitlines()[1])["kilos"] is None


def test_evaluate_agrees_with_scikit_learn(here):
    from sklearn.metrics import (
        accuracy_score,
        brier_score_loss,
        confusion_matrix,
        log_loss,
        precision_recall_fscore_support,
    )

    most = here / "most.csv"  # without the last row: all of them would be scored without themselves
    most.write_text("".join((here / "pets.csv").read_text().splitlines(keepends=True)[:-1]))
    evaluation = json.loads(fine("evaluate", "pets.tally", "most.csv", "--json", cwd=here))
    model = tb.load(here / "pets.tally")
    p = model.predict_proba(most)
    truth = [row["pet"] for row in table(most)]
    said = model.predict(most)
    assert evaluation["accuracy"] == accuracy_score(truth, said)
    assert evaluation["log_loss"] == pytest.approx(log_loss(truth, p, labels=model.classes), rel=1e-12)
    assert evaluation["brier"] == pytest.approx(
        brier_score_loss(truth, p, labels=model.classes, scale_by_half=False), rel=1e-12
    )
    assert evaluation["confusion"] == confusion_matrix(truth, said, labels=model.classes).tolist()
    precision, recall, f1, rows = precision_recall_fscore_support(truth, said, labels=model.classes)
    for name, values in {"precision": precision, "recall": recall, "f1": f1, "rows": rows}.items():
        assert [row[name] for row in evaluation["per_class"]] == pytest.approx(values.tolist()), name


@pytest.mark.filterwarnings(
    "ignore:texts that hardly repeat, excluded as identifiers. name:tallybayes.errors.DataWarning"
)
def test_cross_validation_is_fitting_on_the_other_folds(here):
    from tallybayes.columns.fold_assignment import FoldAssigner
    from tallybayes.columns.label_spec import LabelSpec
    from tallybayes.tables.table import to_table

    rows = table(here / "pets.csv")
    for row in rows:
        row["kilos"] = float(row["kilos"]) if row["kilos"] else None
        row["likes"] = row["likes"] or None
        row["indoors"] = row["indoors"] == "true"
    fold = FoldAssigner(5, 3)(LabelSpec().read(to_table(rows), "pet"))
    assert np.bincount(fold).max() - np.bincount(fold).min() <= 3
    right, schema = 0, tb.fit(rows, label="pet").schema
    for number in range(5):
        model = tb.fit([row for row, f in zip(rows, fold, strict=True) if f != number], schema=schema)
        held_out = [row for row, f in zip(rows, fold, strict=True) if f == number]
        right += sum(model.predict(held_out) == np.array([row["pet"] for row in held_out]))
    evaluation = json.loads(
        fine("evaluate", "pets.csv", "--label", "pet", "--folds", 5, "--seed", 3, "--json", cwd=here)
    )
    assert evaluation["accuracy"] == right / len(rows)
    assert len(evaluation["folds"]) == 5


def test_explanations_add_up(here):
    for one in json.loads(fine("explain", "pets.tally", "pets.csv", "-n", 20, "--json", cwd=here)):
        for c in range(3):
            total = one["log_prior"][c]
            for part in one["log_evidence"].values():
                total += part[c]
            assert total == one["log_score"][c]  # to the last bit
        odds = np.exp(np.array(one["log_score"]) - max(one["log_score"]))
        assert np.allclose(odds / odds.sum(), one["probabilities"], rtol=1e-12)
    text = fine("explain", "pets.tally", "pets.csv", "-n", 20, cwd=here)
    for block in re.split(r"\n\n(?=row )", text.strip()):
        lines = block.splitlines()[2:]  # tokens and a sentence come below the sum
        end = next(i for i, line in enumerate(lines) if line.startswith("sum"))
        *parts, total = [float(line.split()[-1]) for line in lines[: end + 1]]
        assert abs(sum(parts) - total) < 0.05 * (len(parts) + 1) + 1e-9  # each is rounded by itself


def test_words_for_missing_values_are_remembered(here):
    (here / "m.csv").write_text("kilos,pet\n4,cat\n-,dog\n30,dog\n")
    fine("fit", "m.csv", "--label", "pet", "--missing", "-", cwd=here)
    for verb in (["predict"], ["explain"], ["evaluate"], ["learn"], ["forget"]):
        fine(*verb, "m.tally", "m.csv", cwd=here)
    assert fine("predict", "m.tally", "m.csv", cwd=here).splitlines()[2].startswith("-,dog,")  # as it was


def test_no_rows_in_no_rows_out(here):
    (here / "none.csv").write_text("kilos,colour\n")
    assert fine("predict", "pets.tally", "none.csv", cwd=here) == "kilos,colour,predicted,probability\n"
    fine("predict", "pets.tally", "none.csv", "-o", "none.parquet", cwd=here)
    assert pyarrow.parquet.read_table(here / "none.parquet").num_rows == 0


def test_numbers_without_a_json_form(here):
    table = pyarrow.table({"kilos": [1.0, 2.0], "note": [float("nan"), float("inf")]})
    pyarrow.parquet.write_table(table, here / "odd.parquet")
    rows = [json.loads(line) for line in fine("predict", "pets.tally", "odd.parquet", "--json", cwd=here).splitlines()]
    assert [row["note"] for row in rows] == [None, None]


def test_a_carriage_return_in_a_cell_is_quoted_when_written(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'id,x,y\n"1\r",1.5,a\n"2",2.5,b\n')
    fine("fit", "a.csv", "--label", "y", "--as", "x=gaussian", "--ignore", "id", "-o", "m.tally", cwd=tmp_path)
    fine("predict", "m.tally", "a.csv", "-o", "o.csv", cwd=tmp_path)
    with (tmp_path / "o.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["1\r", "2"]


def test_a_cell_of_two_hundred_thousand_characters(tmp_path):
    (tmp_path / "mail.csv").write_text(f"note,y\n{'cash ' * 40_000},spam\nhello,ham\n")
    fine("fit", "mail.csv", "--label", "y", "--as", "note=text", cwd=tmp_path)
    lines = fine("predict", "mail.tally", "mail.csv", cwd=tmp_path).splitlines()
    assert [line.rsplit(",", 2)[1] for line in lines[1:]] == ["spam", "ham"]


def test_explain_shows_the_largest_columns_and_the_sum_of_the_others(here):
    lines = fine("explain", "pets.tally", "new.csv", "--row", 0, "--top", 1, cwd=here).splitlines()
    assert [line.split()[0] for line in lines[2:6]] == ["prior", "likes", "(3", "sum"]
    (facts,) = json.loads(fine("explain", "pets.tally", "new.csv", "--row", 0, "--top", 1, "--json", cwd=here))
    assert (list(facts["log_evidence"]), facts["more_columns"]["n"]) == (["likes"], 3)
    done = tally("explain", "pets.tally", "new.csv", "--top", "-1", cwd=here)
    assert (done.returncode, "expected --top to be at least 0" in done.stderr) == (2, True)
