"""The predictive of text: documents scored by their tokens, and what each token of a document contributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tallybayes.arrays.column import Bag, Key
from tallybayes.arrays.token_rules import Tokeniser
from tallybayes.families.predictive import Floats, TokenEvidence
from tallybayes.families.tokens.token_predictive import TokenPredictive
from tallybayes.kernels.token_spans import spans

__all__ = ["TextPredictive"]


@dataclass(frozen=True, eq=False)
class TextPredictive(TokenPredictive):
    """Documents scored by their tokens."""

    takes_sparse_matrix: ClassVar[bool] = False

    tokeniser: Tokeniser | None = None

    def lexicon(self, feature: str) -> Any:
        """The lexicon of its vocabulary."""
        return self.tally.lexicon(feature)

    @property
    def tokens_interact(self) -> bool:
        """Whether what a token adds depends on the absence, number or length of the others."""
        options, buckets = self.options, any(column.words.index.is_hashed for column in self.columns.values())
        scaled = options.tf == "log" and options.unit
        shared = buckets and options.tf != "count"  # tokens in one bucket are one
        return options.variant == "presence" or scaled or shared or bool(options.top or options.length)

    def words_of(self, name: str, text: bytes) -> list[TokenEvidence]:
        """The tokens of a document that contribute to its score, in order of first occurrence; they add up to it.

        Where absent tokens contribute too (presence), the last entry has no token and stands for all of them.
        """
        assert self.tokeniser is not None
        column = self.columns[name]
        places: dict[str, list[tuple[int, int]]] = {}
        for token, start, stop in spans(text, self.tokeniser.rules, self.tokeniser.stop_words()):
            places.setdefault(token, []).append((start, stop))
        lexicon = column.words.index.lexicon
        tokens: dict[int, list[str]] = {}  # several of them may be in one bucket
        for token in places:
            tokens.setdefault(lexicon.number(token), []).append(token)
        tokens.pop(-1, None)
        times = [sum(len(places[token]) for token in group) for group in tokens.values()]
        ends, numbers = np.array([0, len(tokens)]), np.fromiter(tokens, np.int32, len(tokens))
        bag = column.known(Bag(ends, numbers, np.array(times, np.int32), lexicon))
        slots = bag.indices.astype(np.int64)
        weights, amounts = column.weights_and_amounts(bag, np.arange(len(slots)), slots)
        added = weights if amounts is None else np.where(amounts[:, None] == 0, 0.0, amounts[:, None] * weights)
        result = []
        for slot, part in zip(slots.tolist(), added, strict=True):
            every = sum(len(places[token]) for token in tokens[slot])
            result += [TokenEvidence(t, part * (len(places[t]) / every), tuple(places[t])) for t in tokens[slot]]
        if not column.is_presence:
            return result
        score = np.zeros((1, self.n_classes))
        column.bind_known(bag)(score, 0, 1)
        return [*result, TokenEvidence("", np.where(np.isinf(score[0]), score[0], score[0] - added.sum(axis=0)))]

    def note(self, number: int) -> str:
        """How many tokens there are, and how many occurrences are pooled."""
        words = self.columns[self.features[number]].words
        if words.index.is_hashed:
            return f"{words.n_keys:,} of {len(words.index):,} buckets in use"
        pooled = words.pooled("counts").sum()
        if not pooled:
            return f"{words.n_keys:,} tokens"
        return f"{words.n_keys - 1:,} tokens; {pooled:,.0f} occurrences of rarer ones are counted together"

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Texts: tokens with blanks between them, as many as texts seen had."""
        return [[" ".join(map(str, tokens)) for tokens in texts] for texts in super().sample(rng, code, n)]

    def _draw_bag(self, rng: np.random.Generator, keys: list[Key], p: Floats, size: Any) -> Any:
        return [keys[i] for i in rng.choice(len(keys), size=size, p=p)] if keys else []
