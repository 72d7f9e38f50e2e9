"""Texts that are no tables: folders of labels, mails, mboxes. Any bytes give rows or a clear error."""

import datetime
import gzip
import html
import io
import json
import mailbox
import os
import subprocess
import sys
import tempfile
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.data.formats import document_files
from tallybayes.data.formats.encoding import decoded
from tallybayes.data.formats.html_text import visible
from tallybayes.data.formats.mail import is_mail, mail
from tallybayes.data.formats.mbox import messages
from tallybayes.errors import DataError, FileError, ParameterError, TallyError

WORDS = {"ham": ["lunch", "report", "notes", "draft"], "spam": ["cheap", "pills", "win", "money"]}
BEGIN = b"From ann@example.org Tue Apr  6 11:45:20 2004\n"


def written(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def letter(text="Are you there?\n", subject="Hello", sender="Ann <ann@example.org>"):
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject, sender, "bob@example.org"
    message["Date"] = "Tue, 06 Apr 2004 11:45:20 +0200"
    message.set_content(text)
    return message


@pytest.fixture
def post(tmp_path):
    """A folder of labels: texts, a mail and an mbox for each."""
    for label, words in WORDS.items():
        for i in range(12):
            written(tmp_path / "post" / label / f"{i}.txt", " ".join(words[j % 4] for j in range(i, 2 * i + 4)))
        written(tmp_path / "post" / label / "old" / "a.eml", bytes(letter(words[0], words[1])))
        box = mailbox.mbox(tmp_path / "post" / label / "old" / "b.mbox")
        for word in words[:3]:
            box.add(letter(word, f"about {word}"))
        box.close()
    return tmp_path / "post"


def rows(data, **how):
    """All rows as dicts, batch by batch."""
    source = tb.read(data, **how)
    return [row for table in source.batches(keep=True) for row in table.kept.to_pylist()]


# Folders


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
    assert model == tb.fit(found, label="label", only=["text", "subject"], families="categorical")
    assert model.class_counts == {"ham": 16, "spam": 16}
    assert model.predict(post / "spam" / "old" / "a.eml").tolist() == ["spam"]
    assert model.predict_proba(post).tolist() == model.predict_proba(found).tolist()
    assert len(model.explain(tb.read(post / "ham" / "old" / "b.mbox"))) == 3
    model.learn(post)
    assert model.forget(post).rows == 32
    assert tb.evaluate(model, post).n_rows == tb.cross_validate(post, label="label", folds=2).n_rows == 32


def test_where_and_when_are_no_features(post):
    fields = tb.fit(post, label="label").schema.fields
    assert fields["file"].reason == "origin of the row"
    assert fields["date"].reason == "dates and times have no family"


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
    with pytest.raises(FileError, match=r"t: expected a file, got 'a folder'\nhint: .*/t/\*\.csv reads what is in it"):
        tb.fit(tmp_path / "t", label="y")
    assert [row["text"] for row in rows(tmp_path / "t", format="text")] == ["x,y\n1,p\n"]
    written(tmp_path / "u" / "year=2020" / "a.parquet.gz", "x")
    with pytest.raises(FileError, match=r"u/\*\*/\*\.parquet\.gz reads"):
        tb.fit(f"{tmp_path / 'u'}/", label="y")
    written(tmp_path / "w" / "a.txt", "x,y\n1,p\n")
    with pytest.raises(FileError, match=r"w/\* reads what"):
        tb.fit(tb.read(tmp_path / "w", format="csv"), label="y")
    (tmp_path / "v").mkdir()
    with pytest.raises(FileError, match="a folder with files in it, got 'an empty one'"):
        tb.fit(tmp_path / "v", label="y")


def test_a_file_that_is_no_text_is_a_bad_row(post):
    written(post / "spam" / "picture.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
    written(post / "ham" / "cut.txt.gz", gzip.compress(os.urandom(3000))[:2000])
    with pytest.raises(FileError, match=r"post/ham/cut\.txt\.gz.*cannot be read(.|\n)*hint: .*--skip-bad"):
        tb.fit(post, label="label")
    (post / "ham" / "cut.txt.gz").unlink()
    with pytest.raises(DataError, match=r"post/spam/picture\.png: expected a file of text, got (.|\n)*--skip-bad"):
        tb.fit(post, label="label")
    source = tb.read(post, skip_bad=True)
    assert sum(tb.fit(source, label="label").class_counts.values()) == 32
    assert source.bad.count == 1
    assert source.bad.examples[0].file.endswith("spam/picture.png")


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


# Mails


def test_the_cells_of_a_mail(tmp_path):
    path = written(tmp_path / "a.eml", bytes(letter("Grüße\naus Köln\n", "Café – später", "Ännchen <a@example.org>")))
    assert rows(path) == [
        {
            "subject": "Café – später",
            "from": "Ännchen <a@example.org>",
            "to": "bob@example.org",
            "date": datetime.datetime(2004, 4, 6, 9, 45, 20),
            "text": "Grüße\naus Köln",
            "file": str(path),
        }
    ]


def test_of_a_mail_with_parts_the_text_counts():
    message = letter("plain words")
    message.add_alternative("<p>other <b>words</b>", subtype="html")
    message.add_attachment(b"\x00" * 99, maintype="image", subtype="png", filename="übersicht.png")
    message.add_attachment("a list", filename="list.txt")
    assert mail(bytes(message))["text"] == "plain words\n\nübersicht.png\n\nlist.txt"
    only_html = EmailMessage()
    only_html.set_content("<style>b {}</style><p>Dear&nbsp;<b>Ms</b> Café &lt;3<br>bye", subtype="html")
    assert mail(bytes(only_html))["text"] == "Dear Ms Café <3\nbye"
    hollow = letter("\n")
    hollow.add_alternative("<p>but this", subtype="html")
    assert mail(bytes(hollow))["text"] == "but this"
    sent_on = letter("see below")
    sent_on.add_attachment(letter("the first one", "Old news"))
    del sent_on.get_payload()[1]["Content-Disposition"]
    assert mail(bytes(sent_on))["text"] == "see below\n\nOld news\n\nthe first one"


@pytest.mark.parametrize(
    ("data", "cells"),
    [
        (b"", {"subject": None, "text": ""}),
        (b"no header at all", {"subject": None, "text": "no header at all"}),
        (b"Subject:\n\n", {"subject": "", "text": ""}),
        (b"subject: a\n b\nSUBJECT: c\nTo: x\nTo: y\n\n", {"subject": "a b", "to": "x, y"}),
        (b"Subject: caf\xe9\n\ncaf\xe9", {"subject": "café", "text": "café"}),
        ("Subject: café\n\ncafé".encode(), {"subject": "café", "text": "café"}),
        (b"Subject: =?klingon?q?caf=E9?=\n\n", {"subject": "café"}),
        (b"Subject: =?utf-8?b?w?= and =?utf-8?q?=C3?= =?utf-8?q?=A9?=\n\n", {"subject": "=?utf-8?b?w?= and é"}),
        (b"Subject: a\0b\n\nc\0d", {"subject": "a b", "text": "c d"}),
        (b"Content-Type: text/plain; charset=klingon\n\ncaf\xe9", {"text": "café"}),
        (b"Content-Type: text/plain; charset=koi8-r\n\n\xcd\xc9\xd2", {"text": "мир"}),
        (b"Content-Type: text/plain; charset=utf-7\n\n+2AA-", {"text": "\ufffd"}),
        (b"Content-Type: text/plain; charset=idna\n\nplain", {"text": "plain"}),
        (b"Content-Type: multipart/mixed\n\nno boundary", {"text": "no boundary"}),
        (b'Content-Type: multipart/mixed; boundary="x"\n\n--x\n\nnever closed', {"text": "never closed"}),
        (b"Content-Transfer-Encoding: base64\n\n!!!!", {}),
        (b"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 x\nM", {}),
        (b"Content-Type: text/html\n\n<p>a<![x[<p>b", {}),
        (b"Content-Type: text/html\n\n<p>&#" + b"9" * 5000 + b"; x", {"text": "\ufffd x"}),
        (b"\n\n<html><p>not said to be HTML", {"text": "not said to be HTML"}),
        (b"Date: Tue, 99 Apr 2004 11:45\n\n", {"date": None}),
        (b"Date: " + b"9" * 9999 + b"\n\n", {"date": None}),
        (b"Date: 1 Jan 0001 00:00:00 +1200\n\n", {}),
        (b"Date: Tue, 06 Apr 2004 11:45:20 -0000\n\n", {"date": datetime.datetime(2004, 4, 6, 11, 45, 20)}),
    ],
)
def test_whatever_is_broken_is_read_as_far_as_it_goes(data, cells):
    found = mail(data)
    assert {name: found[name] for name in cells} == cells


def test_mails_within_mails_without_end():
    deep = b"".join(b"Subject: x\nContent-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(3000))
    assert mail(deep)["subject"] == "x"
    assert mail(b"Content-Type: message/rfc822\n\n" * 5000)["subject"] is None


def test_broken_html_takes_no_longer_than_other():
    """Each would take hours if the time grew with the square of the length."""
    for sign in (
        "<a ",
        "<!--",
        "<",
        "</",
        "<![a",
        "<a b='",
        '<a b="',
        "<script>",
        "</script ",
        "&#",
        "<a =",
        "<a '=\"",
    ):
        visible(sign * 200_000)


def test_several_mails_are_one_table(tmp_path):
    for i in range(5):
        written(tmp_path / f"{i}.eml", bytes(letter(subject=f"number {i}")))
    box = mailbox.mbox(tmp_path / "z.mbox")
    box.add(letter(subject="number 5"))
    box.close()
    source = tb.read([str(tmp_path / "*.eml"), str(tmp_path / "z.mbox")])
    assert len(source.formats) == 1
    assert source.head().columns["subject"].to_pylist() == [f"number {i}" for i in range(6)]
    assert [Path(row["file"]).name for row in rows(str(tmp_path / "*.eml"))] == [f"{i}.eml" for i in range(5)]
    written(tmp_path / "t.csv", "subject\nfrom a table\n")
    mixed = rows([tmp_path / "0.eml", tmp_path / "t.csv", tmp_path / "1.eml"])
    assert [row["subject"] for row in mixed] == ["number 0", "from a table", "number 1"]


def test_a_mail_is_known_by_its_first_lines(tmp_path):
    content = b"Return-Path: <ann@example.org>\nReceived: from a\n\tby b\nSubject: x\n\nhi\n"
    assert rows(written(tmp_path / "0001.7c53336b37", content))[0]["subject"] == "x"
    assert "subject" not in rows(written(tmp_path / "d" / "a.txt", content).parent)[0]  # it says that it is a text
    assert not is_mail(b"Dear Ann,\nFrom: here\nTo: there\n")
    assert not is_mail(b"name: a, b\ntotal: 3\n")


def test_how_to_read_can_be_told(tmp_path):
    path = written(tmp_path / "a.txt", "Subject: x\n\n" + "мир")
    assert rows(path, format="text") == [{"text": "Subject: x\n\nмир", "file": str(path)}]
    assert rows(path, format="mail")[0]["subject"] == "x"
    assert rows(path, format="mbox")[0]["file"] == f"{path}#1"
    told = written(tmp_path / "b.txt", "мир".encode("koi8-r"))
    assert rows(told, format="text", encoding="koi8-r")[0]["text"] == "мир"
    marked = written(tmp_path / "c.txt", "мир".encode("utf-16"))
    assert rows(marked, format="text")[0]["text"] == "мир"
    assert rows(marked, format="text", missing=["мир"])[0]["text"] == "мир"  # kept as it is
    assert tb.read(marked, format="text", missing=["мир"]).head().columns["text"].to_pylist() == [None]
    with pytest.raises(FileError, match="an encoding that Python knows, got 'klingon'"):
        rows(path, format="text", encoding="klingon")
    with pytest.raises(ParameterError, match=r"a format \(csv, .*, text, mail, mbox\), got 'maill'\nhint: .*'mail'"):
        rows(path, format="maill")


def test_a_text_that_is_too_long_is_a_bad_row(tmp_path, monkeypatch):
    monkeypatch.setattr(document_files, "LONGEST", 100)
    path = written(tmp_path / "a.txt", "x" * 101)
    with pytest.raises(DataError, match=r"a\.txt: expected a text of at most"):
        rows(path, format="text")
    assert len(rows(written(tmp_path / "a.eml", "Subject: x\n\n" + "y" * 200))[0]["text"]) == 88


# Mboxes


def test_an_mbox_of_pythons_own(tmp_path):
    texts = ["one\n", "From here\n\nFrom there\n> From quoted\n", "", "ünï\n", "a\n\n\n"]
    box = mailbox.mbox(tmp_path / "in.mbox")
    for i, text in enumerate(texts):
        box.add(letter(text, f"s{i}"))
    box.close()
    found = rows(tmp_path / "in.mbox")
    assert [row["text"] for row in found] == [text.strip() for text in texts]
    assert [row["file"] for row in found] == [f"{tmp_path}/in.mbox#{i}" for i in range(1, 6)]
    packed = written(tmp_path / "packed.gz", gzip.compress((tmp_path / "in.mbox").read_bytes()))
    assert [row["subject"] for row in rows(packed)] == ["s0", "s1", "s2", "s3", "s4"]
    assert rows(written(tmp_path / "none.mbox", b"")) == []


def test_a_sentence_may_begin_with_from():
    one = (BEGIN + b"Subject: x\n\nHello,\n\nFrom now on\nall is well.\n").replace(b"\n", b"\r\n")
    assert len(list(messages(io.BytesIO(one * 3)))) == 1  # no blank line before the next
    assert len(list(messages(io.BytesIO((one + b"\r\n") * 3)))) == 3
    assert list(messages(io.BytesIO(b"From a@example.org\n\nFrom b@example.org 1:00\nText"))) == [b"\n", b"Text"]


def test_an_mbox_is_read_as_it_goes_by(monkeypatch, tmp_path):
    class Endless(io.RawIOBase):
        """An mbox that never ends."""

        taken = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            part = ((BEGIN + b"Subject: x\n\ny\n\n") * 100)[: len(buffer)]
            buffer[: len(part)] = part
            self.taken += len(part)
            return len(part)

    endless = Endless()
    stream = messages(io.BufferedReader(endless))
    for _ in range(1000):
        next(stream)
    assert endless.taken < 100_000
    long = BEGIN + b"A: x\n\n" + b"y" * 500_000 + b"\n\n" + BEGIN + b"z\n"
    first, second = messages(io.BytesIO(long), longest=100_000)
    assert len(first) < 200_000
    assert second == b"z\n"


def test_batches_do_not_show(post, monkeypatch):
    whole = rows(post)
    for n_rows, n_bytes in ((3, 2**26), (4096, 500)):
        monkeypatch.setattr(document_files, "_BATCH_ROWS", n_rows)
        monkeypatch.setattr(document_files, "_BATCH_BYTES", n_bytes)
        sizes = [table.n_rows for table in tb.read(post).batches()]
        assert len(sizes) > 3
        assert max(sizes) <= n_rows
        assert rows(post) == whole


def test_progress_is_told(post):
    seen = []
    tb.fit(tb.read(post, progress=lambda *what: seen.append(what)), label="label")
    size = sum(path.stat().st_size for path in post.rglob("*") if path.is_file())
    assert seen[-1][0] == 32
    assert 0.5 < seen[-1][1] <= 1
    assert seen[-1][2] == size


# The command


def tally(*arguments, cwd, stdin=None):
    command = [sys.executable, "-m", "tallybayes.cli.main", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


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


# Laws

PIECES = [
    BEGIN,
    b"Subject: ",
    b"=?utf-8?b?",
    b"?=",
    b"\n",
    b"\n\n",
    b"--x",
    b"; charset=",
    b"utf-16",
    b"<p>",
    b"<![",
    b"Content-Type: multipart/mixed; boundary=x\n",
    b"Content-Type: text/html\n",
    b"Content-Type: message/rfc822\n\n",
    b"Content-Transfer-Encoding: base64\n",
    b"Content-Transfer-Encoding: quoted-printable\n",
    b"=C3=",
    b"\xff",
    b"&#xd800;",
    b"\xed\xa0\x80",
    b"\r",
    b"\x00",
    b"Date: ",
    b"1 Jan 2000 00:00",
    b"+9999",
    b">From ",
    b": ",
    b'To: <a@example.org>, "',
    b"Content-Disposition: attachment; filename*0*=utf-8''%ff\n",
    b"Content-Type: multipart/alternative",
    b"Content-Type: text/plain; x*=a'b'c\n",
]
noise = st.one_of(st.binary(max_size=300), st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join))


@settings(max_examples=300)
@given(data=noise, encoding=st.sampled_from([None, "utf-16-le", "utf-7", "shift_jis"]))
def test_any_bytes_are_a_mail(data, encoding):
    row = mail(data, encoding)
    for name in ("subject", "from", "to", "text"):
        assert row[name] is None or row[name].encode().decode() == row[name]


@settings(max_examples=100)
@given(data=noise, name=st.sampled_from(["a.eml", "a.mbox", "a.txt", "a", "a.html", "a.txt.gz"]), skip=st.booleans())
def test_any_bytes_in_a_folder_give_rows_or_a_clear_error(data, name, skip):
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder) / "p" / "good.txt", "a good one")
        path = written(Path(folder) / "p" / name, data)
        try:
            found = rows(folder, skip_bad=skip)
            tb.fit(tb.read(folder, skip_bad=skip), label="label")
        except TallyError as caught:
            told, found = str(caught), []
        else:
            told = ""
    assert (str(path) in told and not skip) if told else "p/good.txt" in [row["file"] for row in found]


@given(data=st.binary(max_size=60), encoding=st.sampled_from([None, "utf-8", "utf-7", "utf-16", "koi8-r", "nonsense"]))
def test_any_bytes_are_text(data, encoding):
    text = decoded(data, encoding)
    assert text.encode().decode() == text
    assert "\r" not in text


@given(text=st.text(max_size=60), encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_text_comes_back(text, encoding):
    assert decoded(text.encode(encoding)) == text.replace("\r\n", "\n").replace("\r", "\n") or text[:1] == "\ufeff"


@given(text=st.text(max_size=60))
def test_escaped_text_is_visible(text):
    """HTML and back, but for white space, and characters that HTML does not have."""
    allowed = "".join(c for c in text if c.isprintable() or c in " \n\t")
    assert visible(f"<p>{html.escape(allowed)}</p><!-- gone -->").split() == allowed.split()


words = st.text(  # U+FEFF at the beginning of a text is the mark of its encoding
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="\ufeff"), max_size=40
)


@given(letters=st.lists(st.tuples(words, st.lists(words, max_size=4).map("\n".join)), max_size=5))
def test_mails_written_by_python_come_back(letters):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.mbox"
        box = mailbox.mbox(path)
        for subject, text in letters:
            box.add(letter(text, subject))
        box.close()
        found = rows(path)
    assert [row["subject"].split() for row in found] == [subject.split() for subject, _ in letters]
    assert [row["text"].split() for row in found] == [text.split() for _, text in letters]


@given(parts=st.lists(st.binary(max_size=80), max_size=6))
def test_the_messages_of_an_mbox_are_what_was_put_in(parts):
    parts = [part.replace(b"From ", b"from ") for part in parts]
    box = b"".join(BEGIN + part + b"\n\n" for part in parts)
    assert list(messages(io.BytesIO(box))) == [part + b"\n\n" for part in parts]
