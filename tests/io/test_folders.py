"""Folders of files: a folder for each label, any file in them, and the commands that take them."""

import gzip
import json
import os
import subprocess
import sys

import pytest
from mails import letter, rows, written

import tallybayes as tb
from tallybayes.errors import DataError, FileError


def test_a_folder_tells_the_label(post):
    found = rows(post)
    assert len(found) == 32
    assert list(found[0]) == ["label", "subject", "from", "to", "date", "text", "file"]
    assert {(row["label"], row["file"].split("/")[0]) for row in found} == {("ham", "ham"), ("spam", "spam")}
    by_file = {row["file"]: row for row in found}
    assert by_file["ham/0.txt"]["text"] == "lunch report notes draft"
    assert by_file["ham/0.txt"]["subject"] is None
    assert by_file["spam/old/a.eml"]["text"] == "cheap"
    assert by_file["spam/old/b.mbox#3"]["subject"] == "about win"
    assert [row["file"] for row in found] == [row["file"] for row in rows(f"{post}/")]


def test_a_model_of_a_folder_is_the_model_of_its_rows(post):
    found = rows(post)
    model = tb.fit(str(post), label="label", only=["text", "subject"], families="categorical")
    assert model.same_counts(tb.fit(found, label="label", only=["text", "subject"], families="categorical"))
    assert model.class_counts == {"ham": 16, "spam": 16}
    assert model.predict(post / "spam" / "old" / "a.eml").tolist() == ["spam"]
    assert model.predict_proba(post).tolist() == model.predict_proba(found).tolist()
    assert len(model.explain(tb.read(post / "ham" / "old" / "b.mbox"))) == 3
    model.learn(post)
    assert model.forget(post).rows == 32
    assert tb.evaluate(model, post).n_rows == tb.cross_validate(post, label="label", folds=2).n_rows == 32


def test_where_and_when_are_no_features(post):
    fields = tb.fit(post, label="label").schema.columns
    assert fields["file"].reason == "origin of the row"
    assert fields["date"].reason == "date of a mail; --as date=date uses it"
    asked = tb.fit(post, label="label", families={"date": "date"})
    assert asked.schema.columns["date"].reason == "specified by the user, all the same"


def test_a_folder_without_folders_has_no_labels(tmp_path):
    for name in ("b.txt", "a.log", "c"):
        written(tmp_path / "new" / name, f"I am {name}")
    assert rows(tmp_path / "new") == [
        {"label": None, "text": f"I am {name}", "file": name} for name in ("a.log", "b.txt", "c")
    ]
    model = tb.fit({"text": ["I am c", "no"], "label": ["p", "q"]}, label="label")
    assert model.predict(tmp_path / "new")[2] == "p"
    written(tmp_path / "new" / "p" / "d.txt", "d")  # beside folders of labels, files have none
    assert [(row["label"], row["file"]) for row in rows(tmp_path / "new")] == [
        ("p", "p/d.txt"),
        (None, "a.log"),
        (None, "b.txt"),
        (None, "c"),
    ]


def test_what_is_hidden_is_passed_over_and_loops_end(post):
    before = rows(post)
    written(post / ".cache" / "x.txt", "x")
    written(post / "ham" / ".DS_Store", b"\x00\x01")
    (post / "ham" / "loop").symlink_to(post)
    (post / "ham" / "gone").symlink_to(post / "nowhere")
    os.mkfifo(post / "ham" / "pipe")
    (post / "void").mkdir()
    found = rows(post)
    assert [row["file"] for row in found if "loop" not in row["file"]] == [row["file"] for row in before]
    (post.parent / "linked").symlink_to(post / "spam" / "old")
    assert len(rows(post.parent / "linked")) == 4


def test_every_label_has_its_share_of_the_first_rows(post, monkeypatch):
    head = tb.read(post).formats[0].head(6)
    assert head.columns["label"].to_pylist() == ["ham", "spam"] * 3


def test_a_folder_of_tables_is_refused_with_a_hint(tmp_path):
    written(tmp_path / "t" / "a.csv", "x,y\n1,p\n")
    with pytest.raises(FileError, match=r"t: expected a file, got a folder\nhint: .*/t/\*\.csv reads what is in it"):
        tb.fit(tmp_path / "t", label="y")
    assert [row["text"] for row in rows(tmp_path / "t", format="text")] == ["x,y\n1,p\n"]
    written(tmp_path / "u" / "year=2020" / "a.parquet.gz", "x")
    with pytest.raises(FileError, match=r"u/\*\*/\*\.parquet\.gz reads"):
        tb.fit(f"{tmp_path / 'u'}/", label="y")
    written(tmp_path / "w" / "a.txt", "x,y\n1,p\n")
    with pytest.raises(FileError, match=r"w/\* reads what"):
        tb.fit(tb.read(tmp_path / "w", format="csv"), label="y")
    (tmp_path / "v").mkdir()
    with pytest.raises(FileError, match="a folder with files in it, got an empty one"):
        tb.fit(tmp_path / "v", label="y")


