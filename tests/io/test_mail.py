"""Mails and mboxes: their cells, broken ones, encodings, batches."""

import datetime
import gzip
import io
import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest
from mails import BEGIN, letter, rows, written

import tallybayes as tb
from tallybayes.errors import DataError, FileError, ParameterError
from tallybayes.io.formats import document_files
from tallybayes.io.formats.html_text import visible
from tallybayes.io.formats.mail import is_mail, mail, messages

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
