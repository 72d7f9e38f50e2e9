"""Maildirs, several mailboxes, several folders: what their labels are."""

import mailbox

import pytest
from mails import WORDS, letter, written

import tallybayes as tb
from command_line import fine, tally


def mail_box(path, words):
    box = mailbox.mbox(path)
    for word in words:
        box.add(letter(word, f"about {word}"))
    box.close()
    return path


def rows_of(data, label="label"):
    source = tb.read(data)
    source.look_for([label])
    columns = source.head().columns
    return list(zip(*(columns[name].to_pylist() for name in ("label", "text")), strict=True))


@pytest.fixture
def maildir(tmp_path):
    """A Maildir with an inbox and two folders, and what servers leave in it."""
    box = mailbox.Maildir(tmp_path / "Mail")
    ham, spam = WORDS.values()
    for word in ham:
        key = box.add(letter(word, f"about {word}"))
    message = box.get(key)
    message.set_subdir("cur")
    box[key] = message
    junk, work = box.add_folder("Junk"), box.add_folder("Entw&APw-rfe.2024")
    for word in spam:
        junk.add(letter(word, f"buy {word}"))
    work.add(letter("draft", "not yet"))
    written(tmp_path / "Mail" / "tmp" / "1", "half a mail")
    written(tmp_path / "Mail" / "dovecot.index", "1")
    written(tmp_path / "Mail" / ".Junk" / "dovecot.index", "1")
    written(tmp_path / "Mail" / ".cache" / "a.txt", "no mail")
    return tmp_path / "Mail"


def test_the_folders_of_a_maildir_are_labels(maildir):
    labels = [label for label, _ in rows_of(maildir)]
    ham, spam = map(len, WORDS.values())
    assert {label: labels.count(label) for label in set(labels)} == {"INBOX": ham, "Junk": spam, "Entwürfe.2024": 1}
    assert tb.fit(maildir).class_counts == {"Entwürfe.2024": 1, "INBOX": ham, "Junk": spam}


def test_folders_that_a_copy_has_left_out_because_they_are_empty(maildir):
    """As git, zip and rsync do."""
    whole = sorted(rows_of(maildir))
    folders = [path for path in maildir.rglob("*") if path.name in ("cur", "new", "tmp") and not [*path.iterdir()]]
    assert len(folders) == 4
    for path in folders:
        path.rmdir()
    assert sorted(rows_of(maildir)) == whole
    for path in [*(maildir / "cur").iterdir()]:
        path.rename(maildir / "new" / path.name)
    (maildir / "cur").rmdir()
    assert sorted(rows_of(maildir)) == whole


def test_a_folder_named_new_is_a_label_beside_folders_without_mails(tmp_path):
    for name in ("new/1.txt", "old/1.txt", ".cache/a.txt"):
        written(tmp_path / name, "a text")
    assert {label for label, _ in rows_of(tmp_path)} == {"new", "old"}


def test_maildirs_in_folders_have_the_label_of_the_folder(tmp_path):
    (tmp_path / "post").mkdir()
    for label, words in WORDS.items():
        box = mailbox.Maildir(tmp_path / "post" / label)
        for word in words:
            box.add(letter(word, f"about {word}"))
        written(tmp_path / "post" / label / "tmp" / "1", "half a mail")
    found = rows_of(tmp_path / "post")
    assert sorted({label for label, _ in found}) == sorted(WORDS)
    assert len(found) == sum(map(len, WORDS.values()))
    several = rows_of([tmp_path / "post" / label for label in WORDS])
    assert sorted(several) == sorted(found)


def test_names_of_mailboxes_are_labels(tmp_path):
    for label, words in WORDS.items():
        mail_box(tmp_path / f"{label}.mbox", words)
    paths = [f"{label}.mbox" for label in WORDS]
    out = fine("fit", *paths, "-o", "m.tally", cwd=tmp_path)
    assert all(label in out for label in WORDS)
    assert tb.fit([tmp_path / path for path in paths]).class_counts == {
        name: len(words) for name, words in WORDS.items()
    }
    assert "label" not in fine("predict", "m.tally", *paths, cwd=tmp_path).splitlines()[0].split(",")
    assert fine("evaluate", "m.tally", *paths, cwd=tmp_path).startswith("rows")
    assert tally("fit", paths[0], cwd=tmp_path).returncode != 0


def test_names_of_folders_are_labels_where_no_folder_tells_one(tmp_path):
    for label, words in WORDS.items():
        for number, word in enumerate(words):
            written(tmp_path / label / f"{number}.txt", f"about {word}")
    folders = [tmp_path / label for label in WORDS]
    assert {label for label, _ in rows_of(folders)} == {*WORDS}
    assert rows_of(tmp_path)[0] in rows_of(folders)
    for path in folders:
        for number in range(3):
            written(path / f"{number}.eml", bytes(letter("a", "b")))
    mails = [path / f"{number}.eml" for path in folders for number in range(3)]
    assert tb.fit(mails).class_counts == dict.fromkeys(WORDS, 3)


def test_mailboxes_of_one_name_have_no_labels(tmp_path):
    (tmp_path / "old").mkdir()
    paths = [mail_box(path, ["a", "b"]) for path in (tmp_path / "inbox.mbox", tmp_path / "old" / "inbox.mbox")]
    source = tb.read(paths)
    source.look_for(["label"])
    assert "label" not in source.head().columns


def test_a_report_reads_the_labels_of_mailboxes(tmp_path):
    for name, words in (("ham", "lunch at noon"), ("spam", "win money now")):
        mails = [f"From a@b.c Mon Jan  1 00:00:00 2024\nSubject: {words} {i}\n\n{words}\n\n" for i in range(30)]
        (tmp_path / f"{name}.mbox").write_text("".join(mails))
    paths = [str(tmp_path / "ham.mbox"), str(tmp_path / "spam.mbox")]
    model = tb.fit(paths)
    assert model.class_counts == {"ham": 30, "spam": 30}
    assert "rows" in tb.report(model, paths)
    assert tb.evaluate(model, paths).n_rows == 60
