"""Bags of counts: text, sparse matrices, lists, maps.

Three variants, of which the first two share their counts:

    counts      P(t | c) = (n_tc + k) / (n_c + k V); a bag scores sum of amount * log P(t | c), without the
                multinomial coefficient, which no class depends on
    complement  the score is minus that of the other classes' tokens taken together (Rennie et al. 2003): a way of
                scoring and not a likelihood, so it has no evidence, no samples and no log p(x)
    presence    one Bernoulli per token, present or not: P(t | c) = (bags with t + k) / (bags + 2 k)

V is the number of tokens seen so far; a token never seen is silent. "auto" chooses k from 2**-10 .. 2**5 by evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from tallybayes.arrays.column import Bag, Column, Key
from tallybayes.arrays.special import gammaln
from tallybayes.errors import ParameterError, UnsupportedError
from tallybayes.families.bag_counts import add_columns, counted_lengths, counted_tokens, each_once
from tallybayes.families.bag_leave_one_out import Presence, check_learned, in_rows, tokens_left_out
from tallybayes.families.bag_scores import Absence, score_bags
from tallybayes.families.credible import (
    absence_cumulants,
    bag_cumulants,
    beta_interval,
    check_posterior,
    presence_cumulants,
    with_ends,
)
from tallybayes.families.family import Codes32, Family, Floats, Predictive, Score, Smoothing
from tallybayes.families.shrinkage import by_group, dirichlet_evidence_of, laplace
from tallybayes.tally import Bags

__all__ = ["BagPredictive", "Multinomial", "MultinomialPrior", "beta_evidence"]

STRENGTHS = 2.0 ** np.arange(-10, 6)
Variant = Literal["counts", "complement", "presence"]


@dataclass(frozen=True, eq=False)
class MultinomialPrior:
    """Laplace's k for each column."""

    k: Floats


