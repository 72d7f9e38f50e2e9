"""Any bytes are a mail, a text and a folder: rows or a clear error, and what was written is read back."""

import html
import io
import mailbox
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mails import BEGIN, letter, rows, written

import tallybayes as tb
from tallybayes.errors import TallyError
from tallybayes.io.formats.encoding import decoded
from tallybayes.io.formats.html_text import visible
from tallybayes.io.formats.mail import mail, messages

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


@pytest.mark.filterwarnings("ignore:(?s).* could not be read and w:tallybayes.errors.DataWarning")
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
