"""Text: documents split into tokens, and multinomials over tokens.

One tally serves every option: occurrences, documents and logarithms of occurrences per token and class
(`tallybayes.tally.vocabulary`). These options decide how the sums become weights (`families/tokens/token_weights.py`):

    tf        the amount of a token that occurs n times in a document: "count" n, "once" 1 (Wang and Manning 2012),
              "log" log(1 + n), scaled so that each document has length one unless unit=False (Rennie et al. 2003)
    variant   "counts"      P(t | c) = (n_tc + k) / (n_c + k V): a multinomial
              "complement"  minus the multinomial of the other classes together (Rennie et al. 2003): a way of scoring
              "presence"    one Bernoulli per token, present or absent: absent tokens contribute too
    idf       tokens are weighted by log(documents / documents with the token), in the sums and in a document
    balanced  the weights of every class are scaled to the same sum of absolute values (Rennie's weight normalisation)

With variant="auto", the default, single words and pairs of words are counted, and `text_variant.py` selects by
leave-one-out whether pairs are scored, variant, tf, k, idf and balanced. A token never seen contributes nothing. Three
caps make a filter harder to fool; they are off by default:

    cap       the most that one token, however often it occurs, may add to the log odds of two classes
    top       only this many tokens of a document count: those that add most
    length    a longer document counts as if it had this many tokens
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Indices, Integers, Weights
from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.column import Bag
from tallybayes.arrays.token_rules import Rules, pack_strings
from tallybayes.errors import UnsupportedError
from tallybayes.families.family import Codes32, Family, Floats, Smoothing
from tallybayes.families.sampled_documents import SampledDocuments
from tallybayes.families.strength import Strength
from tallybayes.families.tokens.bag_counts import add_columns, lengths_by_class
from tallybayes.families.tokens.fixed_vocabulary import (
    check_vocabulary,
    longest_of,
    normalised_vocabulary,
    scored_tokens,
    shortened,
    vocabulary_lexicon,
)
from tallybayes.families.tokens.text_options import MOST_NGRAMS, check_key, check_text_options, stop_words, strength
from tallybayes.families.tokens.text_variant import choose
from tallybayes.families.tokens.token_family import TokenFamily, TokenPrior
from tallybayes.families.tokens.token_options import TokenOptions
from tallybayes.families.tokens.token_predictive import TextPredictive
from tallybayes.families.tokens.token_weights import integer_amounts
from tallybayes.families.tokens.weighted_documents import are_short, count_shared_documents, count_weighted_documents
from tallybayes.tally import Exact, TokenTally, Vocabulary
from tallybayes.tally.entry_store import CLASS_BITS, CLASS_MASK, EntryStore, EntryTable
from tallybayes.tally.key_index import index_of
from tallybayes.tally.vocabulary import TEXT_KINDS

__all__ = ["Text"]

_UNDECIDED_K = 0.1  # until there are enough documents to select it
# Options without effect on the sums:
_SCORING = ("variant", "tf", "k", "idf", "balanced", "scored_ngrams", "min_count", "cap", "top", "length")


@dataclass(frozen=True)
class Text(TokenFamily):
    r"""Documents. Besides the options above, these decide what is a token and how many are kept.

    ngrams, shortest: word n-grams from `shortest` to `ngrams` words; of characters with tokens="characters". 0 means 2
    where the variant is selected, and otherwise 1, as for characters and for a limited or hashed vocabulary.
    scored_ngrams: longer n-grams of words are counted but not scored (0: all are scored).
    case: "fold", "lower" or "keep"; accents, digits: "keep", or "fold" (é is e; every digit is 0).
    addresses: URLs and e-mail addresses are kept whole.
    words: "unicode" words may contain combining accents and vowel signs, and invisible characters are dropped; "python"
    words are what \w+ matches.
    min_length, max_length: of words, in characters (max_length 0: any).
    stop: words to be ignored, separated by blanks.
    min_count: tokens that occur less often contribute nothing.
    max_tokens: if there are more, the rarest are counted together (0: no limit).
    vocabulary: the only tokens that are counted: a list, or a text with "|" between them; the words of n-grams are
    separated by blanks. They are the V outcomes, seen or not. If ngrams is not given, it is that of the longest token.
    buckets, key: tokens are hashed into this many buckets with a secret key (random if it is not given).

    >>> bag = Bag(np.array([0, 2, 3]), np.array([0, 1, 1]), None, ["cash", "lunch"])
    >>> tally = Text().observe(("mail",), [bag], np.array([0, 1], np.int32), 2, None)
    >>> np.exp(Text("counts").derive(tally, 1.0).log_prob([bag])).round(3).tolist()
    [[0.25, 0.222], [0.5, 0.667]]
    """

    variant: str = "auto"
    tf: str = "auto"
    k: float | str = "auto"
    unit: bool = True
    idf: bool = False
    balanced: bool = False
    ngrams: int = 0
    scored_ngrams: int = 0
    shortest: int = 1
    tokens: str = "words"
    case: str = "fold"
    accents: str = "keep"
    digits: str = "keep"
    addresses: bool = False
    words: str = "unicode"
    min_length: int = 2
    max_length: int = 64
    stop: str = ""
    min_count: int = 1
    max_tokens: int = 0
    vocabulary: str | Sequence[str] = ""
    buckets: int = 0
    key: str = dataclasses.field(default="", repr=False)
    cap: float = 0.0
    top: int = 0
    length: int = 0

    name: ClassVar[str] = "text"
    has_arbitrary_scale: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_text_options(self)
        self._settle("k", strength(self.k))
        self._settle("stop", stop_words(self.stop))
        self._settle_vocabulary()
        if self.buckets and self.key == "":
            self._settle("key", os.urandom(16).hex())
        check_key(self)

    def _settle_vocabulary(self) -> None:
        rules = self.rules._replace(longest=self.ngrams or MOST_NGRAMS)
        self._settle("vocabulary", normalised_vocabulary(self.vocabulary, rules, self.stop_words()))
        check_vocabulary(self)
        if self.vocabulary and not self.ngrams:
            self._settle("ngrams", longest_of(str(self.vocabulary), rules))

    def _settle(self, option: str, value: object) -> None:
        object.__setattr__(self, option, value)

    # Counting

    @property
    def counted(self) -> Text:
        """The family without the options that only affect scoring; without ngrams it counts single words."""
        default = {field.name: field.default for field in dataclasses.fields(self)}
        changes: dict[str, Any] = {name: default[name] for name in _SCORING}
        return dataclasses.replace(self, ngrams=0 if self.longest == 1 else self.longest, **changes)

    @property
    def em_form(self) -> Text:
        """Counts with idf, unless counts or presence was given: otherwise words that most documents have decide."""
        k = _UNDECIDED_K if self.k == "auto" else self.k
        if self.variant in ("counts", "presence") and not self.balanced:
            return replace(self, k=k)
        ngrams, tf = self.ngrams or 1, ("log" if self.tf == "auto" else self.tf)
        return replace(self, variant="counts", tf=tf, k=k, idf=True, balanced=False, ngrams=ngrams, scored_ngrams=0)

    @property
    def with_unlabelled(self) -> Text:
        """Open options as in the rounds: labelled rows, by which others were divided, suit every variant now."""
        if self.variant != "auto":
            return replace(self, k=_UNDECIDED_K) if self.k == "auto" else self
        words_alone = 1 if self.longest > 1 and self.ngrams == 0 else self.scored_ngrams
        return replace(self.em_form, ngrams=self.longest, scored_ngrams=words_alone)

    @property
    def longest(self) -> int:
        """The number of words (or characters) of the longest n-grams that are counted."""
        if self.ngrams:
            return self.ngrams
        plain = self.tokens == "words" and self.shortest == 1 and not (self.buckets or self.max_tokens)
        return 2 if self.variant == "auto" and plain else 1

    def display_name(self) -> str:
        """The string form without the secret key and without a long vocabulary."""
        if self.vocabulary:
            return str(self).replace(f"vocabulary={self.vocabulary}", f"vocabulary={shortened(str(self.vocabulary))}")
        return str(self).replace(f"key={self.key}", "key=(secret)") if self.key else str(self)

    @property
    def own_smoothing(self) -> Smoothing:
        """The option k."""
        return self.k  # type: ignore[return-value]

    @property
    def smoothing_candidates(self) -> tuple[Smoothing, ...]:
        """None: `alternatives` include k."""
        return ()

    @property
    def tokeniser(self) -> Text:
        """Its own options."""
        return self

    @cached_property
    def scoring_tokeniser(self) -> Text:
        """The same with the n-grams that are scored."""
        is_longer = 0 < self.scored_ngrams < self.longest
        return replace(self, ngrams=self.scored_ngrams) if is_longer else self

    def is_open(self, smoothing: Smoothing) -> bool:
        """Whether variant, tf or k are "auto"; not with k = 0, where a single word can rule out every class."""
        k = self.k if smoothing == "auto" else smoothing
        return k == "auto" or (self.variant == "auto" and 0 < float(k) < math.inf)

    def alternatives(self, given: Family | None) -> Iterator[Text]:
        """Other variants, tf, k and n-grams that are scored, unless these were given or have been selected."""
        requested = given if isinstance(given, Text) else Text()
        if requested.variant == "auto" and self.variant != "auto":  # selected by leave-one-out, at the best temperature
            return
        strengths = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0) if requested.k == "auto" else (requested.k,)
        scored = requested.scored if self.longest == requested.longest else (self.scored_ngrams,)
        same = dataclasses.replace(self, ngrams=self.longest)
        for (variant, tf), n, k in itertools.product(requested.variants(), scored, strengths):
            yield dataclasses.replace(same, variant=variant, tf=self.tf if tf == "auto" else tf, scored_ngrams=n, k=k)

    def variants(self) -> list[tuple[str, str]]:
        """The variant and tf, all that can be selected where they are "auto", the usual ones first."""
        variants = ("complement", "counts") if self.variant == "auto" else (self.variant,)
        tfs = ["log", "once", "count"] if self.tf == "auto" and self.variant != "presence" else [self.tf]
        if self.options.has_caps and len(tfs) > 1:
            del tfs[0]  # with documents of length one every word changes the amounts of the others
        return [(variant, tf) for tf in tfs for variant in variants]

    @property
    def scored(self) -> tuple[int, ...]:
        """The values of scored_ngrams that can be selected: 1 and 0 (all), unless ngrams were given."""
        return (1, 0) if self.ngrams == 0 < self.longest - 1 and not self.scored_ngrams else (self.scored_ngrams,)

    def selected(
        self, tally: TokenTally, name: str, documents: SampledDocuments, smoothing: Smoothing
    ) -> tuple[Text, str] | None:
        """The family with the options that are "auto" selected by leave-one-out, and how."""
        k_option = self.k if smoothing == "auto" else smoothing
        structures = [
            replace(self.options, scored_ngrams=scored, variant=variant, tf="count" if tf == "auto" else tf)
            for (variant, tf), scored in itertools.product(self.variants(), self.scored)
            if variant != "complement" or self.variant != "auto" or tally.n_classes > 2  # of two the same as counts
        ]
        toggles = self.variant == "auto" and not (self.idf or self.balanced)
        k = None if k_option == "auto" else float(k_option)
        choice = choose(tally, name, documents, structures, k, toggles=toggles)
        if choice is None:
            return None
        options = dataclasses.asdict(choice.options) | ({"k": choice.k} if k_option == "auto" else {})
        ngrams = self.longest if self.ngrams == 0 else self.ngrams
        return dataclasses.replace(self, ngrams=ngrams, **options), str(choice)

    @property
    def rules(self) -> Rules:
        """How a text is split into tokens."""
        return Rules(
            case=("keep", "lower", "fold").index(self.case),
            accents=int(self.accents == "fold"),
            digits=int(self.digits == "fold"),
            addresses=int(self.addresses),
            python=int(self.words == "python"),
            characters=int(self.tokens == "characters"),
            shortest=self.shortest,
            longest=self.longest,
            min_length=self.min_length,
            max_length=self.max_length,
        )

    def numbers(self) -> Any:
        """A new lexicon, which numbers tokens, or the buckets of the hash."""
        if self.buckets:
            return kernels.active.Buckets(bytes.fromhex(self.key), self.buckets)
        return kernels.active.Lexicon()

    def only_tokens(self) -> Any:
        """The vocabulary that was given; None if all tokens count."""
        return vocabulary_lexicon(str(self.vocabulary)) if self.vocabulary else None

    def declared(self) -> tuple[str, ...]:
        """The tokens of the vocabulary that was given, as far as they are scored: the outcomes of the multinomial."""
        return scored_tokens(str(self.vocabulary), self.options.scored_ngrams)

    def stop_words(self) -> Any:
        """The words to be ignored, normalised as words of a text are; None if there are none."""
        if not self.stop.split():
            return None
        (data, offsets), lexicon = pack_strings(self.stop.split()), kernels.active.Lexicon()
        rules = self.rules._replace(longest=1, shortest=1, min_length=1, max_length=0, characters=0)
        lexicon.tokenise(offsets, data, None, 0, len(offsets) - 1, rules, None, True)
        return lexicon

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Bag], codes: Codes32, n_classes: int, weights: Weights
    ) -> TokenTally:
        """Add up occurrences, documents and logarithms of tokens, and count documents by length."""
        tokens, lengths = {}, []
        for name, bag in zip(features, columns, strict=True):
            bag = bag.expanded()
            bag_codes = codes if bag.present is None else np.where(bag.present, codes, np.int32(-1))
            bag_codes = np.ascontiguousarray(bag_codes, np.int32)
            if weights is None:
                tokens[name], length = self._count(bag, bag_codes, n_classes)
            else:
                tokens[name], length = count_weighted_documents(bag, bag_codes, n_classes, weights, unit=self.unit)
            lengths.append(lengths_by_class(name, length, bag_codes, n_classes, weights))
        model = Vocabulary.empty(index_of(self.numbers()), n_classes, TEXT_KINDS)
        return TokenTally(tokens, add_columns(lengths, n_classes), model, self.max_tokens)

    def _count(self, bag: Bag, codes: Codes32, n_classes: int) -> tuple[Vocabulary, Integers]:
        """The sums of a column, and the length of every document that is counted."""
        index, used = index_of(bag.keys), None
        indices: Indices = np.ascontiguousarray(bag.indices, np.int32)
        indptr, amounts, n_tokens = np.ascontiguousarray(bag.indptr, np.int64), integer_amounts(bag), len(index)
        if index.is_hashed:  # of many buckets a batch may use few
            used, indices = np.unique(indices, return_inverse=True)
            n_tokens, indices = len(used), indices.astype(np.int32)

        def add_up(first: int, last: int) -> Any:
            return kernels.active.sum_documents(
                indptr, indices, amounts, codes, n_classes, n_tokens, self.unit, first, last
            )

        (entries, sums, totals, lengths), *others = in_threads(
            add_up, n_classes, small=0 if len(indices) > SMALL else n_classes
        )
        for more_entries, more_sums, more_totals, more_lengths in others:
            entries, sums = kernels.active.merge_cells(entries, sums, more_entries, more_sums)
            totals, lengths = totals + more_totals, np.maximum(lengths, more_lengths)
        if used is not None:
            entries = used[entries >> CLASS_BITS].astype(np.int64) << CLASS_BITS | (entries & CLASS_MASK)
        table, whole = (dict(zip(TEXT_KINDS, map(Exact.whole, part), strict=True)) for part in (sums, totals))
        return Vocabulary(index, EntryStore(n_classes, TEXT_KINDS, EntryTable(entries, table)), whole), lengths

    def observe_shares(self, features: tuple[str, ...], columns: Sequence[Bag], shares: Floats) -> TokenTally:
        """The same by products of matrices, where shares are short: a row of many classes is counted as one."""
        if not are_short(shares):
            return super().observe_shares(features, columns, shares)
        tokens, lengths = {}, []
        for name, bag in zip(features, columns, strict=True):
            tokens[name], length = count_shared_documents(name, bag.expanded(), shares, unit=self.unit)
            lengths.append(length)
        model = Vocabulary.empty(index_of(self.numbers()), shares.shape[1], TEXT_KINDS)
        return TokenTally(tokens, add_columns(lengths, shares.shape[1]), model, self.max_tokens)

    def example(self, rng: np.random.Generator, n: int) -> Bag:
        """Random texts, with missing values."""
        words = ["cash", "lunch", "prize", "office", "2026", "prix"]
        texts = [" ".join(rng.choice(words, size=size)) for size in rng.integers(0, 6, n)]
        missing, numbers, (data, offsets) = rng.random(n) < 0.2, self.numbers(), pack_strings(texts)
        ends, tokens, amounts = numbers.tokenise(offsets, data, ~missing, 0, n, self.rules, self.stop_words(), True)
        return Bag(ends, tokens, amounts, numbers, ~missing)

    # Predicting

    @property
    def options(self) -> TokenOptions:
        """Its options for scoring; defaults for those that are still to be selected."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(TokenOptions)}
        if self.tf == "auto":
            options["tf"] = "log" if self.variant == "auto" else "count"
        if self.variant == "auto":
            options |= {
                "variant": "counts",
                "scored_ngrams": self.scored_ngrams or int(self.ngrams == 0 < self.longest - 1),
            }
        return TokenOptions(**options)

    def prior(self, tally: TokenTally, smoothing: Smoothing) -> TokenPrior:
        """Dirichlet(k) (presence: Beta(k, k)): k as given, as selected, or before that a default."""
        default = _UNDECIDED_K if self.variant == "auto" else 1.0
        k = smoothing if smoothing != "auto" else default if self.k == "auto" else self.k
        return TokenPrior(np.full(len(tally.features), float(k)))

    def strengths(self, tally: TokenTally, smoothing: Smoothing) -> list[Strength]:
        """Laplace's k, which is never selected by evidence."""
        return [Strength(k) for k in self.prior(tally, smoothing).k.tolist()]

    def predictive(self, tally: TokenTally, prior: TokenPrior) -> TextPredictive:
        """Posterior means."""
        return TextPredictive(
            tally.features,
            tally.n_classes,
            tally,
            self.display_name(),
            self.options,
            prior.k,
            prior.held,
            declared=self.declared(),
            tokeniser=self,
        )

    def independence(self, tally: TokenTally, prior: TokenPrior) -> Floats:
        """Of the same without regard to the class, where scores are likelihoods of what is counted."""
        if not self.is_likelihood or (self.variant != "presence" and self.tf != "count"):
            raise UnsupportedError(f"{self.display_name()} is a way of scoring: it has no evidence to compare")
        return super().independence(tally, prior)
