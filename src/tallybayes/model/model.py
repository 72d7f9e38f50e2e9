"""The model: a schema, a tally of the classes and a tally for every block of columns.

Everything else is derived. `learn` and `forget` change the sums in place, all or nothing: the batch is counted into
tallies of its own, every sum is checked, and only then anything changes. `merge` and `copy` give new models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import kind_of, merged, positions, rough_kind, to_array
from tallybayes.arrays.column import Column
from tallybayes.data.infer import NO_VALUES, propose
from tallybayes.data.label import find_labels
from tallybayes.data.schema import Field, Schema
from tallybayes.data.table import Table, to_table
from tallybayes.errors import DataError, ForgetError, ParameterError, UnsupportedError, shorten
from tallybayes.families import Categorical, Family, Multinomial
from tallybayes.families.base import Floats, Predictive
from tallybayes.model.batch import Batch, check_kinds, encode_columns, read_batch
from tallybayes.model.describe import Description
from tallybayes.model.explain import Explanation, explain
from tallybayes.model.objective import Objective, objective
from tallybayes.model.sample import sample
from tallybayes.model.scorer import Scorer, log_class_prior, log_marginal
from tallybayes.model.settings import Settings
from tallybayes.model.single import SingleRows
from tallybayes.tally import Counts, Exact, Grid, Tally
from tallybayes.tally.base import Commit
from tallybayes.tally.exact import check_counts

__all__ = ["Change", "Model"]


@dataclass(frozen=True)
class Change:
    """What `learn` or `forget` did: rows taken in or back, rows skipped for want of a label, and notes."""

    rows: int
    skipped: int = 0
    notes: tuple[str, ...] = ()


_ONE_ROW = Change(1)


class Model:
    """A naive Bayes model. Made by `tallybayes.fit` or `tallybayes.from_probabilities`.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
    >>> model.predict({"fever": 1}).tolist()
    ['yes']
    >>> model.learn({"fever": 1, "ill": "no"})
    Change(rows=1, skipped=0, notes=())
    """

    def __init__(self, schema: Schema, settings: Settings) -> None:
        self._schema = schema
        self._settings = settings
        self._labels: list[Any] = []
        self._class_rows = Exact.zeros(0)
        self._blocks: dict[Family, Tally] = {}
        self._scorer: Scorer | None = None
        self._single: SingleRows | None = None
        self._written: Scorer | None = None
        self.skipped = 0

    # What the model knows

    @property
    def classes(self) -> list[Any]:
        """The labels in sorted order, of their own type."""
        return self._labels_in_use() if self._written is None else list(self._written.classes)

    @property
    def schema(self) -> Schema:
        """The family of every column and why; print it."""
        return self._schema.copy()

    @property
    def settings(self) -> Settings:
        """How sums become probabilities."""
        return self._settings

    @property
    def class_counts(self) -> dict[Any, float]:
        """Rows (or their weight) learned per label."""
        self._only_learned("class_counts")
        counts = zip(self._labels, self._class_rows.floats().tolist(), strict=True)
        return {label: int(n) if n.is_integer() else n for label, n in counts if n > 0}

    def __eq__(self, other: object) -> bool:
        """Whether two models hold the same sums."""
        if not isinstance(other, Model):
            return NotImplemented
        if (self._written is None) != (other._written is None):
            return False  # one is written down, the other learned
        if self._written is not None:
            return self._written is other._written
        if self._labels_in_use() != other._labels_in_use():
            return False
        a, b = self._aligned(self._labels_in_use()), other._aligned(other._labels_in_use())
        if a._class_rows != b._class_rows:
            return False
        return all(
            (a._blocks.get(family) or empty_like(b._blocks[family])).same(
                b._blocks.get(family) or empty_like(a._blocks[family])
            )
            for family in {*a._blocks, *b._blocks}
        )

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: the sums, and nothing that is derived from them."""
        return self.__dict__ | {"_scorer": None, "_single": None}

    def __repr__(self) -> str:
        classes = ", ".join(map(repr, self.classes[:5])) + (", ..." if len(self.classes) > 5 else "")
        return f"<Model of {len(self._schema.families)} columns, classes {classes}>"

    # Scoring

    def predict(self, data: Any) -> NDArray[Any]:
        """The most probable label of every row; ties go to the label first in sorted order."""
        if not self.classes:
            raise DataError("a model that has learned at least one row")
        best: NDArray[np.int64] = self.predict_proba(data).argmax(axis=1)
        return np.asarray(to_array(self.classes)[best])

    def predict_proba(self, data: Any) -> Floats:
        """P(class | row), (rows, classes), the classes as in `classes`."""
        if type(data) is dict:
            found = (self._single or self._singles()).predict_proba(data, self._derived())
            if found is not None:
                return found
        table, columns = self._columns(data)
        return self._derived().log_joint(columns, table.n_rows, normalise=True)

    def log_joint(self, data: Any) -> Floats:
        """Log P(class, row), (rows, classes)."""
        table, columns = self._columns(data)
        return self._derived().log_joint(columns, table.n_rows)

    def log_marginal(self, data: Any) -> Floats:
        """Log p(row): low for rows unlike anything learned."""
        self._only_likelihoods("log_marginal")
        return log_marginal(self.log_joint(data))

    def explain(self, data: Any) -> list[Explanation]:
        """For every row the prior, what each column added and the posterior; the parts add up to log P(class, row)."""
        table, columns = self._columns(data)
        return explain(self._derived(), columns, table)

    def objective(self, data: Any, *, label: Any = None) -> Objective:
        """The negative log likelihood of labelled data, split into a part for the prior and one per column."""
        self._only_likelihoods("objective")
        table, columns = self._columns(data)
        return objective(self._derived(), columns, table.n_rows, find_labels(table, self._label(label)))

    def sample(self, n: int, *, seed: int | None = None) -> Any:
        """N rows drawn from the model, as a pyarrow Table with the label in the last column."""
        self._only_likelihoods("sample")
        return sample(self._derived(), n, self._schema, np.random.default_rng(seed))

    def describe(self) -> Description:
        """The parameters of every column per class, to be printed or read as rows."""
        return Description.of(self._derived(), self._schema, None if self._written else self.class_counts)

    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood of every column's tally under its prior, in closed form."""
        self._only_likelihoods("log_evidence")
        self._only_learned("log_evidence")
        result: dict[str, float] = {}
        for family, tally in self._aligned(self._labels_in_use())._blocks.items():
            for name in tally.features:
                k = self._settings.smoothing_of(name)
                if k == 0:
                    raise UnsupportedError("smoothing above 0: maximum likelihood has no prior", column=name)
                part = tally.only((name,))
                result[name] = float(family.evidence(part, family.prior(part, k))[0])
        return dict(sorted(result.items()))

    # Changing

    def learn(self, data: Any, *, label: Any = None, weight: Any = None) -> Change:
        """Add rows, in place and all or nothing; new labels, categories and columns are welcome."""
        if label is None and weight is None and type(data) is dict and (self._single or self._singles()).learn(data):
            self._scorer = None
            return _ONE_ROW
        return self._change(data, label, weight, 1)

    def forget(self, data: Any, *, label: Any = None, weight: Any = None) -> Change:
        """Take rows back, in place and all or nothing: what is left is the model that never saw them."""
        return self._change(data, label, weight, -1)

    def merge(self, other: Model) -> Model:
        """A new model with the sums of both."""
        if not isinstance(other, Model):
            raise ParameterError("another model", came=other)
        for model in (self, other):
            model._only_learned("merge")
        if self._schema.label != other._schema.label:
            raise DataError(f"a model with the label {self._schema.label!r}", came=other._schema.label)
        mine, theirs = self._schema.fields, other._schema.fields
        for name in sorted(mine.keys() & theirs.keys()):
            a, b = (field.family for field in (mine[name], theirs[name]))
            if a != b and NO_VALUES not in (mine[name].reason, theirs[name].reason):
                shown = [str(family) if family else "left out" for family in (a, b)]
                hint = "give both fits the same families= and ignore="
                raise DataError(f"the same family in both models ({shown[0]})", came=shown[1], column=name, hint=hint)
            known = [model._known_key(name) for model in (self, other)]
            if None not in known and rough_kind(known[0]) != rough_kind(known[1]):
                raise DataError(f"{rough_kind(known[0])} in both models", came=known[1], column=name)
        result = self.copy()
        labels = merged(result._labels, result._own_kind(other._labels_in_use()))
        result, other = result._aligned(labels), other._aligned(labels)
        result._add(other._class_rows, other._blocks, 1)
        chosen = {name: field for name, field in mine.items() if field.reason != NO_VALUES}
        result._schema.fields = {**mine, **theirs, **chosen}
        result.skipped += other.skipped
        return result

    def copy(self) -> Model:
        """A model of its own with the same sums."""
        result = Model(self._schema.copy(), self._settings)
        result._labels = list(self._labels)
        result._class_rows = Exact(self._class_rows.digits.copy(), self._class_rows.low)
        result._blocks = {family: tally.copy() for family, tally in self._blocks.items()}
        result.skipped, result._written = self.skipped, self._written
        return result

    def _change(self, data: Any, label: Any, weight: Any, sign: int) -> Change:
        self._only_learned("learn" if sign > 0 else "forget")
        table = to_table(data)
        label = self._label(label)
        weight = self._schema.weight if weight is None else weight
        schema = self._schema if sign < 0 else self._grown(table, label, weight)
        batch = read_batch(table, schema, label, weight)
        check_kinds(batch.columns, self._known_key)
        keys = self._own_kind(batch.labels.keys)
        labels = merged(self._labels, keys)
        codes = _recoded(batch, keys, labels)
        self._check_labels(labels, codes, sign)
        class_rows, blocks = observe(batch, keys, labels, codes, schema)
        target = self if labels == self._labels else self._aligned(labels)
        target._add(class_rows, blocks, sign)
        if target is not self:
            self._labels, self._class_rows, self._blocks = target._labels, target._class_rows, target._blocks
        self._schema = schema
        self._scorer = self._single = None
        n_missing = batch.labels.n_missing
        self.skipped += n_missing * (sign > 0)
        coarse = sign < 0 and any(isinstance(t, Grid) and t.levels.any() for t in self._blocks.values())
        notes = ("histogram columns stay on the grid they have: resolution given up is not regained",)
        return Change(table.n_rows - n_missing, n_missing, notes if coarse else ())

    def _check_labels(self, labels: list[Any], codes: NDArray[np.int32], sign: int) -> None:
        """Refuse to forget labels never learned, and to learn labels that a given prior leaves out."""
        if sign > 0 and not isinstance(self._settings.prior, Mapping):
            return
        counted = np.bincount(codes + 1, minlength=len(labels) + 1)[1:] > 0
        for label, here in zip(labels, counted, strict=True):
            if sign < 0 and here and label not in self._labels:
                raise ForgetError("a label that was learned", came=label, hint="nothing was changed")
            if isinstance(self._settings.prior, Mapping) and label not in self._settings.prior:
                raise ParameterError("a prior probability for every label", came=f"none for {label!r}")

    def _add(self, class_rows: Exact, blocks: dict[Family, Tally], sign: int) -> None:
        """Add or take away sums over the same classes; raises before anything is changed."""
        total = class_rows + self._class_rows if sign > 0 else self._class_rows - class_rows
        check_counts(total)
        if total.negative().any():
            label = self._labels[int(np.argmax(total.negative()))]
            raise ForgetError(f"the label {label!r} was not learned that often", hint="nothing was changed")
        if sign < 0:
            self._check_whole_rows(total, blocks)
        commits: list[Commit] = []
        new: dict[Family, Tally] = {}
        for family, tally in blocks.items():
            if family in self._blocks:
                commits.append(self._blocks[family].prepare(tally, sign))
            elif sign > 0:
                new[family] = tally
            else:
                commits.append(empty_like(tally).prepare(tally, sign))  # raises unless there is nothing in it
        for commit in commits:
            commit()
        self._blocks |= new
        self._class_rows = total.trimmed()
        self._scorer = self._single = None

    def _check_whole_rows(self, class_rows: Exact, taken: dict[Family, Tally]) -> None:
        """Refuse to leave a column with more values in a class than the class has rows: part of a row was forgotten."""
        for family, tally in self._blocks.items():
            left = tally.rows_seen()
            if family in taken:
                where = positions(taken[family].features, tally.features)
                known = where >= 0
                left = left - taken[family].rows_seen()[known].placed(0, where[known], len(tally.features))
            spare = class_rows[None] - left
            if spare.negative().any():
                raise ForgetError(
                    "rows were to be taken back without the values that they had here",
                    column=tally.features[int(np.argwhere(spare.negative())[0][0])],
                    hint="forget takes exactly the rows, weights and labels given to fit or learn; nothing was changed",
                )

    def _grown(self, table: Table, label: Any, weight: Any) -> Schema:
        """The schema with the columns that are new in this table."""
        schema = self._schema.copy()
        for name, raw in table.columns.items():
            if name in (schema.label, schema.weight) or _is(name, label) or _is(name, weight):
                continue
            if name not in schema.fields or schema.fields[name].reason == NO_VALUES:
                found = propose(name, raw, self._settings.numeric)
                if found.reason == NO_VALUES:
                    continue
                schema.fields[name] = with_unseen(replace(found, reason=f"new column; {found.reason}"), self._settings)
        return schema

    # Inside

    def _label(self, label: Any) -> Any:
        if label is None and self._schema.label is None:
            raise ParameterError(
                "label=, an array of labels",
                came=None,
                hint="this model was fitted with an array as its label",
            )
        return self._schema.label if label is None else label

    def _own_kind(self, labels: Sequence[Any]) -> list[Any]:
        """Labels in the type of this model's own; 1 and 1.0 are one label, other types are refused."""
        own = self._labels_in_use()
        if not own or not labels or kind_of(labels[0]) == kind_of(own[0]):
            return list(labels)
        kinds = (kind_of(own[0]), kind_of(labels[0]))
        if kinds == ("number", "whole number"):
            return [float(label) for label in labels]
        if kinds == ("whole number", "number") and all(label.is_integer() for label in labels):
            return [int(label) for label in labels]
        raise DataError(f"labels of one type ({kinds[0]})", came=labels[0])

    def _known_key(self, name: str) -> Any:
        """One category learned so far in a column, or None."""
        tally = self._blocks.get(self._schema.families.get(name))  # type: ignore[arg-type]
        return tally.any_key(name) if isinstance(tally, Counts) else None

    def _columns(self, data: Any) -> tuple[Table, dict[str, Column]]:
        table = to_table(data)
        if (
            table.columns
            and self._schema.fields
            and not table.columns.keys() & {*self._schema.fields, self._schema.label}
        ):
            raise DataError(
                f"columns that the model knows ({shorten(list(self._schema.fields))})",
                came=list(table.columns),
            )
        columns = encode_columns(table, self._schema)
        check_kinds(columns, self._known_key)
        return table, columns

    def _labels_in_use(self) -> list[Any]:
        return [label for label, here in zip(self._labels, self._class_rows.nonzero(), strict=True) if here]

    def _aligned(self, labels: list[Any]) -> Model:
        """A model with the same sums over other labels."""
        result = self.copy()
        where = positions(self._labels, labels)
        kept = where >= 0
        result._labels = list(labels)
        result._class_rows = self._class_rows[kept].placed(0, where[kept], len(labels)).trimmed()
        result._blocks = {family: tally.with_classes(where, len(labels)) for family, tally in self._blocks.items()}
        return result

    def _derived(self) -> Scorer:
        """The scorer for the present sums."""
        if self._written is not None:
            return self._written
        if self._scorer is None:
            labels = self._labels_in_use()
            if not labels:
                return Scorer((), np.zeros(0), ())
            model = self if labels == self._labels else self._aligned(labels)
            log_prior = log_class_prior(labels, model._class_rows.floats(), self._settings)
            predictives = [
                predictive
                for family, tally in sorted(model._blocks.items(), key=lambda item: str(item[0]))
                for predictive in derive(family, tally, self._settings)
            ]
            self._scorer = Scorer(tuple(labels), log_prior, tuple(predictives))
        return self._scorer

    def _singles(self) -> SingleRows:
        """The quick way for single rows of numbers."""
        self._single = SingleRows(self._schema, self._labels, self._class_rows, self._blocks)
        return self._single

    def _only_learned(self, verb: str) -> None:
        if self._written is not None:
            raise UnsupportedError(f"{verb} needs a model that was learned; this one was written down")

    def _only_likelihoods(self, verb: str) -> None:
        for name, family in self._schema.families.items():
            if isinstance(family, Multinomial) and family.variant == "complement":
                raise UnsupportedError(
                    f"{verb} needs likelihoods; complement is only a way of scoring", column=name,
                    hint="fit with the 'counts' or 'presence' variant",
                )  # fmt: skip


