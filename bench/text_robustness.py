"""Text that is scarce, unbalanced or contradictory, beside scikit-learn's naive Bayes with the best of its settings.

    python -m bench.text_robustness [--data FOLDER] [--only NAME] [--tuned]

Every corpus is cut from those of `bench/text.py`. tallybayes gets the texts and nothing else. scikit-learn gets a grid of
settings twice: chosen by five-fold cross-validation on the training rows, which is the fair comparison, and chosen on the
test rows, which nobody could do and which is a bound.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import tallybayes as tb
from bench.text import newsgroups, trec

ALPHAS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
TESTED = 100  # new documents of each newsgroup: enough for a standard error of a point, and quick
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts and labels to fit on and to predict."""

    name: str
    train: pa.Table
    test: pa.Table


def _taken(table: pa.Table, size_of: Callable[[int], int], rng: np.random.Generator) -> pa.Table:
    """So many rows of every class, by its place among the classes in order; all of them if there are fewer."""
    labels = np.array(table["label"].to_pylist(), object)
    parts = [
        rng.permutation(np.flatnonzero(labels == label))[: size_of(place)]
        for place, label in enumerate(np.unique(labels))
    ]
    return table.take(np.sort(np.concatenate(parts)))


def _contradicted(table: pa.Table, share: float, rng: np.random.Generator) -> pa.Table:
    """The rows, and a share of them once more with the label of another row."""
    rows = rng.permutation(len(table))[: int(share * len(table))]
    labels = table["label"].take(rng.integers(0, len(table), len(rows))).cast(pa.string())
    again = pa.table({"text": table["text"].take(rows), "label": labels})
    return pa.concat_tables([table.cast(again.schema), again])


def _geometric(most: int, least: int, n: int) -> Callable[[int], int]:
    """Class sizes from `most` down to `least`."""
    sizes = np.geomspace(most, least, n).astype(int)
    return lambda place: int(sizes[place])


def corpora(folder: Path) -> Iterator[Corpus]:
    """The corpora, the whole ones first."""
    rng = np.random.default_rng(0)
    groups, questions = newsgroups(folder), trec(folder)
    fine = pq.read_table(folder / "trec_questions.parquet").rename_columns({"label_fine": "label"})
    fine_parts = [
        fine.filter(pc.equal(fine["split"], split)).select(["text", "label"]) for split in ("train", "test")
    ]
    messages = pq.read_table(folder / "sms_spam.parquet", columns=["text", "label"])
    yield Corpus("20 Newsgroups", *groups)
    yield Corpus("TREC, 6 classes", *questions)
    yield Corpus("TREC, 50 classes", *fine_parts)
    new = _taken(groups[1], lambda _: TESTED, rng)
    for n in (5, 10, 20, 50):
        yield Corpus(f"20 Newsgroups, {n} of each class", _taken(groups[0], lambda _, n=n: n, rng), new)
    for n in (5, 10, 20):
        yield Corpus(f"TREC, {n} of each class", _taken(questions[0], lambda _, n=n: n, rng), questions[1])
    yield Corpus("20 Newsgroups, from 300 to 10", _taken(groups[0], _geometric(300, 10, 20), rng), new)
    small = _taken(groups[0], lambda _: 100, rng)
    yield Corpus("20 Newsgroups, 30 % contradicted", _contradicted(small, 0.3, rng), new)
    yield Corpus("TREC, 30 % contradicted", _contradicted(questions[0], 0.3, rng), questions[1])
    two = {"sci.space": 0, "rec.autos": 1}
    pair = [table.filter(pc.is_in(table["label"], pa.array(list(two)))) for table in groups]
    yield Corpus("two newsgroups, one of 3 %", _taken(pair[0], lambda place: (580, 18)[place], rng), pair[1])
    labels = messages["label"].to_pylist()
    for seed in range(2):
        train, test = train_test_split(np.arange(len(labels)), test_size=0.3, stratify=labels, random_state=seed)
        yield Corpus(f"SMS, split {seed}", messages.take(train), messages.take(test))
    rare = _taken(messages.take(train), lambda place: (3000, 93)[place], rng)
    balanced = _taken(messages.take(test), lambda _: 220, rng)
    yield Corpus("SMS, spam of 3 %", rare, messages.take(test))
    yield Corpus("SMS, spam of 3 %, balanced test", rare, balanced)