@dataclass(frozen=True)
class Multinomial(Family[Bags, MultinomialPrior]):
    """Tokens with amounts.

    >>> bag = Bag(np.array([0, 2, 3]), np.array([0, 1, 1]), None, ["cash", "lunch"])
    >>> tally = Multinomial().observe(("mail",), [bag], np.array([0, 1], np.int32), 2, None)
    >>> np.exp(Multinomial().derive(tally, 1.0).log_prob([bag])).round(3).tolist()
    [[0.25, 0.222], [0.5, 0.667]]
    """

    variant: Variant = "counts"

    name: ClassVar[str] = "multinomial"
    column: ClassVar[type[Column]] = Bag
    takes_smoothing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.variant not in ("counts", "complement", "presence"):
            raise ParameterError("a variant of multinomial: 'counts', 'complement' or 'presence'", got=self.variant)

    @property
    def is_likelihood(self) -> bool:
        """Whether scores are log likelihoods of the bags."""
        return self.variant != "complement"

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Bag], codes: Codes32, n_classes: int, weights: Floats | None
    ) -> Bags:
        """Add up amounts of tokens and count bags by length."""
        tokens, lengths = [], []
        for name, bag in zip(features, columns, strict=True):
            if self.variant == "presence" and bag.amounts is not None:
                bag = Bag(
                    bag.indptr, bag.indices, (bag.amounts != 0).astype(np.float64), bag.keys, bag.present, bag.rows
                )
            own_codes = codes if bag.present is None else np.where(bag.present, codes, np.int32(-1))
            bag, own_codes, own_weights = each_once(bag, own_codes, n_classes, weights)
            tokens.append(counted_tokens(name, bag, own_codes, n_classes, own_weights))
            lengths.append(counted_lengths(name, bag, own_codes, n_classes, own_weights))
        return Bags(*(add_columns(parts, n_classes) for parts in (tokens, lengths)))

    def prior(self, tally: Bags, smoothing: Smoothing) -> MultinomialPrior:
        """Dirichlet(k) (presence: Beta(k, k)), k by evidence for "auto"."""
        n = len(tally.features)
        if smoothing != "auto":
            return MultinomialPrior(np.full(n, float(smoothing)))
        log_evidence = np.stack([self._evidence(tally, MultinomialPrior(np.full(n, k))) for k in STRENGTHS[::-1]])
        return MultinomialPrior(STRENGTHS[::-1][log_evidence.argmax(axis=0)])

    def predictive(self, tally: Bags, prior: MultinomialPrior) -> BagPredictive:
        """Posterior means."""
        return BagPredictive(tally.features, tally.n_classes, tally, prior, self.variant)

    def plug_in(self, tally: Bags) -> BagPredictive:
        """Frequencies."""
        return self.predictive(tally, MultinomialPrior(np.zeros(len(tally.features))))

    def left_out(
        self, tally: Bags, prior: MultinomialPrior | None, columns: Sequence[Bag], codes: Codes32, weights: Any
    ) -> list[Score]:
        """In closed form."""
        if prior is None or not ((prior.k > 0) & (prior.k < np.inf)).all():
            return super().left_out(tally, prior, columns, codes, weights)
        own = np.ones(len(codes)) if weights is None else weights
        pairs = zip(tally.features, columns, prior.k.tolist(), strict=True)
        return [self._one_left_out(tally, name, bag, codes, own, k) for name, bag, k in pairs]

    def _one_left_out(self, tally: Bags, name: str, bag: Bag, codes: Codes32, weights: Floats, k: float) -> Score:
        bag = bag.expanded()
        kept = np.ones(len(bag.indices), bool) if bag.amounts is None else bag.amounts != 0
        used, indices = np.unique(bag.indices[kept], return_inverse=True)
        ends = np.concatenate([[0], np.cumsum(kept)])[bag.indptr].astype(np.int64)
        amounts = np.ones(len(indices))
        if bag.amounts is not None and self.variant != "presence":
            amounts = bag.amounts[kept].astype(np.float64)
        table = tally.tokens.table(name, [bag.keys[i] for i in used.tolist()])
        whole, totals, n_keys = table.sum(axis=1), tally.tokens.totals[name].floats(), tally.tokens.n_keys(name)
        plain = Bag(ends, indices.astype(np.int32), amounts, range(len(used)))
        check_learned(name, plain, amounts, table, codes, weights)
        slot, klass, amount = tally.tokens.entries()
        mine = tally.tokens.owners()[slot] == tally.features.index(name) if len(slot) else np.zeros(0, bool)
        presence = Presence(klass[mine], amount[mine], n_keys, tally.n_bags(name).floats())

        def score(out: Floats, start: int, stop: int) -> None:
            part, rows = in_rows(plain, slice(start, stop)), slice(start, stop)
            if self.variant == "presence":
                scores = presence.scores(table, part, codes[rows], weights[rows], k)
            else:
                scores = tokens_left_out(
                    table,
                    whole,
                    totals,
                    float(n_keys),
                    part.indptr,
                    part.indices,
                    part.amounts,
                    part.amounts,
                    codes[rows],
                    weights[rows],
                    k,
                    self.variant == "complement",
                )
            out[rows] += scores if bag.present is None else np.where(bag.present[rows, None], scores, 0.0)

        return score

    def evidence(self, tally: Bags, prior: MultinomialPrior) -> Floats:
        """Of the tokens given the classes (without the multinomial coefficients)."""
        if self.variant == "complement":
            raise UnsupportedError("complement is a way of scoring, not a likelihood: it has no evidence")
        return self._evidence(tally, prior)

    def _evidence(self, tally: Bags, prior: MultinomialPrior) -> Floats:
        slot, klass, amount = tally.tokens.entries()
        owner = tally.tokens.owners()[slot] if len(slot) else slot
        result = np.zeros(len(tally.features))
        for j, name in enumerate(tally.features):
            k, mine, v = float(prior.k[j]), owner == j, tally.tokens.n_keys(name)
            n, bags = tally.tokens.totals[name].floats(), tally.n_bags(name).floats()
            n_tc, c = amount[mine], klass[mine]
            if self.variant == "presence":
                result[j] = beta_evidence(n_tc, c, bags, v, k)
            else:
                result[j] = dirichlet_evidence_of(n_tc, n, v, k)
        return result


