"""Folders of labelled texts, mails and mboxes for the tests, and reading them back."""

from email.message import EmailMessage

import tallybayes as tb

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


def rows(data, **how):
    """All rows as dicts, batch by batch."""
    source = tb.read(data, **how)
    return [row for table in source.batches(keep=True) for row in table.kept.to_pylist()]
