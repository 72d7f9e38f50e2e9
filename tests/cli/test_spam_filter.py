"""What docs/spam-filter.md promises, on the letters that come with the package."""

import re
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import tallybayes as tb
from tallybayes.cli.explain_command import highlight_words
from tallybayes.cli.main import app
from tallybayes.demo_data.example_files import LETTERS

PILLS = "Cheap pills today, best prices, no prescription. Buy now, click here! "
COUNT = {"variant": "counts", "tf": "count"}  # the way of counting that repetition can fool
KEYS = ("0" * 32, "1" * 32)


def run(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def fitted(data=LETTERS / "mail", **options):
    return tb.fit(data, label="label", only=["text"], families={"text": tb.Text(**options)}, column_weights=None)


def is_spam(model, text):
    return model.predict({"text": text}).tolist() == ["spam"]


@pytest.fixture(scope="module")
def plain():
    """The filter without options."""
    return fitted()


@pytest.fixture(scope="module")
def rows():
    """The letters with their labels."""
    columns = tb.read(LETTERS / "mail").head().columns
    pairs = zip(columns["label"].to_pylist(), columns["text"].to_pylist(), strict=True)
    return [{"label": label, "text": text} for label, text in pairs]


@pytest.fixture(scope="module")
def inbox():
    columns = tb.read(LETTERS / "inbox").head().columns
    return dict(zip(columns["file"].to_pylist(), columns["text"].to_pylist(), strict=True))


# The letters


def test_letters_are_small_and_name_nobody():
    files = [path for path in LETTERS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 100_000
    for path in files:
        for host in re.findall(r"(?:@|https?://)([\w.-]*\w)", path.read_text()):
            assert re.fullmatch(r"([\w-]+\.)?example\.(org|com|net)", host), (path.name, host)


def test_letters_are_read_whole(rows):
    assert len(rows) == len(list((LETTERS / "mail").glob("*/*"))) == 62
    assert all(len(row["text"]) > 60 and "<p>" not in row["text"] for row in rows)
    table = tb.read(LETTERS / "mail").head().columns
    assert "Your table at Café Linde" in table["subject"].to_pylist()
    by_file = dict(zip(table["file"].to_pylist(), table["text"].to_pylist(), strict=True))
    assert by_file["ham/train-tickets.eml"].endswith("tickets.pdf")
    assert "<li>" not in by_file["ham/weekly-digest.eml"]
    assert "minutes" not in by_file["spam/replica-watches.eml"]  # hidden in a comment


# Fit, judge, explain


def test_a_folder_is_enough(tmp_path):
    told = run("fit", LETTERS / "mail", "--label", "label", "-o", tmp_path / "mail.tally")
    assert re.search(
        r"^text +text:variant=\w+,tf=\w+,k=[\d.]+\S* +prose: .*selected from \d+ candidates by leave-one-out on a",
        told,
        re.M,
    )
    predicted = run("predict", tmp_path / "mail.tally", LETTERS / "inbox", "--id", "file").splitlines()[1:]
    right = {"1-soup.eml": "ham", "2-winner.eml": "spam", "6-appointment.eml": "ham"}
    assert right.items() <= dict(line.split(",")[:2] for line in predicted).items()


def test_mails_that_were_left_out_are_judged_well(plain, rows):
    model, n_right, losses = plain.copy(), 0, []
    for row in rows:
        model.forget(row)
        p = model.predict_proba(row)[0, model.classes.index(row["label"])]
        n_right, losses = n_right + (p > 0.5), [*losses, -np.log(p)]
        model.learn(row)
    assert n_right / len(rows) >= 0.95  # the commoner class alone: 0.52
    assert np.mean(losses) < 0.1
    assert model.same_counts(plain)


def test_the_leave_one_out_loss_is_that_of_forgetting_each_mail(plain, rows):
    labels = [plain.classes.index(row["label"]) for row in rows]
    told = -plain.leave_one_out(rows, label="label")[np.arange(len(rows)), labels].mean()
    model, losses = plain.copy(), []
    for row in rows:
        model.forget(row)
        losses.append(-np.log(model.predict_proba(row)[0, model.classes.index(row["label"])]))
        model.learn(row)
    # Balanced weights keep the scale of each class when a document is left out; forgetting derives it anew.
    assert plain.schema.families["text"].balanced
    assert np.mean(losses) == pytest.approx(told, rel=0.1)


def test_cross_validation_is_well_above_the_commonest_class(plain):
    judged = tb.cross_validate(LETTERS / "mail", label="label", families=plain.schema.families, only=["text"])
    assert judged.n_rows == 62
    assert judged.accuracy >= 0.95
    assert judged.majority < 0.55


def test_words_add_up_to_what_the_text_says(plain, inbox):
    for name, text in inbox.items():
        why = plain.explain({"text": text})[0]
        words = sum(value for _, value in why.word_odds("text", "spam", "ham"))
        p = plain.predict_proba({"text": text})[0]
        prior = np.log(31 / 33)  # 30 and 32 mails, one of each added
        if min(p) > 0:
            assert prior + words == pytest.approx(np.log(p[1]) - np.log(p[0]), rel=1e-6), name


@pytest.mark.parametrize("options", [{}, {"ngrams": 2}, {"tokens": "characters", "shortest": 3, "ngrams": 4}], ids=str)
def test_marks_stand_beside_words_and_change_nothing_else(inbox, options):
    model = fitted(**options)
    for text in inbox.values():
        shown = highlight_words(
            text, model.explain({"text": text})[0].word_odds("text", "spam", "ham"), 10 / np.log(10)
        )
        numbers = [(span.start, span.end) for span in shown.spans if "dim" in str(span.style)]
        assert numbers
        plain = shown.plain
        for start, end in reversed(numbers):
            assert re.fullmatch(r"\S[+-]\d+", shown.plain[start - 1 : end])
            plain = plain[:start] + plain[end:]
        assert plain == text


# Correct


@pytest.mark.parametrize(
    "options",
    [
        "",
        "top=10",
        "variant=counts,tf=count,cap=2",
        "variant=complement,tf=log",
        "ngrams=2",
        "buckets=1024",
        "tokens=characters,shortest=3,ngrams=4",
        "addresses=True,min_count=2",
    ],
)
def test_learn_and_forget_leave_every_byte_as_it_was(tmp_path, options):
    path, right = tmp_path / "mail.tally", tmp_path / "right" / "ham"
    run(
        "fit",
        LETTERS / "mail",
        "--label",
        "label",
        "--as",
        f"text=text:{options}" if options else "text=text",
        "-o",
        path,
    )
    right.mkdir(parents=True)
    shutil.copy(LETTERS / "inbox" / "3-raffle.eml", right)
    before = path.read_bytes()
    run("learn", path, right.parent)
    assert path.read_bytes() != before
    run("forget", path, right.parent)
    assert path.read_bytes() == before


def test_a_correction_takes_effect_at_once(plain, inbox):
    model, raffle = plain.copy(), inbox["3-raffle.eml"]
    assert is_spam(model, raffle)
    model.learn_one({"text": raffle}, "ham")
    assert not is_spam(model, raffle)
    model.forget_one({"text": raffle}, "ham")
    assert model.same_counts(plain)
    assert is_spam(model, raffle)


# Attacks and their answers


def test_top_answers_good_words(plain, inbox):
    stuffed = inbox["4-dear-colleague.eml"]
    assert not is_spam(plain, stuffed)
    for top in (10, 20):
        assert is_spam(fitted(top=top), stuffed)


def test_more_of_the_same_does_not_help_against_top(rows):
    model = fitted(variant="counts", tf="once", k=0.25, top=10)
    wanted = " ".join(row["text"] for row in rows if row["label"] == "ham")
    weak = [w for w in set(wanted.split()) if len(w) > 4 and wanted.count(w) == 1]
    spam = PILLS + "Offer ends at midnight, 100% guaranteed, claim your money within 24 hours. "
    scores = [model.predict_proba({"text": spam + " ".join(sorted(weak)[:n])})[0, 1] for n in (0, 50, 300)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-9) == pytest.approx(scores[2], abs=1e-9)


def test_top_answers_a_very_long_mail(plain, inbox, rows):
    wanted = [row["text"] for row in rows if row["label"] == "ham"]
    mail = inbox["2-winner.eml"] + " ".join(wanted[12:28])
    assert len(mail.split()) > 600
    assert not is_spam(plain, mail)
    assert is_spam(fitted(top=10), mail)


def test_length_bounds_how_sure_a_long_mail_is(inbox):
    text = inbox["1-soup.eml"] + "\n"
    ones = [fitted(**COUNT).explain({"text": many})[0] for many in (text, text * 10)]
    twenty = [fitted(**COUNT, length=20).explain({"text": many})[0] for many in (text, text * 10)]
    said = [sum(v for _, v in why.word_odds("text", "ham", "spam")) for why in (*ones, *twenty)]
    assert said[1] == pytest.approx(10 * said[0])
    assert said[3] == pytest.approx(said[2])
    assert 0 < said[2] < said[0]


def test_cap_and_once_answer_repetition():
    mail = PILLS + "sunday " * 60
    assert not is_spam(fitted(**COUNT), mail)
    assert is_spam(fitted(**COUNT, cap=2), mail)
    assert is_spam(fitted(variant="counts", tf="once"), mail)


def test_cap_answers_a_poisoned_word():
    poison, mail = {"text": "Nice to see you. " + "zephyrine " * 300}, "Cheap pills today. Buy now!" + " zephyrine" * 3
    for options, fooled in (({}, True), ({"cap": 2}, False)):
        model = fitted(**COUNT, **options)
        assert is_spam(model, mail)
        model.learn_one(poison, "ham")
        assert is_spam(model, mail) != fooled
        model.forget_one(poison, "ham")
        assert is_spam(model, mail)


def test_no_text_says_more_than_cap_times_top(rows, inbox):
    model = fitted(**COUNT, cap=2, top=10)
    for text in (*inbox.values(), " ".join(row["text"] for row in rows)):
        odds = [value for _, value in model.explain({"text": text})[0].word_odds("text", "spam", "ham")]
        assert max(map(abs, odds)) <= 2 + 1e-9
        assert sum(map(abs, odds)) <= 20 + 1e-9


def test_pieces_of_words_know_bad_spelling(plain, inbox):
    assert not is_spam(plain, inbox["5-v1agra.eml"])
    assert is_spam(fitted(tokens="characters", shortest=3, ngrams=4), inbox["5-v1agra.eml"])


def test_addresses_are_words():
    model = fitted(addresses=True)
    text = "click http://pills.example.net/buy or write to pills@example.net"
    tokens = {word.token for word, _ in model.explain({"text": text})[0].word_odds("text", "spam", "ham")}
    assert "http://pills.example.net/buy" in tokens
    assert not tokens & {"http", "example", "net"}


# Bounded memory


def test_a_crafted_collision_needs_the_key(rows):
    """A nonsense word that shares a bucket with a good one under one key does nothing under another."""
    families = [tb.Text("counts", "once", k=0.25, buckets=1024, key=key) for key in KEYS]
    known, secret = (tb.fit(rows, label="label", families={"text": family}, column_weights=None) for family in families)
    buckets = families[0].numbers()
    crafted = [word for word in (f"word{i}" for i in range(20_000)) if buckets.number(word) == buckets.number("sunday")]
    assert len(crafted) >= 5

    def p_spam(model, word):
        return model.predict_proba({"text": PILLS + word})[0, 1]

    assert p_spam(known, "sunday") < p_spam(known, "")
    assert {p_spam(known, word) for word in crafted} == {p_spam(known, "sunday")}
    assert np.mean([p_spam(secret, word) == p_spam(secret, "sunday") for word in crafted]) < 0.5


def test_the_key_is_not_told(tmp_path):
    path = tmp_path / "mail.tally"
    family = f"text=text:buckets=256,key={KEYS[1]}"
    told = run("fit", LETTERS / "mail", "--label", "label", "--as", family, "-o", path)
    told += run("inspect", path) + run("explain", path, LETTERS / "inbox")
    assert "key=(secret)" in told
    assert KEYS[1] not in told


@pytest.mark.parametrize("options", [{"max_tokens": 500}, {"buckets": 1024, "key": KEYS[0]}])
def test_small_models_still_know_the_easy_ones(tmp_path, plain, inbox, options):
    small = fitted(**options)
    plain.save(tmp_path / "plain.tally")
    small.save(tmp_path / "small.tally")
    assert (tmp_path / "small.tally").stat().st_size < (tmp_path / "plain.tally").stat().st_size
    assert not is_spam(small, inbox["1-soup.eml"])
    assert is_spam(small, inbox["2-winner.eml"])


# The demo


def test_the_demo_explains_a_mail(tmp_path):
    told = run("demo", "--keep", tmp_path)
    assert "$ tally explain mail.tally inbox/2-winner.eml" in told
    assert re.search(r"^click +1 +\+\d", told, re.M)
    assert sorted(path.name for path in (tmp_path / "inbox").iterdir())[0] == "1-soup.eml"
