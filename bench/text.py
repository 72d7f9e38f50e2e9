"""Raw text beside scikit-learn's pipelines: time, accuracy and memory, in one run on real corpora.

    python -m bench.text [--data FOLDER] [--repeats 5] [--only speed|accuracy|memory]

FOLDER holds newsgroups20_bydate.parquet, sms_spam.parquet and trec_questions.parquet (../shared/data otherwise).
Ratios are theirs / ours, the best of the repeats of each taken in turns. Both sides get the same Python list of texts;
"Arrow" is the time from a column of a Parquet file as Arrow holds it.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import tallybayes as tb
from bench.estimators import best
from bench.memory import resident

SAME = "case=lower,words=python,max_length=0"  # the tokens of CountVectorizer
SPEED = [
    # what, theirs, ours, at least, aim
    ("unigrams, counts, k = 1", {}, f"text:counts,k=1,{SAME}", 30, 60),
    ("unigrams, as it comes: variant and k chosen", {}, "text", 30, 60),
    ("words and word pairs, counts, k = 1", {"ngram_range": (1, 2)}, f"text:counts,k=1,ngrams=2,{SAME}", 30, None),
]
ACCURACY = [  # family, class prior
    ("text", "empirical"),
    ("text:ngrams=2", "empirical"),
    ("text:ngrams=2,addresses=True", "empirical"),
    ("text:complement,tf=once,k=1", "uniform"),
    ("text:complement,tf=log,k=0.1", "uniform"),
    ("text:complement,tf=log,idf=True,balanced=True,k=1", "uniform"),
    ("text:complement,tf=once,ngrams=2,k=0.5", "uniform"),
    ("text:complement,tf=log,ngrams=2,k=0.1", "uniform"),
    ("text:complement,tf=log,ngrams=2,addresses=True,k=0.1", "uniform"),
    ("text:counts,tf=once,ngrams=2,k=0.3", "empirical"),
    ("text:presence,k=0.05", "empirical"),
    ("text:counts,tf=once,tokens=characters,ngrams=4,k=0.1", "empirical"),
]


def newsgroups(folder: Path) -> tuple[pa.Table, pa.Table]:
    """20 Newsgroups by date, headers in: train and test."""
    table = pq.read_table(folder / "newsgroups20_bydate.parquet", columns=["text", "label", "split"])
    return tuple(  # type: ignore[return-value]
        table.filter(pc.equal(table["split"], split)).select(["text", "label"]).combine_chunks()
        for split in ("train", "test")
    )


def trec(folder: Path) -> tuple[pa.Table, pa.Table]:
    """TREC questions, coarse labels: train and test."""
    table = pq.read_table(folder / "trec_questions.parquet").rename_columns({"label_coarse": "label"})
    return tuple(  # type: ignore[return-value]
        table.filter(pc.equal(table["split"], split)).select(["text", "label"]) for split in ("train", "test")
    )


def sms(folder: Path) -> Iterator[tuple[pa.Table, pa.Table]]:
    """SMS spam: ten folds."""
    table = pq.read_table(folder / "sms_spam.parquet", columns=["text", "label"])
    labels = table["label"].to_pylist()
    for train, test in StratifiedKFold(10).split(labels, labels):
        yield table.take(train), table.take(test)


def speed(folder: Path, repeats: int) -> None:
    train, test = newsgroups(folder)
    texts, labels, new = train["text"].to_pylist(), train["label"].to_pylist(), test["text"].to_pylist()
    size, new_size = (sum(len(text.encode()) for text in part) / 1e6 for part in (texts, new))
    print(f"20 Newsgroups: {size:.1f} MB to fit, {new_size:.1f} MB to predict")
    for title, theirs_options, family, least, aim in SPEED:

        def theirs(options: Any = theirs_options) -> Any:
            return make_pipeline(CountVectorizer(**options), MultinomialNB()).fit(texts, labels)

        def ours(family: str = family) -> tb.Model:
            return tb.fit({"text": texts, "label": labels}, label="label", families={"text": family})

        def arrow(family: str = family) -> tb.Model:
            return tb.fit(train, label="label", families={"text": family})

        a, b, c = best(repeats, theirs, ours, arrow)
        show(f"fit {title}", a, b, c, size, least, aim)
        pipeline, model = theirs(), arrow()
        model.predict({"text": new[:1]})
        a, b, c = best(
            repeats,
            lambda p=pipeline: p.predict(new),
            lambda m=model: m.predict({"text": new}),
            lambda m=model: m.predict(test),
        )
        show(f"predict {title}", a, b, c, new_size, least, aim)
    words(texts, size, repeats)


def show(what: str, theirs: float, ours: float, arrow: float, size: float, least: int, aim: int | None) -> None:
    print(
        f"{what:<55} {theirs * 1e3:7.0f} ms {ours * 1e3:6.0f} ms {theirs / ours:5.1f} x   Arrow {arrow * 1e3:5.0f} ms "
        f"{theirs / arrow:5.1f} x {size / arrow:5.0f} MB/s   at least {least}, aim {aim or '-'}",
        flush=True,
    )


def words(texts: list[str], size: float, repeats: int) -> None:
    """Cutting and counting on one core beside `wc -w`."""
    from tallybayes import kernels
    from tallybayes.arrays.token_rules import Rules, pack_strings

    data, offsets = pack_strings(texts)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data.tobytes())
        file.flush()
        for locale in ("C.UTF-8", "C"):

            def wc(locale: str = locale) -> None:
                subprocess.run(["wc", "-w", file.name], env={"LC_ALL": locale}, capture_output=True, check=True)

            def cut() -> None:
                kernels.active.Lexicon().tokenise(offsets, data, None, 0, len(texts), Rules(), None, True)

            a, b = best(repeats, wc, cut)
            print(
                f"tokens of each document counted on one core: {size / b:.0f} MB/s; wc -w ({locale}): "
                f"{size / a:.0f} MB/s, {b / a:.1f} times as fast",
                flush=True,
            )


def accuracy(folder: Path) -> None:
    pairs = {"20 Newsgroups": [newsgroups(folder)], "SMS": list(sms(folder)), "TREC": [trec(folder)]}
    print(f"{'':<58}" + "".join(f"{name:>15}" for name in pairs) + "   accuracy")
    for name, estimator, family, options in [
        ("MultinomialNB", MultinomialNB(), "counts", {"class_smoothing": 0.0}),
        ("ComplementNB", ComplementNB(), "complement", {"class_prior": "uniform"}),
        ("BernoulliNB", BernoulliNB(), "presence", {"class_smoothing": 0.0}),
    ]:
        pipeline = make_pipeline(CountVectorizer(), estimator)
        rows = [np.mean([_theirs(pipeline, *pair) for pair in own]) for own in pairs.values()]
        print(f"{f'CountVectorizer + {name}':<58}" + "".join(f"{row:15.4f}" for row in rows), flush=True)
        text = f"text:{family},k=1,{SAME}"
        rows = [np.mean([_ours(text, *pair, **options)[0] for pair in own]) for own in pairs.values()]
        print(f"{text:<58}" + "".join(f"{row:15.4f}" for row in rows), flush=True)
    for text, prior in ACCURACY:
        rows, chosen = [], []
        for own in pairs.values():
            found = [_ours(text, *pair, class_prior=prior) for pair in own]
            rows.append(np.mean([right for right, _ in found]))
            chosen.append(found[0][1])
        print(f"{text:<58}" + "".join(f"{row:15.4f}" for row in rows), flush=True)
        if "k=" not in text:
            print("    chosen: " + "; ".join(chosen))


def _theirs(pipeline: Any, train: pa.Table, test: pa.Table) -> float:
    pipeline.fit(train["text"].to_pylist(), train["label"].to_pylist())
    return float(pipeline.score(test["text"].to_pylist(), test["label"].to_pylist()))


def _ours(family: str, train: pa.Table, test: pa.Table, **options: Any) -> tuple[float, str]:
    model = tb.fit(train, label="label", families={"text": family}, **options)
    right = float((model.predict(test) == np.array(test["label"].to_pylist(), object)).mean())
    chosen = model.schema.families["text"]
    return right, f"{chosen.variant}, tf {chosen.tf}, k {chosen.k}"  # type: ignore[attr-defined]


def memory(folder: Path, family: str) -> None:
    """The peak over the input of a fit, in a process of its own."""
    train, _ = newsgroups(folder)
    tb.fit(train.slice(0, 50), label="label", families={"text": family})
    Path("/proc/self/clear_refs").write_text("5")
    before, began = resident("VmRSS"), time.perf_counter()
    model = tb.fit(train, label="label", families={"text": family})
    peak, seconds = resident("VmHWM") - before, time.perf_counter() - began
    model.predict(train.slice(0, 1000))
    scoring = resident("VmHWM") - before
    print(f"{family:<30} fit {peak:5.0f} MB over the input ({seconds:.2f} s), with scoring {scoring:5.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=["speed", "accuracy", "memory"])
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        memory(options.data, options.peak)
        return
    if options.only in (None, "speed"):
        speed(options.data, options.repeats)
    if options.only in (None, "accuracy"):
        accuracy(options.data)
    if options.only in (None, "memory"):
        for family in ("text", "text:ngrams=2"):
            own = [sys.executable, "-m", "bench.text", "--data", str(options.data), "--peak", family]
            subprocess.run(own, check=True)


if __name__ == "__main__":
    main()
