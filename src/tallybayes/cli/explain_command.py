"""tally explain: why a row got its label."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from tallybayes.cli.messages import note_bad_rows, print_result
from tallybayes.cli.shared_options import Data, InputReader, Json, ModelFile, find_class, learned_model, reads

__all__ = ["COMMANDS", "explain"]

EXAMPLE = """
tally explain films.tally new.csv --row 3
"""


@reads
def explain(
    model: ModelFile,
    data: Data,
    *,
    row: Annotated[
        list[int] | None, typer.Option("--row", metavar="N", help="A row number, from 0 (repeatable).")
    ] = None,
    n: Annotated[int, typer.Option("-n", metavar="N", help="Explain the first N rows, if --row is not given.")] = 5,
    units: Annotated[str, typer.Option(metavar="UNIT", help="decibans or log-odds (natural logarithm).")] = "decibans",
    positive: Annotated[str | None, typer.Option(metavar="CLASS", help="Evidence for this class. [the answer]")] = None,
    against: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Evidence against this class. [the runner-up]")
    ] = None,
    json: Json = False,
    reader: InputReader,
) -> None:
    """Explain a prediction: the evidence of every column.

    The prior, the evidence of each column for one class against another, and the sum of these. Ten decibans are a
    factor of ten in the odds. For a text, the words with the strongest evidence follow; on a terminal they are
    highlighted in the text. The last line names the smallest set of columns (or words of a text) whose absence would
    change the answer.
    """
    from tallybayes.errors import ParameterError

    if units not in ("decibans", "log-odds"):
        raise ParameterError("--units decibans or log-odds", got=units)
    loaded = learned_model(model)
    names = [None if text is None else find_class(loaded.classes, text) for text in (positive, against)]
    if positive is not None and positive == against:
        raise ParameterError("--positive and --against with different classes", got=positive)
    wanted = sorted(set(row)) if row else list(range(max(n, 0)))
    source = reader(data)
    explanations, n_rows = _rows(loaded, source, wanted)
    lacking = [number for number in wanted if number not in explanations]
    if row and lacking:
        raise ParameterError(f"a row of the data (it has {n_rows})", got=lacking[0])
    note_bad_rows(source)
    if json:
        print_result([{"row": number, **explanation.to_dict()} for number, explanation in explanations.items()])
        return
    for i, (number, explanation) in enumerate(explanations.items()):
        print_result(f"{chr(10) if i else ''}row {number}: {explanation.shown(*names, units=units)}")
        if len(loaded.classes) > 1:
            print_result(chr(10) * any(explanation.words.values()) + _describe_flip(explanation, names[1]))
        if sys.stdout.isatty() and len(loaded.classes) > 1:
            _show_texts(explanation, names, units)


def _describe_flip(explanation: Any, against: Any) -> str:
    """The smallest set of columns whose absence changes the answer; of words, if it is a single text."""
    from tallybayes.formatting import shown

    against = None if against == explanation.answer else against
    flip = explanation.flip(against)
    if flip is None:
        instead = "" if against is None else f" to {shown(against)}"
        return f"no set of missing columns changes the answer{instead}"
    column = flip.columns[0]
    if len(flip.columns) == 1 and column in explanation.words and column not in explanation.inseparable:
        words = explanation.flip(against, words=column)
        return str(flip if words is None else words)
    return str(flip)


def _show_texts(explanation: Any, names: list[Any], units: str) -> None:
    """Print the texts of a row with their most important words highlighted."""
    from rich.console import Console

    from tallybayes.cli.highlight import highlight_words
    from tallybayes.formatting import DECIBANS

    console = Console(highlight=False)
    for column in explanation.words:
        value = explanation.values[column]
        text = value if isinstance(value, str) else value.decode("utf-8", "replace")
        scale = DECIBANS if units == "decibans" else 1.0
        console.print()
        console.print(highlight_words(text, explanation.word_odds(column, *explanation.sides(*names)), scale))


def _rows(model: Any, source: Any, wanted: list[int]) -> tuple[dict[int, Any], int]:
    """The explanations of some rows by row number, and the number of rows that were read."""
    import numpy as np

    from tallybayes.columns.batch import columns_to_read

    explanations: dict[int, Any] = {}
    first = 0
    source.missing = model.schema.missing if source.missing is None else source.missing
    for table in source.batches(columns_to_read(model.schema)) if wanted else ():
        here = [number - first for number in wanted if first <= number < first + table.n_rows]
        if here:
            explained = model.explain(table.take(np.array(here)))
            explanations |= dict(zip((number + first for number in here), explained, strict=True))
        first += table.n_rows
        if first > wanted[-1]:
            break
    return explanations, first


COMMANDS = [(explain, EXAMPLE)]
