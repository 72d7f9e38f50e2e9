import mailbox

import pytest
from mails import WORDS, letter, written


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
