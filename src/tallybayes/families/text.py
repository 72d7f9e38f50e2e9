"""Text: documents split into tokens, and multinomials over tokens.

One tally serves every option: occurrences, documents and logarithms of occurrences per token and class
(`tallybayes.tally.vocabulary`). These options decide how the sums become weights (`families/token_weights.py`):

    tf        the amount of a token that occurs n times in a document: "count" n, "once" 1 (Wang and Manning 2012),
              "log" log(1 + n), scaled so that each document has length one unless unit=False (Rennie et al. 2003)
    variant   "counts"      P(t | c) = (n_tc + k) / (n_c + k V): a multinomial
              "complement"  minus the multinomial of the other classes together (Rennie et al. 2003): a way of scoring
              "presence"    one Bernoulli per token, present or absent: absent tokens contribute too
    idf       tokens are weighted by log(documents / documents with the token), in the sums and in a document
    balanced  the weights of every class are scaled to the same sum of absolute values (Rennie's weight normalisation)

With variant="auto", the default, `families/text_variant.py` selects variant, tf and k by leave-one-out. A token never
seen contributes nothing. Three caps make a filter harder to fool; they are off by default:

    cap       the most that one token, however often it occurs, may add to the log odds of two classes
    top       only this many tokens of a document count: those that add most
    length    a longer document counts as if it had this many tokens
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Indices, Integers, Weights
from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.column import Bag
from tallybayes.arrays.token_rules import Rules, packed
from tallybayes.errors import Described, ParameterError, UnsupportedError, check_integer
from tallybayes.families.bag_counts import add_columns, lengths_by_class
from tallybayes.families.family import Codes32, Family, Floats, Smoothing
from tallybayes.families.text_predictive import TextPredictive
from tallybayes.families.token_family import TokenFamily, TokenPrior
from tallybayes.families.token_weights import TokenOptions, integer_amounts
from tallybayes.tally import Exact, TokenTally, Vocabulary
from tallybayes.tally.cell_store import CLASS_BITS, CLASS_MASK, CellStore, CellTable
from tallybayes.tally.key_index import index_of
from tallybayes.tally.vocabulary import TEXT_KINDS

__all__ = ["Text"]

_CHOICES = {
    "variant": ("auto", "counts", "complement", "presence"),
    "tf": ("auto", "count", "once", "log"),
    "tokens": ("words", "characters"),
    "case": ("fold", "lower", "keep"),
    "accents": ("keep", "fold"),
    "digits": ("keep", "fold"),
    "words": ("unicode", "python"),
}
_FROM_1 = ("ngrams", "shortest", "min_length", "min_count")  # integers from 1 on
_FROM_0 = ("max_length", "max_tokens", "buckets", "top", "length")
_UNDECIDED = ("counts", "log", 0.1)  # variant, tf and k until there are enough documents to select them
_KEY = re.compile("[0-9a-f]{32}")
_SCORING = ("variant", "tf", "k", "idf", "balanced", "min_count", "cap", "top", "length")  # no effect on the sums


@dataclass(frozen=True)
class Text(TokenFamily):
    r"""Documents. Besides the options above, these decide what is a token and how many are kept.

    ngrams, shortest: word n-grams from `shortest` to `ngrams` words; of characters with tokens="characters".
    case: "fold", "lower" or "keep"; accents, digits: "keep", or "fold" (é is e; every digit is 0).
    addresses: URLs and e-mail addresses are kept whole.
    words: "unicode" words may contain combining accents and vowel signs, and invisible characters are dropped; "python"
    words are what \w+ matches.
    min_length, max_length: of words, in characters (max_length 0: any).
    stop: words to be ignored, separated by blanks.
    min_count: tokens that occur less often contribute nothing.
    max_tokens: if there are more, the rarest are counted together (0: no limit).
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
    ngrams: int = 1
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
    buckets: int = 0
    key: str = dataclasses.field(default="", repr=False)
    cap: float = 0.0
    top: int = 0
    length: int = 0

    name: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        for option, choices in _CHOICES.items():
            if getattr(self, option) not in choices:
                wanted = f"{option} of text: {', '.join(map(repr, choices))}"
                raise ParameterError(wanted, got=getattr(self, option))
        for option in (*_FROM_1, *_FROM_0):
            check_integer(f"{option} of text", getattr(self, option), at_least=int(option in _FROM_1))
        for option in ("unit", "idf", "balanced", "addresses"):
            if not isinstance(given := getattr(self, option), (bool, np.bool_)):
                raise ParameterError(f"{option} of text: True or False", got=given)
        if isinstance(self.cap, bool) or not isinstance(self.cap, (int, float)) or not 0 <= self.cap < math.inf:
            raise ParameterError("cap of text: a number of at least 0 (0: no cap)", got=self.cap)
        if self.shortest > self.ngrams:
            raise ParameterError(f"n-grams from shortest={self.shortest} up", got=Described(f"ngrams={self.ngrams}"))
        if 0 < self.max_length < self.min_length:
            raise ParameterError(
                f"words from min_length={self.min_length} up", got=Described(f"max_length={self.max_length}")
            )
        for option, most in (("ngrams", 16), ("buckets", 2**22)):
            if getattr(self, option) > most:
                raise ParameterError(f"{option} of text: at most {most}", got=getattr(self, option))
        if self.max_tokens == 1:
            raise ParameterError("max_tokens of text: 0 (no limit), or 2 and more", got=1)
        if self.variant == "presence" and (self.idf or self.balanced):
            raise ParameterError("idf and balanced only with the variants counts and complement", got="presence")
        self._settle("k", _strength(self.k))
        self._settle("stop", _stop_words(self.stop))
        if self.buckets and self.key == "":
            self._settle("key", secrets.token_hex(16))
        if self.key != "" and not (self.buckets and isinstance(self.key, str) and _KEY.fullmatch(self.key)):
            raise ParameterError("a key of 32 hexadecimal digits, for buckets", got=Described("something else"))

    def _settle(self, option: str, value: object) -> None:
        object.__setattr__(self, option, value)

    # Counting

    @property
    def counted(self) -> Text:
        """The family without the options that only affect scoring."""
        default = {field.name: field.default for field in dataclasses.fields(self)}
        return dataclasses.replace(self, **{name: default[name] for name in _SCORING})  # type: ignore[arg-type]

    def display_name(self) -> str:
        """The string form without the secret key."""
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

    def is_open(self, smoothing: Smoothing) -> bool:
        """Whether variant, tf or k are "auto"; not with k = 0, where a single word can rule out every class."""
        k = self.k if smoothing == "auto" else smoothing
        return k == "auto" or (self.variant == "auto" and 0 < float(k) < math.inf)

    def alternatives(self, given: Family | None) -> Iterator[Text]:
        """Other variants, tf and k, unless these were given."""
        own = given if isinstance(given, Text) else Text()
        strengths = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0) if own.k == "auto" else (own.k,)
        for (variant, tf), k in itertools.product(own.variants(), strengths):
            yield dataclasses.replace(self, variant=variant, tf=self.tf if tf == "auto" else tf, k=k)

    def variants(self) -> Iterator[tuple[str, str]]:
        """The variant and tf, all that can be selected where they are "auto", the simplest first."""
        variants = ("counts", "complement") if self.variant == "auto" else (self.variant,)
        tfs = ("count", "once", "log") if self.tf == "auto" and self.variant != "presence" else (self.tf,)
        return itertools.product(variants, tfs)

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
            longest=self.ngrams,
            min_length=self.min_length,
            max_length=self.max_length,
        )

    def numbers(self) -> Any:
        """A new lexicon, which numbers tokens, or the buckets of the hash."""
        if self.buckets:
            return kernels.active.Buckets(bytes.fromhex(self.key), self.buckets)
        return kernels.active.Lexicon()

    def stop_words(self) -> Any:
        """The words to be ignored, normalised as words of a text are; None if there are none."""
        if not self.stop.split():
            return None
        (data, offsets), lexicon = packed(self.stop.split()), kernels.active.Lexicon()
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
            own_codes = codes if bag.present is None else np.where(bag.present, codes, np.int32(-1))
            own_codes = np.ascontiguousarray(own_codes, np.int32)
            if weights is None:
                tokens[name], length = self._counted(bag, own_codes, n_classes)
            else:
                tokens[name], length = self._weighted(bag, own_codes, n_classes, weights)
            lengths.append(lengths_by_class(name, length, own_codes, n_classes, weights))
        model = Vocabulary.empty(index_of(self.numbers()), n_classes, TEXT_KINDS)
        return TokenTally(tokens, add_columns(lengths, n_classes), model, self.max_tokens)

    def _counted(self, bag: Bag, codes: Codes32, n_classes: int) -> tuple[Vocabulary, Integers]:
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

        (cells, sums, totals, lengths), *others = in_threads(
            add_up, n_classes, small=0 if len(indices) > SMALL else n_classes
        )
        for more_cells, more_sums, more_totals, more_lengths in others:
            cells, sums = kernels.active.merge_cells(cells, sums, more_cells, more_sums)
            totals, lengths = totals + more_totals, np.maximum(lengths, more_lengths)
        if used is not None:
            cells = used[cells >> CLASS_BITS].astype(np.int64) << CLASS_BITS | (cells & CLASS_MASK)
        table, whole = (dict(zip(TEXT_KINDS, map(Exact.whole, part), strict=True)) for part in (sums, totals))
        return Vocabulary(index, CellStore(n_classes, TEXT_KINDS, CellTable(cells, table)), whole), lengths

    def _weighted(self, bag: Bag, codes: Codes32, n_classes: int, weights: Floats) -> tuple[Vocabulary, Integers]:
        """The same for documents with weights."""
        amounts, row = integer_amounts(bag), np.repeat(np.arange(len(codes)), np.diff(bag.indptr))
        kept = (codes[row] >= 0) & (weights[row] > 0)
        own = bag.indices[: len(row)][kept].astype(np.int64) << CLASS_BITS | codes[row[kept]]
        cells, group = np.unique(own, return_inverse=True)
        logs = kernels.active.log_amounts(np.ascontiguousarray(bag.indptr, np.int64), amounts, self.unit)
        values = (part[kept].astype(np.float64) for part in (amounts, np.ones_like(amounts), logs))
        sums = {
            kind: Exact.summed(part, group, len(cells), weights=weights[row[kept]])
            for kind, part in zip(TEXT_KINDS, values, strict=True)
        }
        store = CellStore(n_classes, TEXT_KINDS, CellTable(cells, sums))
        return Vocabulary(index_of(bag.keys), store), np.bincount(row, amounts, len(codes)).astype(np.int64)

    def example(self, rng: np.random.Generator, n: int) -> Bag:
        """Random texts, with missing values."""
        words = ["cash", "lunch", "prize", "office", "2026", "prix"]
        texts = [" ".join(rng.choice(words, size=size)) for size in rng.integers(0, 6, n)]
        missing, numbers, (data, offsets) = rng.random(n) < 0.2, self.numbers(), packed(texts)
        ends, tokens, amounts = numbers.tokenise(offsets, data, ~missing, 0, n, self.rules, self.stop_words(), True)
        return Bag(ends, tokens, amounts, numbers, ~missing)

    # Predicting

    @property
    def options(self) -> TokenOptions:
        """Its options for scoring; defaults for those that are still to be selected."""
        variant, tf = _UNDECIDED[:2] if self.variant == "auto" else (self.variant, "count")
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(TokenOptions)}
        return TokenOptions(**given | {"variant": variant, "tf": tf if self.tf == "auto" else self.tf})

    def prior(self, tally: TokenTally, smoothing: Smoothing) -> TokenPrior:
        """Dirichlet(k) (presence: Beta(k, k)): k as given, as selected, or before that a default."""
        default = _UNDECIDED[2] if self.variant == "auto" else 1.0
        k = smoothing if smoothing != "auto" else default if self.k == "auto" else self.k
        return TokenPrior(np.full(len(tally.features), float(k)))

    def predictive(self, tally: TokenTally, prior: TokenPrior) -> TextPredictive:
        """Posterior means."""
        return TextPredictive(
            tally.features, tally.n_classes, tally, self.display_name(), self.options, prior.k, tokeniser=self
        )

    def independence(self, tally: TokenTally, prior: TokenPrior) -> Floats:
        """Of the same without regard to the class, where scores are likelihoods of what is counted."""
        if not self.is_likelihood or (self.variant != "presence" and self.tf != "count"):
            raise UnsupportedError(f"{self.display_name()} is a way of scoring: it has no evidence to compare")
        return super().independence(tally, prior)


def _stop_words(given: Any) -> str:
    """Stop words separated by blanks, from text or from a list."""
    words = given.replace(",", " ").split() if isinstance(given, str) else given
    words = list(words) if isinstance(words, Iterable) else [words]
    if words == ["english"]:
        hint = "there is no built-in list: give the words themselves; common words have small weights anyway"
        raise ParameterError("stop words of text", got=given, hint=hint)
    if not all(isinstance(word, str) and "=" not in word for word in words):
        raise ParameterError("stop words of text: words separated by blanks, or a list of words", got=given)
    return " ".join(words)


def _strength(k: Any) -> float | str:
    if k == "auto":
        return "auto"
    try:
        value = float(k)
    except (TypeError, ValueError):
        value = -1.0
    if isinstance(k, bool) or not 0 <= value <= 1e100:
        raise ParameterError("k of text: 'auto' or a number from 0 to 1e100", got=k)
    return value
