"""Log marginal likelihoods of the columns of a model.

They compare smoothing strengths within a family, not families with each other: histograms, and categories with
smoothing "auto", model the classes given the values, the others the values given the classes.
"""

from tallybayes.errors import Described, UnsupportedError
from tallybayes.state.model_state import ModelState

__all__ = ["log_evidence"]


def log_evidence(state: ModelState) -> dict[str, float]:
    """Log marginal likelihood of every column's statistics under its prior, by column, in a generative model."""
    state.require_learned("log_evidence")
    result: dict[str, float] = {}
    for tally in state.statistics.aligned(state.statistics.in_use()).blocks.values():
        for name in tally.features:
            family, k = state.schema.families[name], state.settings.smoothing_of(name)
            if k == 0:
                got = Described("maximum likelihood, which has no prior")
                raise UnsupportedError("smoothing above 0", got=got, column=name)
            part = tally.only((name,))
            result[name] = float(family.evidence(part, family.prior(part, k))[0])
    return dict(sorted(result.items()))
