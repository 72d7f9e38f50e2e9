"""tally explain: why a row got its label; on a terminal, texts with their most important words highlighted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tallybayes.cli.messages import note_bad_rows, print_result
from tallybayes.cli.model_file_options import find_class, learned_model
from tallybayes.cli.shared_options import DATA, JSON, MODEL, Reading, flag, option
from tallybayes.formatting import DECIBANS, printable, shown, signed

if TYPE_CHECKING:
    from tallybayes.families.predictive import TokenEvidence

__all__ = ["explain", "highlight_words"]

_SHOWN = 2000  # characters of a text; of a longer text, those around its strongest word
_SHADES = ((0.6, "bold white on {}"), (0.25, "bold {}"), (0.08, "{}"))  # least share of the strongest word, style
_NUMBERED = 0.25


def explain(
    model: str = MODEL,
    data: list[str] = DATA,
    *,
    row: list[int] | None = option("N", "A row number, from 0 (repeatable)."),
    n: int = option("N", "Explain the first N rows, if --row is not given.", 5, "-n"),
    top: int | None = option("N", "Show the N columns, and words, with the largest evidence; the others as one line."),
    all: bool = flag("--all", help="Show every word and tag, not only the ten with the largest evidence."),
    units: str = option("UNIT", "decibans or log-odds (natural logarithm).", "decibans"),
    positive: str | None = option("CLASS", "Evidence for this class. [the answer]"),
    against: str | None = option("CLASS", "Evidence against this class. [the runner-up]"),
    json: bool = JSON,
    reader: Reading,
) -> None:
    """Explain a prediction: the evidence of every column.

    The prior, the evidence of each column for one class against another, and the sum of these. Ten decibans are a
    factor of ten in the odds. For a text, tags or a list, the tokens with the strongest evidence follow, and what
    absent ones add; on a terminal words are highlighted in the text. The last line names the smallest set of columns
    (or words of a text) whose absence would change the answer.

        tally explain films.tally new.csv --row 3
        tally explain films.tally new.csv --top 5      # the five columns with the largest evidence
        tally explain spam.tally new.csv --all         # every word
    """
    from tallybayes.errors import ParameterError

    if units not in ("decibans", "log-odds"):
        raise ParameterError("--units decibans or log-odds", got=units)
    if top is not None and top < 0:
        raise ParameterError("--top to be at least 0", got=top)
    if all and top is not None:
        raise ParameterError("--top or --all, not both", got=top)
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
        print_result([{"row": number, **explanation.to_dict(top=top)} for number, explanation in explanations.items()])
        return
    for i, (number, explanation) in enumerate(explanations.items()):
        print_result(f"{chr(10) if i else ''}row {number}: {explanation.shown(*names, units=units, top=top, all=all)}")
        if len(loaded.classes) > 1:
            print_result(chr(10) * any(explanation.words.values()) + _describe_flip(explanation, names[1]))
        if sys.stdout.isatty() and len(loaded.classes) > 1:
            _show_texts(explanation, names, units)


def _describe_flip(explanation: Any, against: Any) -> str:
    """The smallest set of columns whose absence changes the answer; of words, if it is a single text."""
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
    """Print the texts of a row with their most important words highlighted; tags and lists are no texts."""
    from rich.console import Console

    console = Console(highlight=False)
    for column, words in explanation.words.items():
        if not any(word.spans for word in words):
            continue
        value = explanation.values[column]
        text = value if isinstance(value, str) else value.decode("utf-8", "replace")
        scale = DECIBANS if units == "decibans" else 1.0
        console.print()
        console.print(highlight_words(text, explanation.word_odds(column, *explanation.sides(*names)), scale))


def highlight_words(text: str, odds: list[tuple[TokenEvidence, float]], scale: float) -> Any:
    """A text with its most important words highlighted, for rich.

    Evidence for the class is green, evidence against it red. The stronger the evidence, the stronger the colour; the
    strongest words are followed by a number. The evidence of an n-gram is divided equally among its characters.

    odds: natural log odds, which `scale` converts to the printed unit.
    """
    import numpy as np
    from rich.text import Text

    adds = np.zeros(len(text) + 1)
    starts: dict[int, int] = {}  # start of a word -> end of the shortest word that starts there
    for word, value in odds:
        for start, stop in word.spans:
            adds[start:stop] += value / len(word.spans) / max(stop - start, 1)
            starts[start] = min(stop, starts.get(start, stop))
    totals = {start: float(adds[start:stop].sum()) for start, stop in starts.items()}
    strongest = max((abs(value) for value in totals.values()), default=0.0)
    first, last = _window(len(text), totals)
    result, at = Text("..." if first else ""), first
    for start in sorted(totals):
        stop, share = starts[start], abs(totals[start]) / strongest if strongest else 0.0
        if start < at or stop > last or not share:
            continue
        result.append(_visible(text[at:start]))
        colour = "green" if totals[start] > 0 else "red"
        style = next((style.format(colour) for least, style in _SHADES if share >= least), "")
        token = text[start:stop].rstrip()  # an n-gram of characters may end in white space
        result.append(_visible(token), style)
        if share >= _NUMBERED:
            result.append(signed(totals[start] * scale, 0), f"dim {colour}")
        result.append(_visible(text[start + len(token) : stop]))
        at = stop
    result.append(_visible(text[at:last]))
    return result.append("..." if last < len(text) else "")


def _window(size: int, totals: dict[int, float]) -> tuple[int, int]:
    """The part of a long text that is shown: around its strongest word."""
    if size <= _SHOWN or not totals:
        return 0, min(size, _SHOWN)
    middle = max(totals, key=lambda start: abs(totals[start]))
    first = min(max(middle - _SHOWN // 2, 0), size - _SHOWN)
    return first, first + _SHOWN


def _visible(text: str) -> str:
    return printable(text.replace("\r", "").replace("\t", " "), keep="\n")


def _rows(model: Any, source: Any, wanted: list[int]) -> tuple[dict[int, Any], int]:
    """The explanations of some rows by row number, and the number of rows that were read."""
    import numpy as np

    from tallybayes.columns.batch import columns_to_read

    explanations: dict[int, Any] = {}
    first = 0
    source.use_words(model.schema.missing)
    source.look_for(model.schema.columns)
    for table in source.batches(columns_to_read(model.schema)) if wanted else ():
        here = [number - first for number in wanted if first <= number < first + table.n_rows]
        if here:
            explained = model.explain(table.take(np.array(here)))
            explanations |= dict(zip((number + first for number in here), explained, strict=True))
        first += table.n_rows
        if first > wanted[-1]:
            break
    return explanations, first
