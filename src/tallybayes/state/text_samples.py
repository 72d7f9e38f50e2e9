"""Samples of documents for the selection of the options of text (`families/tokens/text_variant.py`).

The sample has the documents with the smallest signatures (`row_hash.py`). So it does not depend on the order and the
batches of the rows, and the sample of two samples is the sample of all their documents. Near copies of a text have one
signature, and one of them stands for all: a form letter is no evidence of how well other letters are told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import distinct_numbers, positions, sort_keys
from tallybayes.arrays.column import Bag
from tallybayes.columns.batch import Batch
from tallybayes.columns.schema import Schema
from tallybayes.families import Family
from tallybayes.families.sampled_documents import SampledDocuments
from tallybayes.families.tokens.text_variant import DOCUMENTS, PAIRS
from tallybayes.families.tokens.token_weights import integer_amounts
from tallybayes.state.row_hash import Hashes, document_hashes
from tallybayes.state.settings import Settings
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.tally.key_index import lexicon_of
from tallybayes.tally.tally import plain

__all__ = ["DocumentSample", "TextSamples", "is_open", "select_text_variants"]

_DOCUMENTS = 2000  # in a sample, at most


def is_open(family: Family | None, settings: Settings, name: str) -> bool:
    """Whether options of a column's family are still to be selected by leave-one-out."""
    return family is not None and family.is_open(settings.smoothing_of(name))


@dataclass(frozen=True, eq=False)
class DocumentSample:
    """Documents in order of signatures. The keys of the bag are numbers of `lexicon`, or tokens if that is None."""

    signatures: Hashes
    hashes: Hashes  # the smallest of each signature
    labels: list[Any]
    weights: NDArray[np.float64]
    bag: Bag
    lexicon: Any

    @classmethod
    def of(cls, bag: Bag, batch: Batch, keys: list[Any]) -> DocumentSample:
        """The sample of a batch whose labels are `keys`."""
        codes = batch.labels.codes
        there = (codes >= 0) if bag.present is None else (codes >= 0) & bag.present
        weights = np.ones(len(codes)) if batch.weights is None else batch.weights
        weights = np.where(weights == np.floor(weights), np.minimum(weights, 1.0), weights)  # 3 is the text three times
        rows = np.flatnonzero(there & (weights > 0))
        hashes, signatures = (hashes_of_all[rows] for hashes_of_all in document_hashes(bag))
        signatures = np.where(signatures == 0, hashes, signatures)
        hashes = hashes + weights[rows].view(np.uint64)
        first = _first(signatures, hashes, codes[rows], np.diff(bag.indptr)[rows])
        rows = rows[first]
        bag, lexicon = bag.take(rows), lexicon_of(bag.keys)
        used: Any
        used, indices = distinct_numbers(bag.indices, len(lexicon))
        bag = Bag(bag.indptr, indices, integer_amounts(bag), used)
        labels = [keys[code] for code in codes[rows].tolist()]
        return cls(signatures[first], hashes[first], labels, weights[rows], bag, lexicon)

    def documents(self, labels: list[Any]) -> SampledDocuments:
        """The documents, with the numbers of their labels."""
        codes = positions(self.labels, labels).astype(np.int32)
        return SampledDocuments(self.bag, codes, self.weights, self.lexicon)

    def tokens(self) -> list[Any]:
        """The keys of the bag as tokens; of buckets, their numbers."""
        return self.documents([]).tokens()

    def in_order(self) -> DocumentSample:
        """The same documents with the tokens that occur in sorted order, as it does not depend on how they came."""
        tokens = self.tokens()
        used = np.unique(self.bag.indices)
        order = sorted(used.tolist(), key=lambda i: tokens[i])
        number = np.zeros(len(tokens), np.int64)
        number[order] = np.arange(len(order))
        indices, document = number[self.bag.indices], np.repeat(np.arange(len(self.bag)), np.diff(self.bag.indptr))
        places = np.lexsort((indices, document))
        amounts = integer_amounts(self.bag)[places]
        bag = Bag(self.bag.indptr, indices[places], amounts, [plain(tokens[i]) for i in order])
        return DocumentSample(self.signatures, self.hashes, self.labels, self.weights, bag, None)

    @classmethod
    def merge(cls, parts: list[DocumentSample]) -> DocumentSample:
        """The sample of several samples."""
        index: dict[Any, int] = {}
        numbers = [
            np.array([index.setdefault(t, len(index)) for t in p.tokens()], np.int64)[p.bag.indices] for p in parts
        ]
        lengths = np.concatenate([np.diff(part.bag.indptr) for part in parts])
        amounts = np.concatenate([part.bag.amounts for part in parts])
        signatures, hashes = (np.concatenate([getattr(p, name) for p in parts]) for name in ("signatures", "hashes"))
        labels = [label for part in parts for label in part.labels]
        first = _first(signatures, hashes, positions(labels, sort_keys(set(labels))), lengths)
        bag = Bag(np.concatenate([[0], np.cumsum(lengths)]), np.concatenate(numbers), amounts, list(index)).take(first)
        weights = np.concatenate([part.weights for part in parts])[first]
        return cls(signatures[first], hashes[first], [labels[i] for i in first.tolist()], weights, bag, None)