# scikit-learn


def grid(train: list[str], test: list[str]) -> Iterator[tuple[str, Any, Any]]:
    """Matrices of the two, for every way to make them."""
    for longest in (1, 2):
        vectorizer = CountVectorizer(ngram_range=(1, longest))
        counts = vectorizer.fit_transform(train), vectorizer.transform(test)
        scaled = TfidfTransformer(sublinear_tf=True).fit(counts[0])
        yield f"counts, {longest}", *counts
        yield f"binary, {longest}", *((part > 0).astype(np.float64) for part in counts)
        yield f"tf-idf, {longest}", *(scaled.transform(part) for part in counts)


def settings(kind: str) -> Iterator[tuple[str, Any]]:
    """Estimators that make sense for a matrix."""
    for alpha in ALPHAS:
        yield f"MultinomialNB({alpha})", MultinomialNB(alpha=alpha)
        yield f"MultinomialNB({alpha}, uniform)", MultinomialNB(alpha=alpha, fit_prior=False)
        yield f"ComplementNB({alpha})", ComplementNB(alpha=alpha)
        if kind.startswith("binary"):
            yield f"BernoulliNB({alpha})", BernoulliNB(alpha=alpha)


def accuracies(train: Any, test: Any) -> dict[str, float]:
    """The accuracy of every setting."""
    (texts, labels), (new, answers) = train, test
    found = {}
    for kind, old, fresh in grid(texts, new):
        for name, estimator in settings(kind):
            found[f"{name}, {kind}"] = float((estimator.fit(old, labels).predict(fresh) == answers).mean())
    return found


def peers(corpus: Corpus) -> tuple[float, float, str]:
    """The accuracy of the setting chosen by cross-validation, of the best on the test rows, and the first's name."""
    train, test = ((np.array(t["text"].to_pylist(), object), np.array(t["label"].to_pylist(), object)) for t in (corpus.train, corpus.test))
    on_test = accuracies(train, test)
    totals = dict.fromkeys(on_test, 0.0)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds
        for fit, judge in folds.split(train[0], train[1]):
            own = accuracies((train[0][fit], train[1][fit]), (train[0][judge], train[1][judge]))
            for name, value in own.items():
                totals[name] += value
    chosen = max(totals, key=lambda name: totals[name])
    return on_test[chosen], max(on_test.values()), chosen


def ours(corpus: Corpus, *, tuned: bool) -> tuple[float, float, str]:
    """Our accuracy, the seconds of processor time of the fit, and the options that were selected."""
    began = time.process_time()
    model = tb.fit(corpus.train, label="label", families={"text": "text"})
    if tuned:
        model = tb.tune(corpus.train, label="label", families={"text": "text"}).model
    seconds = time.process_time() - began
    right = model.predict(corpus.test) == np.array(corpus.test["label"].to_pylist(), object)
    own: Any = model.schema.families["text"]
    words = "words" if own.scored_ngrams == 1 else "pairs"
    more = "".join(f", {name}" for name in ("idf", "balanced") if getattr(own, name))
    return float(right.mean()), seconds, f"{own.variant}, {own.tf}, k={own.k:.4g}, {words}{more}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--only", help="a part of the name of a corpus")
    parser.add_argument("--tuned", action="store_true", help="tune our models")
    parser.add_argument("--alone", action="store_true", help="without scikit-learn")
    given = parser.parse_args()
    print(f"{'corpus':<34}{'rows':>6}{'ours':>7}{'fair':>7}{'bound':>7}{'s':>7}  selected here; there")
    for corpus in corpora(given.data):
        if given.only and given.only not in corpus.name:
            continue
        accuracy, seconds, selected = ours(corpus, tuned=given.tuned)
        fair, bound, chosen = (np.nan, np.nan, "") if given.alone else peers(corpus)
        print(
            f"{corpus.name:<34}{len(corpus.train):6}{accuracy:7.3f}{fair:7.3f}{bound:7.3f}{seconds:7.2f}"
            f"  {selected}; {chosen}",
            flush=True,
        )


if __name__ == "__main__":
    main()
