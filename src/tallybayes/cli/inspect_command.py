"""tally inspect: what a model knows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tallybayes.cli.messages import answer
from tallybayes.cli.options import Debug, Json, ModelFile

__all__ = ["VERBS", "inspect"]

EXAMPLE = """
tally inspect films.tally --column genre
tally inspect films.tally --level 0.95
tally inspect films.tally --schema > schema.json     # to edit, for: tally fit --schema schema.json
"""


def inspect(
    model: ModelFile,
    *,
    column: Annotated[
        list[str] | None, typer.Option("--column", metavar="COL", help="Only this column (repeatable).")
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Only the schema, as JSON to edit and give back.")] = False,
    level: Annotated[
        float | None, typer.Option(metavar="LEVEL", help="Parameters with intervals that hold so much (0.95, say).")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show what a model knows.

    The classes, the family of every column and why, and the parameters of every column per class.
    """
    from tallybayes.errors import ParameterError, did_you_mean
    from tallybayes.model.saved_model import load

    loaded = load(model)
    if schema:
        answer(loaded.schema.to_dict())
        return
    known = loaded.schema.families
    for name in column or ():
        if name not in known:
            raise ParameterError("a column that the model uses", got=name, hint=did_you_mean(name, known))
    described = loaded.describe() if level is None else loaded.intervals(level)
    description = described.only(column) if column else described
    found = {} if column else _found(loaded)
    if json:
        answer(description.to_dict() | found)
        return
    answer("\n\n".join([str(description), *(f"{name}: {told}" for name, told in found.items())]))


def _found(model: Any) -> dict[str, str]:
    """What was found out after fitting, in words."""
    from tallybayes.formatting import shown

    weights, result = model.column_weights, {}
    if weights.offsets:
        result["offsets of classes"] = ", ".join(f"{shown(c)} {offset:+.3f}" for c, offset in weights.offsets.items())
    if model.calibration is not None:
        result["calibration"] = str(model.calibration)
    if model.settings.decision is not None:
        result["decision"] = str(model.decision)
    if model.stale:
        result["found before the model was as it is"] = ", ".join(model.stale)
    return result


VERBS = [(inspect, EXAMPLE)]