def derive(family: Family, tally: Tally, settings: Settings) -> list[Predictive]:
    """The predictives of a block: one for all columns with the same smoothing."""
    strengths = {name: settings.smoothing_of(name) for name in tally.features}
    groups = sorted(set(strengths.values()), key=str)
    if len(groups) == 1:
        return [family.derive(tally, groups[0])]
    return [
        family.derive(tally.only(tuple(name for name in tally.features if strengths[name] == k)), k) for k in groups
    ]


def observe(
    batch: Batch, keys: list[Any], labels: list[Any], codes: NDArray[np.int32], schema: Schema
) -> tuple[Exact, dict[Family, Tally]]:
    """Count a batch into tallies of its own: rows per class, and one tally per family."""
    if batch.weights is None:
        class_rows = Exact.whole(batch.labels.counts).placed(0, positions(keys, labels), len(labels))
    else:
        counted = codes >= 0
        class_rows = Exact.summed(batch.weights[counted], codes[counted].astype(np.int64), len(labels))
    by_family: dict[Family, list[str]] = {}
    families = schema.families
    for name in sorted(batch.columns):
        by_family.setdefault(families[name], []).append(name)
    blocks = {
        family: family.observe(tuple(names), [batch.columns[n] for n in names], codes, len(labels), batch.weights)
        for family, names in by_family.items()
    }
    return class_rows, blocks


def _recoded(batch: Batch, keys: list[Any], labels: list[Any]) -> NDArray[np.int32]:
    """The batch's label codes as positions among all labels; rows of weight 0 are left out."""
    codes = batch.labels.codes
    if labels != keys:
        where = np.append(positions(keys, labels), -1).astype(np.int32)
        codes = where[codes]
    if batch.weights is not None:
        codes = np.where(batch.weights > 0, codes, np.int32(-1)).astype(np.int32)
    return codes


def with_unseen(field: Field, settings: Settings) -> Field:
    """A categorical family told what to do with unseen values."""
    if isinstance(field.family, Categorical) and field.family.unseen != settings.unseen:
        return replace(field, family=replace(field.family, unseen=settings.unseen))
    return field


def _is(name: str, column: Any) -> bool:
    return isinstance(column, str) and column == name


def empty_like(tally: Tally) -> Tally:
    """A tally of the same kind without any rows."""
    result = tally.copy()
    result.prepare(tally, -1)()
    return result
