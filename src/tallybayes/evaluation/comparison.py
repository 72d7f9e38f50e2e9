"""The result of `tallybayes.compare`: learning curves of naive Bayes, logistic regression and the majority class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tallybayes.errors import ParameterError
from tallybayes.evaluation.evaluation_text import digits
from tallybayes.formatting import finite_json
from tallybayes.notebook_view import ResultView, TextGrid, data_frame

__all__ = ["MEASURES", "MODELS", "Comparison"]

MODELS = ("tallybayes", "logistic", "majority")
MEASURES = ("error", "log_loss")
_NAMES = {"tallybayes": "naive Bayes", "logistic": "logistic regression", "majority": "the majority-class baseline"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ResultView):
    """Learning curves: for each model and size the mean over the folds and its standard error. Print it.

    rows: dicts with model ("tallybayes", "logistic" or "majority"), size, error, error_se, error_by_fold, and the same
    three for log_loss.
    """

    rows: list[dict[str, Any]]
    n_rows: int
    folds: int
    _heading: ClassVar[str] = "Comparison"

    @property
    def sizes(self) -> list[int]:
        """The numbers of training rows."""
        return list(dict.fromkeys(row["size"] for row in self.rows))

    def curve(self, model: str, measure: str = "error") -> list[float]:
        """The mean of a measure ("error" or "log_loss") of one model at every size."""
        for kind, names, name in (("a model", MODELS, model), ("a measure", MEASURES, measure)):
            if name not in names:
                raise ParameterError(f"{kind} ({', '.join(names)})", got=name)
        return [row[measure] for row in self.rows if row["model"] == model]

    def best(self, measure: str = "error") -> list[str | None]:
        """The model with the lowest value at every size; None where two share it or it is undefined."""
        best: list[str | None] = []
        for values in zip(*(self.curve(model, measure) for model in MODELS), strict=True):
            lowest = [model for model, value in zip(MODELS, values, strict=True) if value <= min(values)]
            best.append(lowest[0] if len(lowest) == 1 else None)
        return best

    def logistic_from(self, measure: str = "error") -> int | None:
        """The smallest size from which on logistic regression is always best; None if it is not at the largest."""
        return self._since(measure) if self.best(measure)[-1] == "logistic" else None

    def to_dict(self) -> dict[str, Any]:
        """All values as plain Python objects, for JSON."""
        return finite_json(  # type: ignore[no-any-return]
            {
                "rows": self.n_rows,
                "folds": self.folds,
                "sizes": self.sizes,
                "curves": self.rows,
                "best": {measure: self.best(measure) for measure in MEASURES},
                "logistic_from": {measure: self.logistic_from(measure) for measure in MEASURES},
            }
        )

    def to_frame(self) -> Any:
        """A row for each model and size as a pandas DataFrame, with the means, standard errors and values by fold."""
        return data_frame(self.rows)

    def _parts(self) -> list[str | TextGrid]:
        tables = [self._table(measure) for measure in MEASURES]
        conclusions = [f"{measure.replace('_', ' ')}: {self._conclusion(measure)}" for measure in MEASURES]
        about = f"(mean of {self.folds} folds ± its standard error)"
        return [*tables, "\n".join([*conclusions, about])]

    def _table(self, measure: str) -> TextGrid:
        body = []
        for size, best in zip(self.sizes, self.best(measure), strict=True):
            by_model = {row["model"]: row for row in self.rows if row["size"] == size}
            cells = [f"{digits(by_model[m][measure])} ± {digits(by_model[m][f'{measure}_se'])}" for m in MODELS]
            body.append([str(size), *cells, best or "tie"])
        return TextGrid(["rows", *MODELS, "best"], body, title=measure.replace("_", " "))

    def _conclusion(self, measure: str) -> str:
        """Which model is best, and from which size on."""
        last = self.best(measure)[-1]
        if last is None:
            return f"no single model is best with {self.sizes[-1]} rows"
        since = self._since(measure)
        where = "at every size" if since == self.sizes[0] else f"from {since} rows on"
        unclear = [str(size) for size in self.sizes if size >= since and not self._is_clear(measure, size, last)]
        if not unclear:
            return f"{_NAMES[last]} is best {where}"
        near = f"with {', '.join(unclear)} rows by less than the standard error of the difference"
        return f"{_NAMES[last]} has the lowest mean {where}, {near}"

    def _is_clear(self, measure: str, size: int, best: str) -> bool:
        """Whether the model is better than each other by more than the standard error of the paired difference."""
        values = {row["model"]: np.array(row[f"{measure}_by_fold"]) for row in self.rows if row["size"] == size}
        with np.errstate(invalid="ignore"):
            differences = [values[model] - values[best] for model in MODELS if model != best]
        # an infinite loss has no standard error
        finite = [difference for difference in differences if np.isfinite(difference).all()]
        return all(difference.mean() > difference.std(ddof=1) / np.sqrt(len(difference)) for difference in finite)

    def _since(self, measure: str) -> int:
        """The smallest size from which on the best model does not change."""
        best = self.best(measure)
        n_same = next((i for i, model in enumerate(reversed(best)) if model != best[-1]), len(best))
        return self.sizes[-n_same]