def _first(
    signatures: Hashes, hashes: Hashes, codes: NDArray[np.integer], lengths: NDArray[np.integer]
) -> NDArray[np.int64]:
    """A document of each class and each of the smallest signatures, as many as a sample may have.

    Their order does not depend on the names of the classes, unless they share texts.
    """
    order = np.lexsort((hashes, codes, signatures))
    is_new = (np.diff(signatures[order]) != 0) | (np.diff(codes[order]) != 0)
    order = order[np.append(np.ones(min(len(order), 1), bool), is_new)][:_DOCUMENTS]
    return np.asarray(order[: max(DOCUMENTS, int(np.searchsorted(np.cumsum(lengths[order]), PAIRS)) + 1)])


class TextSamples:
    """Samples of the columns of text whose options are still to be selected."""

    def __init__(self, of: Mapping[str, DocumentSample] | None = None) -> None:
        self._of = dict(of or {})

    def copy(self) -> TextSamples:
        """Samples that can be changed independently."""
        return TextSamples(self._of)

    def merge(self, other: TextSamples) -> TextSamples:
        """The samples of both."""
        result = TextSamples(self._of | other._of)
        for name in self._of.keys() & other._of.keys():
            result._of[name] = DocumentSample.merge([self._of[name], other._of[name]])
        return result

    def only(self, names: Iterable[str]) -> TextSamples:
        """The samples of some columns."""
        return TextSamples({name: self._of[name] for name in names if name in self._of})

    def add(self, batch: Batch, keys: list[Any], families: Mapping[str, Family], settings: Settings) -> None:
        """Add documents of a batch whose labels are `keys`."""
        for name, column in batch.columns.items():
            if isinstance(column, Bag) and is_open(families.get(name), settings, name):  # no other is ever open
                new = DocumentSample.of(column.expanded(), batch, keys)
                self._of[name] = DocumentSample.merge([self._of[name], new]) if name in self._of else new

    def get(self, name: str) -> DocumentSample | None:
        """The sample of a column."""
        return self._of.get(name)

    def items(self) -> list[tuple[str, DocumentSample]]:
        """The samples by column, in the order of names."""
        return sorted(self._of.items(), key=lambda item: item[0])


def select_text_variants(
    schema: Schema, settings: Settings, total: SufficientStatistics, samples: TextSamples
) -> tuple[Schema, TextSamples]:
    """The schema with the options of text selected where there are enough documents, and the samples of the others."""
    result = schema
    if not samples.items():
        return schema, samples
    for name, family in schema.families.items():
        if not is_open(family, settings, name) or (sample := samples.get(name)) is None:
            continue
        tally = total.blocks.get(family.counted)
        if tally is None or name not in tally.features:
            continue
        choice = family.selected(tally, name, sample.documents(total.labels), settings.smoothing_of(name))
        if choice is None:
            continue
        result = result.copy() if result is schema else result
        old = result.columns[name]
        n_rows, reason = float(total.class_rows.floats().sum()), f"{old.reason}; {choice[1]}"
        result.columns[name] = replace(old, family=choice[0], reason=reason, selected_on=n_rows)
    return result, samples.only(n for n, family in result.families.items() if is_open(family, settings, n))
