"""When the variants of text columns are selected: for evaluations that combine models before they are used."""

from tallybayes.model.model import Model
from tallybayes.model.update import with_text_selected

__all__ = ["with_text_selection"]


def with_text_selection(model: Model, *, now: bool) -> Model:
    """A copy of the model that selects the variants of its text columns now and later, or not until it is told to."""
    return Model(with_text_selected(model.snapshot().state, now=now))
