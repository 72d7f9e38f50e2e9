"""What became of a comparison: the learning curves of naive Bayes and of logistic regression, and who is ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallybayes.errors import ParameterError
from tallybayes.evaluation.evaluation_text import digits
from tallybayes.formatting import finite_json, text_table

__all__ = ["MEASURES", "MODELS", "Comparison"]

MODELS = ("tallybayes", "logistic", "majority")
MEASURES = ("error", "log_loss")
_FULL = {"tallybayes": "naive Bayes", "logistic": "logistic regression"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Learning curves: for each model and size the mean over the folds and its standard error. Print it.

    rows: dicts with model ("tallybayes", "logistic" or "majority"), size, error, error_se, log_loss and log_loss_se.
    """

    rows: list[dict[str, Any]]
    n_rows: int
    folds: int

    @property
    def sizes(self) -> list[int]:
        """The numbers of rows learned from."""
        return list(dict.fromkeys(row["size"] for row in self.rows))

    def curve(self, model: str, measure: str = "error") -> list[float]:
        """The mean of a measure ("error" or "log_loss") for one model, at every size."""
        for wanted, name, came in (("a model", MODELS, model), ("a measure", MEASURES, measure)):
            if came not in name:
                raise ParameterError(f"{wanted} ({', '.join(name)})", got=came)
        return [row[measure] for row in self.rows if row["model"] == model]

    def ahead(self, measure: str = "error") -> list[str | None]:
        """The better of tallybayes and logistic at every size; None where they are even."""
        pairs = zip(self.curve("tallybayes", measure), self.curve("logistic", measure), strict=True)
        return [None if not (a < b or b < a) else "tallybayes" if a < b else "logistic" for a, b in pairs]

    def logistic_from(self, measure: str = "error") -> int | None:
        """The size from which on logistic regression is ahead, up to the largest; None if it is not in the end."""
        first = None
        for size, model in zip(self.sizes, self.ahead(measure), strict=True):
            first = None if model != "logistic" else size if first is None else first
        return first

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for programs."""
        return finite_json(  # type: ignore[no-any-return]
            {
                "rows": self.n_rows,
                "folds": self.folds,
                "sizes": self.sizes,
                "curves": self.rows,
                "ahead": {measure: self.ahead(measure) for measure in MEASURES},
                "logistic_from": {measure: self.logistic_from(measure) for measure in MEASURES},
            }
        )

    def __str__(self) -> str:
        tables = [f"{measure.replace('_', ' ')}\n{self._table(measure)}" for measure in MEASURES]
        verdicts = [f"{measure.replace('_', ' ')}: {self._verdict(measure)}" for measure in MEASURES]
        about = f"(mean of {self.folds} folds ± its standard error)"
        return "\n\n".join([*tables, "\n".join([*verdicts, about])])

    __repr__ = __str__

    def _table(self, measure: str) -> str:
        body = []
        for size, ahead in zip(self.sizes, self.ahead(measure), strict=True):
            found = {row["model"]: row for row in self.rows if row["size"] == size}
            cells = [f"{digits(found[m][measure])} ± {digits(found[m][f'{measure}_se'])}" for m in MODELS]
            body.append([str(size), *cells, ahead or "even"])
        return text_table(["rows", *MODELS, "ahead"], body)

    def _verdict(self, measure: str) -> str:
        """Who is ahead where, in words."""
        ahead, first = self.ahead(measure), self.logistic_from(measure)
        for model in ("tallybayes", "logistic"):
            if set(ahead) == {model}:
                return f"{_FULL[model]} is ahead at every size"
        if first is not None:
            return f"logistic regression is ahead from {first} rows on"
        last = ahead[-1]
        return "they are even in the end" if last is None else f"{_FULL[last]} is ahead in the end"