@dataclass(frozen=True, eq=False)
class BagPredictive(Predictive):
    """Log weights of tokens, worked out for the tokens that a batch holds (valid until the tally changes)."""

    features: tuple[str, ...]
    n_classes: int
    tally: Bags
    prior: MultinomialPrior
    variant: Variant
    _tables: dict[tuple[int, range], Floats] = field(default_factory=dict, repr=False)

    def log_table(self, number: int, keys: Sequence[Key]) -> Floats:
        """What one occurrence of each token adds, (tokens, classes); zero for tokens never seen."""
        name, k = self.features[number], float(self.prior.k[number])
        counts = self.tally.tokens.table(name, keys)
        known = counts.sum(axis=1, keepdims=True) > 0
        v = self.tally.tokens.n_keys(name)
        if self.variant == "presence":
            log_yes, log_no = self._log_presence(number, counts)
            return np.where(known, log_yes - np.where(np.isinf(log_no), 0.0, log_no), 0.0)
        n = self.tally.tokens.totals[name].floats()
        if self.variant == "complement":
            counts, n = counts.sum(axis=1, keepdims=True) - counts, n.sum() - n
            return np.where(known, -laplace(counts, n, k, v), 0.0)
        return np.where(known, laplace(counts, n, k, v), 0.0)

    def _log_presence(self, number: int, counts: Floats) -> tuple[Floats, Floats]:
        """Log probability that a token is there and that it is not, (tokens, classes)."""
        bags, k = self.tally.n_bags(self.features[number]).floats(), float(self.prior.k[number])
        return laplace(counts, bags, k, 2), laplace(bags - counts, bags, k, 2)

    def _absent(self, number: int) -> tuple[Floats, Floats]:
        """Per class: the log probability that no token is there, and how many tokens every bag of it had (k = 0)."""
        name = self.features[number]
        slot, klass, amount = self.tally.tokens.entries()
        mine = self.tally.tokens.owners()[slot] == number if len(slot) else np.zeros(0, bool)
        bags, k = self.tally.n_bags(name).floats(), float(self.prior.k[number])
        c = klass[mine]
        seen = laplace(bags[c] - amount[mine], bags[c], k, 2)
        never = laplace(bags, bags, k, 2)
        n_seen = np.bincount(c, minlength=self.n_classes)
        total = by_group(c, np.where(np.isinf(seen), 0.0, seen), self.n_classes)
        certain = np.bincount(c, weights=np.isinf(seen), minlength=self.n_classes)
        return total + (self.tally.tokens.n_keys(name) - n_seen) * never, np.asarray(certain, np.float64)

    def _whole_table(self, number: int, keys: range) -> Floats:
        """The table for all columns of a matrix, which come again and again: worked out once."""
        found = self._tables.get((number, keys))
        if found is None:
            found = self._tables[number, keys] = self.log_table(number, keys)
        return found

    takes_sparse_matrix: ClassVar[bool] = True

    def bind(self, columns: Sequence[Column]) -> Score:
        """Get ready to score bags."""
        scores = [self._bind_one(j, column) for j, column in enumerate(columns) if isinstance(column, Bag)]

        def score(out: Floats, start: int, stop: int) -> None:
            for one in scores:
                one(out, start, stop)

        return score

    def _bind_one(self, number: int, bag: Bag) -> Score:
        bag = bag.expanded()
        indices, keys = bag.indices, bag.keys
        if len(indices) * 4 < len(keys):  # a few rows of a wide matrix: look at the tokens they hold
            used, indices = np.unique(indices, return_inverse=True)
            keys = [keys[i] for i in used.tolist()]
            indices = indices.astype(np.int64)
        amounts, presence = bag.amounts, self.variant == "presence"
        if presence and amounts is not None:
            amounts = (amounts != 0).astype(np.float64)
        table = self._whole_table(number, keys) if isinstance(keys, range) else self.log_table(number, keys)
        if not presence:
            return score_bags(bag, indices, amounts, table)
        log_none, n_certain = self._absent(number)
        certain = None
        if n_certain.any():
            counts = self.tally.tokens.table(self.features[number], keys)
            certain = np.isinf(self._log_presence(number, counts)[1]).astype(np.float64)
        return score_bags(bag, indices, amounts, table, Absence(log_none, n_certain, certain))

    def part(self, number: int) -> BagPredictive:
        """One column."""
        name = self.features[number]
        prior = MultinomialPrior(self.prior.k[number : number + 1])
        return BagPredictive((name,), self.n_classes, self.tally.only((name,)), prior, self.variant)

    def log_prob(self, columns: Sequence[Column]) -> Floats:
        """Log likelihood of each row under each class, (rows, classes)."""
        if self.variant == "complement":
            raise UnsupportedError("complement is a way of scoring, not a likelihood: it has no log_prob")
        return super().log_prob(columns)

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Bags as dicts of token and amount (presence: lists of tokens), with lengths drawn from those seen."""
        if self.variant == "complement":
            raise UnsupportedError("complement is a way of scoring, not a likelihood: it has no samples")
        result: list[Any] = []
        for j, name in enumerate(self.features):
            keys = self.tally.tokens.keys(name)
            counts = self.tally.tokens.table(name, keys)
            if self.variant == "presence":
                there = rng.random((n, len(keys))) < np.exp(self._log_presence(j, counts)[0][:, code])
                result.append([[keys[i] for i in np.flatnonzero(row)] for row in there])
                continue
            p = np.exp(self.log_table(j, keys)[:, code])
            sizes = self.tally.lengths.keys(name)
            share = self.tally.lengths.table(name, sizes)[:, code] if sizes else np.zeros(0)
            if not len(keys) or share.sum() == 0 or p.sum() == 0:
                result.append([{}] * n)
                continue
            drawn = rng.choice(len(sizes), size=n, p=share / share.sum())
            amounts = (rng.multinomial(int(sizes[i]), p / p.sum()) for i in drawn)
            result.append([{keys[i]: int(a[i]) for i in np.flatnonzero(a)} for a in amounts])
        return result

    def table(self) -> list[dict[str, Any]]:
        """The tokens that speak most for each class, ten of those it has had, with their probability (or weight)."""
        rows = []
        for j, name in enumerate(self.features):
            keys = self.tally.tokens.keys(name)
            counts, log_w = self.tally.tokens.table(name, keys), self.log_table(j, keys)
            if not len(keys) or not self.n_classes:
                continue
            shown = self._log_presence(j, counts)[0] if self.variant == "presence" else log_w
            value = log_w if self.variant == "complement" else np.exp(shown)
            with np.errstate(invalid="ignore"):
                lead = np.nan_to_num(log_w - log_w.mean(axis=1, keepdims=True), nan=0.0, posinf=1e9, neginf=-1e9)
            what = "complement weight" if self.variant == "complement" else "P(token)"
            order = np.argsort(-lead, axis=0, kind="stable")
            best = [[i for i in order[:, c].tolist() if counts[i, c] > 0][:10] for c in range(self.n_classes)]
            chosen = dict.fromkeys(i for own in best for i in own)  # each class is told about the others' tokens too
            rows += [
                {"column": name, "class": c, "token": keys[i], what: float(value[i, c])}
                for c in range(self.n_classes)
                for i in chosen
            ]
        return rows

    def _posterior(self, number: int, keys: Sequence[Key]) -> tuple[Floats, Floats]:
        """Alpha of tokens, (tokens, classes), and what a bag's tokens (presence: yes and no) add up to, (classes,)."""
        name, k = self.features[number], float(self.prior.k[number])
        check_posterior(k > 0, name)
        counts = self.tally.tokens.table(name, keys)
        if self.variant == "presence":
            return counts + k, self.tally.n_bags(name).floats() + 2 * k
        n, n_keys = self.tally.tokens.totals[name].floats(), self.tally.tokens.n_keys(name)
        if self.variant == "complement":
            counts, n = counts.sum(axis=1, keepdims=True) - counts, n.sum() - n
        return counts + k, n + k * n_keys

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Of the probabilities of the tokens that `table` shows; none of weights that are no probabilities."""
        rows: list[dict[str, Any]] = []
        for j in range(len(self.features) if self.variant != "complement" else 0):
            own = self.part(j).table()
            keys = list(dict.fromkeys(row["token"] for row in own))
            rows += with_ends(own, keys, *beta_interval(*self._posterior(j, keys), level))
        return rows

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Of a Dirichlet, or of one Beta for each token."""
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for j, bag in enumerate(column.expanded() for column in columns if isinstance(column, Bag)):
            result += self._cumulants_of(j, bag)
        return result

    def _cumulants_of(self, number: int, bag: Bag) -> Floats:
        if np.isinf(self.prior.k[number]):
            return np.zeros((3, len(bag), self.n_classes))
        used, indices = np.unique(bag.indices, return_inverse=True)
        keys = [bag.keys[i] for i in used.tolist()]
        name, (alpha, total) = self.features[number], self._posterior(number, keys)
        amounts = np.ones(len(indices)) if bag.amounts is None else bag.amounts.astype(np.float64)
        known = np.asarray(self.tally.tokens.table(name, keys).any(axis=1))
        amounts = np.where(known[indices], amounts, 0.0)
        if self.variant != "presence":
            own = bag_cumulants(bag, indices, amounts, alpha, total)
            return own * [[[-1]], [[1]], [[-1]]] if self.variant == "complement" else own
        slot, klass, amount = self.tally.tokens.entries()
        mine = self.tally.tokens.owners()[slot] == number if len(slot) else np.zeros(0, bool)
        k, n_tokens = float(self.prior.k[number]), self.tally.tokens.n_keys(name)
        bags = self.tally.n_bags(name).floats()
        absent = absence_cumulants(amount[mine], klass[mine], n_tokens, bags, k)
        return presence_cumulants(bag, indices, amounts, alpha, total, absent)


def beta_evidence(seen: Floats, klass: np.ndarray, bags: Floats, n_tokens: int, k: float) -> float:
    """Log evidence of presence under Beta(k, k) for every token and class, tokens never seen in a class included."""
    if np.isinf(k):
        return float(-n_tokens * bags.sum() * np.log(2.0))
    base = gammaln(2 * k) - gammaln(2 * k + bags)
    never = base + gammaln(bags + k) - gammaln(k)
    some = base[klass] + gammaln(seen + k) + gammaln(bags[klass] - seen + k) - 2 * gammaln(k)
    n_seen = np.bincount(klass, minlength=len(bags))
    return float(np.sort(some).sum() + ((n_tokens - n_seen) * never).sum())