@pytest.mark.filterwarnings("ignore:.* could not be read and w:tallybayes.errors.DataWarning")
def test_a_file_that_is_no_text_is_a_bad_row(post):
    written(post / "spam" / "picture.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
    written(post / "ham" / "cut.txt.gz", gzip.compress(os.urandom(3000))[:2000])
    with pytest.raises(FileError, match=r"post/ham/cut\.txt\.gz.*cannot be decompressed(.|\n)*hint: .*--skip-bad"):
        tb.fit(post, label="label")
    (post / "ham" / "cut.txt.gz").unlink()
    with pytest.raises(DataError, match=r"post/spam/picture\.png: expected a file of text, got (.|\n)*--skip-bad"):
        tb.fit(post, label="label")
    source = tb.read(post, skip_bad=True)
    assert sum(tb.fit(source, label="label").class_counts.values()) == 32
    assert source.bad.count == 1
    assert source.bad.examples[0].file.endswith("spam/picture.png")


@pytest.mark.filterwarnings("ignore:.* could not be read and w:tallybayes.errors.DataWarning")
def test_errors_name_the_file_of_the_row(post):
    with pytest.raises(DataError, match=r"post/ham/old/a\.eml, column 'subject', row \d+: expected a number, got"):
        tb.fit(post, label="label", families={"subject": "gaussian"})
    source = tb.read(post, skip_bad=True)
    model = tb.fit(source, label="label", families={"subject": "gaussian"}, only=["subject"])
    assert sum(model.class_counts.values()) == 24
    assert source.bad.count == 8
    assert source.bad.examples[1].file.endswith("ham/old/b.mbox#1")


def test_html_files_are_read_as_one_sees_them(tmp_path):
    written(tmp_path / "web" / "a" / "1.html", "<!DOCTYPE html><title>T</title><script>x()</script><p>one<p>two")
    assert rows(tmp_path / "web") == [{"label": "a", "text": "T\none\ntwo", "file": "a/1.html"}]


def test_names_that_are_no_text_are_read(tmp_path):
    folder = os.fsencode(tmp_path) + b"/odd/caf\xe9"
    os.makedirs(folder)
    for name, content in ((b"\xff.txt", b"x"), (b"\xfe.eml.gz", gzip.compress(b"Subject: s\n\ny"))):
        with open(folder + b"/" + name, "wb") as file:
            file.write(content)
    assert [(row["label"], row["text"], row["file"]) for row in rows(tmp_path / "odd")] == [
        ("caf\ufffd", "y", "caf\ufffd/\ufffd.eml.gz"),
        ("caf\ufffd", "x", "caf\ufffd/\ufffd.txt"),
    ]


def tally(*arguments, cwd, stdin=None):
    command = [sys.executable, "-m", "tallybayes.cli.main", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.slow
def test_every_verb_takes_folders_and_mails(post):
    here = post.parent
    how = ("--label", "label", "--as", "text=categorical")
    assert "nothing was fitted" in tally("fit", "post/", *how, "--dry-run", cwd=here)
    assert "the model is in post.tally" in tally("fit", "post/", *how, cwd=here)
    one = tally("predict", "post.tally", "post/spam/old/a.eml", "--json", cwd=here)
    assert json.loads(one)["predicted"] == "spam"
    assert json.loads(one)["file"] == "post/spam/old/a.eml"
    piped = tally("predict", "post.tally", "-", "--id", "file", cwd=here, stdin=bytes(letter("cheap", "pills")))
    assert piped.splitlines()[1].startswith("standard input,spam,")
    flat = tally("predict", "post.tally", "post/ham/old", "--id", "file", "--id", "label", cwd=here)
    assert [line.split(",")[:3] for line in flat.splitlines()[1:]] == [
        ["a.eml", "", "ham"],
        *(["b.mbox#" + n, "", "ham"] for n in "123"),
    ]
    tally("predict", "post.tally", "post", "-o", "out.parquet", cwd=here)
    assert rows(here / "out.parquet")[0]["file"] == "ham/0.txt"
    assert "row 0: ham" in tally("explain", "post.tally", "post/ham/old/b.mbox", cwd=here)
    assert "learned 32 rows" in tally("learn", "post.tally", "post", cwd=here)
    assert "forgot 32 rows" in tally("forget", "post.tally", "post", cwd=here)
    assert "rows       32" in tally("evaluate", "post.tally", "post", cwd=here)
    assert "folds      2" in tally("evaluate", "post", *how, "--folds", "2", cwd=here)
