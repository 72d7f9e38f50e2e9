"""One joint Gaussian of all columns of numbers in place of their own families, as a term that tuning may use.

The group is counted once, as a derived column whose inputs are the columns (`model/joint_columns.py`); that the classes
have a covariance matrix each or share one is the same sums. Its evidence is of the same held-out rows as that of the
other terms, so that it is judged beside them. Columns whose family the user specified stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.column import Reals
from tallybayes.columns.column_spec import ColumnSpec, Origin, Status
from tallybayes.columns.schema import Schema
from tallybayes.families import JointGaussian
from tallybayes.model import Model
from tallybayes.model.joint_columns import with_numbers_together
from tallybayes.state.model_state import ModelState
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.tuning.judged_rows import Learn
from tallybayes.weights.weight_fit import centre_evidence
from tallybayes.weights.weight_selection import WeightFit

__all__ = ["JOINT_TERMS", "NO_NUMBERS", "JointTerm"]

JOINT_TERMS = {"joint": "class", "joint shared": "shared"}  # with the covariance of each
NO_NUMBERS = "no numbers"  # a control: giving up columns that tell nothing is a gain that no group should be used for
_MOST_MEMBERS = 64  # as for one-dependence estimators: the time for counting grows with the square


@dataclass(frozen=True, eq=False)
class JointTerm:
    """A group that was counted: its members, and its evidence by the term, (1, rows, classes)."""

    model: Model
    spec: ColumnSpec
    members: tuple[str, ...]
    evidence: dict[str, Floats]

    @classmethod
    def of(cls, base: WeightFit, learn: Learn) -> JointTerm | None:
        """Count the group in one pass over the data; None if there are too few columns for it, or too many."""
        schema, settings = base.state.schema, replace(base.state.settings, column_weights=None)
        members = _members(schema)
        if not 2 <= len(members) <= _MOST_MEMBERS:
            return None
        grouped = with_numbers_together(schema, members, JointGaussian(), "found by tuning", Origin.TUNED)
        (name,) = grouped.columns.keys() - schema.columns.keys()
        others = {
            other: spec if spec.family is None or other == name else spec.without_family(Status.INPUT)
            for other, spec in grouped.columns.items()
        }
        alone = schema.with_columns(others)
        model = Model(ModelState(alone, settings))
        learn(model)
        spec, evidence = grouped.columns[name], {}
        for term, covariance in JOINT_TERMS.items():
            of_kind = alone.with_columns({name: spec.with_family(JointGaussian(covariance))})
            state = replace(model.snapshot().state, schema=of_kind)
            evidence[term] = centre_evidence(base.held_out.rows.evidence(state)[1], base.lines.log_prior)
        return cls(model, spec, members, evidence)

    def prepare(self, base: WeightFit, term: str) -> WeightFit:
        """The evidence with the group in place of its members; or without them, for NO_NUMBERS."""
        rest = base.without(self.members)
        return rest if term == NO_NUMBERS else rest.with_columns([self.spec.name], self.evidence[term])

    def add_to(self, model: Model, terms: Sequence[str]) -> Model:
        """A model with the sums of the group instead of those of its members, if it is among some terms."""
        chosen = [term for term in JOINT_TERMS if term in terms]
        if not chosen:
            return model
        base, more, name = model.snapshot().state, self.model.snapshot().state, self.spec.name
        schema, blocks = base.schema.copy(), {}
        for member in self.members:
            schema.columns[member] = schema.columns[member].without_family(Status.INPUT, f"input of {name!r}")
        schema.columns[name] = self.spec.with_family(JointGaussian(JOINT_TERMS[chosen[0]]))
        for family, tally in base.statistics.copy().blocks.items():
            if kept := tuple(feature for feature in tally.features if feature not in self.members):
                blocks[family] = tally.only(kept)
        blocks |= more.statistics.aligned(base.statistics.labels).blocks
        statistics = SufficientStatistics(list(base.statistics.labels), base.statistics.class_rows, blocks)
        return Model(replace(base, schema=schema, statistics=statistics))


def _members(schema: Schema) -> tuple[str, ...]:
    """The columns of numbers whose families were not specified, in order."""
    return tuple(
        sorted(
            name
            for name, family in schema.families.items()
            if family.column is Reals and schema.columns[name].origin is not Origin.SPECIFIED
        )
    )
