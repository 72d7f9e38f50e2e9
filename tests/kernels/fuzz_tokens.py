"""Random texts and rules: do the native kernels and their definition see the same tokens?

    python tests/fuzz_tokens.py 1000000          # so many texts; every one of them goes through both
    python tests/fuzz_tokens.py 1000000 --seed 7 # the same texts again
    python tests/fuzz_tokens.py --corpora        # every text of ../shared/data, for a handful of rules
    python tests/fuzz_tokens.py --characters     # every character there is, alone and with neighbours

Progress goes to stderr. At the first difference the rules and the shortest text that shows it are printed, and the exit
code is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.token_rules import Rules, pack_strings
from tallybayes.kernels import reference

DATA = Path(__file__).parents[3] / "shared" / "data"
CORPORA = ("sms_spam", "trec_questions", "newsgroups20_bydate")
SCIKIT_LEARN = Rules(case=1, python=1, max_length=0)  # CountVectorizer() as it comes
HANDFUL = [
    Rules(),
    SCIKIT_LEARN,
    Rules(case=0, min_length=1, addresses=1),
    Rules(case=1, accents=1, digits=1, addresses=1, longest=2),
    Rules(accents=1, digits=1, characters=1, shortest=1, longest=3),
]

PIECES = [
    "a",
    "Z",
    "é",
    "É",
    "e\u0301",
    "ß",
    "ẞ",
    "İ",
    "ı",
    "ŉ",
    "ﬁ",
    "ﬃ",
    "ﷺ",
    "Ǆ",
    "ǅ",
    "K",
    "Å",
    "ͅ",
    "ᾳ",
    "ᾼ",
    "ΐ",
    "Σ",
    "σ",
    "ς",
    "ΑΣ",
    "ΟΔΟΣ",
    "Σ'",
    "A\u00adΣ",
    "aΣ\u0301b",
    "aΣ.b",
    "Σʰ",
    "ʰΣ",
    "AΣ\u200bΣ",
    ":Σ:",
    "ⅷΣ",
    "ⒶΣ",
    "한",
    "각",
    "\u1100\u1161\u11a8",
    "日本",
    "ไทย",
    "हिन्दी",
    "क्\u200dष",
    "עִברִית",
    "عَرَبِي",
    "مي\u200cخواهم",
    "привет",
    "Й",
    "٣",
    "۵",
    "५",
    "Ⅷ",
    "²",
    "½",
    "一",
    "৪",
    "𝟘",
    "𝐀",
    "𐐀",
    "𞤀",
    "ǰ",
    "\U0001f600",
    "🏴\U000e0067\U000e007f",
    "\u00ad",
    "\u200b",
    "\u200d",
    "\u202e",
    "\ufeff",
    "\u2060",
    "\u061c",
    "\u0600",
    "\u070f",
    "\U000e0001",
    "\u0301",
    "\u20dd",
    "\u0903",
    "\u0488",
    "\ufe0f",
    "\u3099",
    "\u0345",
    "\u1abe",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1f",
    "\x85",
    "\xa0",
    "\u2003",
    "\u2028",
    "\u3000",
    "\x00",
    "_",
    "-",
    ".",
    "+",
    "@",
    "'",
    '"',
    "<",
    ">",
    "(",
    ")",
    "]",
    "}",
    ",",
    ";",
    ":",
    "!",
    "?",
    "/",
    "//",
    "\x7f",
    "\ufffd",
    "http://",
    "HTTPS://",
    "ftp://",
    "www.",
    "WWW.",
    "http:/",
    "ｈｔｔｐ://",
    "hTtP://é.\u3000",
    "www..",
    "www.)",
    "https://a.b/c?d=e&f#g).",
    "a@b.c",
    "a.b+c-d@e-f.g-h.i",
    "a@b",
    "a@b.",
    "@b.c",
    "a@@b.c",
    "é@é.é",
    "mailto:a@b.co.uk.",
    "a" * 63 + "@b.c",
    "a" * 64 + "@b.c",
    "a" * 65 + "@b.c",
    "a@" + "b" * 63 + ".c",
    "a@" + "b" * 64 + ".c",
    "a@b." + "c" * 63,
    "a@b." + "c" * 70 + ".d",
    "é" * 33,
    "é" * 64,
    "a" * 64,
    "a" * 65,
    "a" * 8,
    "abcdefgh",
    "abcdefghi",
    "abcdefghijklmnop",
    "abcdefghijklmnopq",
    "spam",
    "Spam",
    "SPAM",
    "eggs",
    "the",
    "and",
    "I",
    "x1",
    "2024",
    "don't",
    "ice-cream",
    "U.S.A.",
]
BYTES = [
    b"\x80",
    b"\xbf",
    b"\xc0\x80",
    b"\xc1",
    b"\xc3",
    b"\xe2",
    b"\xe2\x82",
    b"\xe0\x80\x80",
    b"\xed\xa0\x80",
    b"\xed\xb3\xbf",
    b"\xf0\x9f",
    b"\xf0\x9f\x98",
    b"\xf0\x80\x80\x80",
    b"\xf4\x90\x80\x80",
    b"\xf5",
    b"\xff",
    b"\xfe",
    b"\xce\xa3\xce",
    b"\xf4\x8f\xbf\xbf",
]
SAMPLES = [
    b"Free entry in 2 a wkly comp to win FA Cup final tkts 21st May 2005. Text FA to 87121(std txt rate)",
    "Ὀδυσσεὺς ΟΔΥΣΣΕΥΣ. Straße STRASSE İstanbul; naïve café, ﬁne — “quoted” l’été".encode(),
    b"From: lerxst@wam.umd.edu (where's my thing)\nSubject: WHAT car is this!?\nNntp-Posting-Host: rac3.wam.umd.edu\n",
    b"See http://www.example.org/a_b(c)?q=1, or <https://x.y/z>; mail me.too+spam@some-host.example.co.uk.",
    "Привет, мир! 안녕하세요 세계 こんにちは、世界。 नमस्ते दुनिया ١٢٣".encode(),
]


def random_rules(rng: random.Random) -> Rules:
    shortest = rng.choice([1, 1, 1, 2, 3])
    return Rules(
        rng.randrange(3),
        rng.randrange(2),
        rng.randrange(2),
        rng.randrange(2),
        rng.randrange(2),
        rng.random() < 0.25,
        shortest,
        shortest + rng.choice([-1, 0, 0, 0, 1, 2]),
        rng.choice([0, 1, 2, 2, 3]),
        rng.choice([0, 1, 5, 16, 64, 64]),
    )


def random_text(rng: random.Random) -> bytes:
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randbytes(rng.randrange(40))
    if kind == 1:
        planes = [0x80, 0x250, 0x600, 0x3000, 0x10000, 0x20000, 0x110000]
        points = [rng.randrange(rng.choice(planes)) for _ in range(rng.randrange(20))]
        return "".join(map(chr, points)).encode("utf-8", "surrogatepass")
    if kind == 2:
        text = bytearray(rng.choice(SAMPLES))
        for _ in range(rng.randrange(6)):
            at = rng.randrange(len(text) + 1)
            text[at : at + rng.randrange(4)] = rng.choice(
                [b"", rng.randbytes(1), rng.choice(BYTES), rng.choice(PIECES).encode()]
            )
        return bytes(text)
    parts = [rng.choice(PIECES).encode() for _ in range(rng.randrange(14))]
    if kind == 3:
        parts = [part if rng.random() < 0.8 else rng.choice(BYTES) for part in parts]
    text = b"".join(parts)
    return text[rng.randrange(len(text) + 1) :] if kind == 4 else text


def answers(side, texts, rules, *, stop=(), known=(), buckets=False):
    """All that a side says about some texts."""
    offsets, data = pack_strings(texts)[::-1]
    stop_words = side.Lexicon() if stop else None
    if stop_words is not None:
        stop_words.add(*pack_strings(stop))
    lexicon = side.Lexicon()
    lexicon.add(*pack_strings(known))
    arguments = (offsets, data, None, 0, len(texts), rules, stop_words)
    found = lexicon.tokenise(*arguments, False) if known else ()
    grown = lexicon.tokenise(*arguments, True)
    hashed = side.Buckets(bytes(range(16)), 1000).tokenise(*arguments, False) if buckets else ()
    return [*grown, *lexicon.packed(), *found, *hashed]


def differs(texts, rules, **options) -> bool:
    """Whether native and reference disagree, in a value or in a type."""
    pairs = zip(*(answers(side, texts, rules, **options) for side in (kernels.active, reference)), strict=True)
    return any(a.dtype != b.dtype or not np.array_equal(a, b) for a, b in pairs)


def shortest_difference(texts, rules, **options):
    """One text on which they disagree, with as much cut away as can be."""
    text = next((text for text in texts if differs([text], rules, **options)), None)
    if text is None:
        return texts
    step = len(text)
    while step:
        cuts = (text[:i] + text[i + step :] for i in range(0, len(text), step))
        shorter = next((cut for cut in cuts if len(cut) < len(text) and differs([cut], rules, **options)), None)
        if shorter is None:
            step //= 2
        else:
            text = shorter
    return text


def fuzz(n: int, seed: int) -> Iterator[int]:
    """Compares n texts; yields how many were compared so far, raises AssertionError with what differs."""
    rng = random.Random(seed)
    for done in range(0, n, 100):
        texts = [random_text(rng) for _ in range(min(100, n - done))]
        rules = random_rules(rng)
        words = [piece.casefold() for piece in rng.sample(PIECES, 20)]
        options = {
            "stop": words[:10] if rng.random() < 0.2 else (),
            "known": words if rng.random() < 0.2 else (),
            "buckets": rng.random() < 0.02,  # SipHash in Python takes its time
        }
        if differs(texts, rules, **options):
            raise AssertionError(f"seed {seed}: {rules}, {options}: {shortest_difference(texts, rules, **options)!r}")
        yield done + len(texts)


def corpora() -> Iterator[tuple[str, list[bytes]]]:
    """The texts of the corpora, some thousands at a time."""
    import pyarrow.parquet

    for name in CORPORA:
        texts = pyarrow.parquet.read_table(DATA / f"{name}.parquet", columns=["text"])["text"].to_pylist()
        for start in range(0, len(texts), 2000):
            yield name, [text.encode() for text in texts[start : start + 2000] if text is not None]


def characters() -> Iterator[tuple[str, list[bytes]]]:
    """Every character, surrogates too: alone, between letters, and where a sigma asks what its neighbours are."""
    for start in range(0, 0x110000, 0x4000):
        found = [chr(c).encode("utf-8", "surrogatepass") for c in range(start, start + 0x4000)]
        yield (
            f"U+{start:04X}",
            [
                b" ".join(b"%b A%bB \xce\xa3%b\xce\xa3 %b\xce\xa3" % (c, c, c, c) for c in found[i : i + 128])
                for i in range(0, len(found), 128)
            ],
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--corpora", action="store_true")
    parser.add_argument("--characters", action="store_true")
    options = parser.parse_args()
    if kernels.IMPLEMENTATION != "native":
        print("there is no native module to compare", file=sys.stderr)
        return 2
    started = time.monotonic()
    if options.corpora or options.characters:
        for rules in HANDFUL:
            for name, texts in corpora() if options.corpora else characters():
                if differs(texts, rules):
                    print(f"{name}: {rules}: {shortest_difference(texts, rules)!r}")
                    return 1
            print(f"{time.monotonic() - started:6.0f} s  all equal: {rules}", file=sys.stderr)
        return 0
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", file=sys.stderr)
    done = 0
    try:
        for done in fuzz(options.texts, seed):
            if done % 20_000 == 0:
                print(f"{time.monotonic() - started:6.0f} s  {done:,} texts", file=sys.stderr)
    except AssertionError as difference:
        print(difference)
        return 1
    print(f"{done:,} texts, all equal, {time.monotonic() - started:.0f} s, seed {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
