"""How sums of tokens become weights, and weights scores."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KIND_OF", "TokenOptions"]

KIND_OF = {"count": "counts", "once": "documents", "log": "logs"}  # the sums that an option tf uses


@dataclass(frozen=True)
class TokenOptions:
    """How sums of tokens become weights, and weights scores; `families/tokens/text.py` explains the options."""

    variant: str = "counts"
    tf: str = "count"
    unit: bool = False
    idf: bool = False
    balanced: bool = False
    scored_ngrams: int = 0
    min_count: int = 1
    cap: float = 0.0
    top: int = 0
    length: int = 0

    @property
    def has_caps(self) -> bool:
        """Whether the amount of a token depends on its weight or on the other tokens of the document."""
        return bool(self.cap or self.top or self.length)

    @property
    def needs_all(self) -> bool:
        """Whether the weight of a token depends on the sums of all tokens."""
        return self.idf or self.balanced or self.min_count > 1

    @property
    def is_likelihood(self) -> bool:
        """Whether scores are log likelihoods."""
        return self.variant != "complement" and not (self.idf or self.balanced or self.has_caps)
