"""tally report: an HTML report on a model."""

from __future__ import annotations

from tallybayes.cli.doubt_list import Checking
from tallybayes.cli.messages import note, note_bad_rows, progress
from tallybayes.cli.model_file_options import load_model
from tallybayes.cli.shared_options import DATA, LEAVE_ONE_OUT, MODEL, Reading, option

__all__ = ["report"]


def report(
    model: str = MODEL,
    data: list[str] = DATA,
    *,
    output: str = option("FILE", "The HTML file to write.", "report.html", "-o", "--output"),
    leave_one_out: bool = LEAVE_ONE_OUT,
    rows: int | None = option("N", "Use at most the first N rows. [all]"),
    label: str | None = option("COL", "The label column, if it has another name in DATA."),
    group: str | None = option("COL", "The column of groups, if it is not that of the model."),
    by: str | None = option("COL", "Add figures for each value of this column, numbers in ranges."),
    tuning: str | None = option("FILE", "The output of tally tune --json, to plot its curve."),
    title: str | None = option("TEXT", "The title of the report."),
    doubts: Checking,
    reader: Reading,
) -> None:
    """Write an HTML report on a model and data: one file, to be opened in a browser.

    What the model is, how good it is (confusion matrix, scores, calibration, curves of every class, thresholds and
    costs, confident mistakes), what matters (importance, dependence between columns), the columns by class, missing
    values, drift, and a nomogram.

    The report works offline. It needs: pip install 'tallybayes[report]'.

        tally report films.tally test.csv -o report.html            # on new rows
        tally report films.tally films.csv                          # on the rows it has learned: each without itself
        tally tune films.csv --label rating --json > tuning.json && tally report films.tally films.csv --tuning tuning.json
    """  # noqa: E501  # a command is on one line
    from tallybayes.cli.output import refuse_overwriting, refuse_replacing
    from tallybayes.reporting import is_report, write_report
    from tallybayes.reporting import report as create
    from tallybayes.reporting.chart_style import altair

    altair()
    refuse_overwriting(output, [model, *data])
    refuse_replacing(output, is_report, "a report")
    loaded, curve = load_model(model), None if tuning is None else _curve(tuning)
    with progress("evaluating") as step:
        source = reader(data, step)
        facts = {"model": model, "model file": _fingerprint(model), "data": ", ".join(data)}
        page = create(
            loaded,
            source,
            label=label,
            leave_one_out=leave_one_out or None,
            rows=rows,
            group=group,
            by=by,
            tuning=curve,
            title=title,
            provenance=facts,
        )
    note_bad_rows(source)
    doubts.show()
    write_report(output, page)
    note(f"wrote the report to {output}")


def _fingerprint(path: str) -> str:
    """The beginning of the SHA-256 of a file, to tell models of one name apart."""
    import hashlib

    with open(path, "rb") as file:
        return f"SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"


def _curve(path: str) -> list[dict[str, float]]:
    """The curve in the output of `tally tune --json`."""
    import json

    from tallybayes.errors import Described, FileError

    try:
        with open(path, encoding="utf-8") as file:
            curve = json.load(file)["curve"]
        return [{"k": float(point["k"]), "log_loss": float(point["log_loss"])} for point in curve]
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", file=path) from error
    except (ValueError, TypeError, KeyError) as error:
        not_json = isinstance(error, json.JSONDecodeError)
        got = Described("text that is not JSON" if not_json else "JSON without a curve")
        raise FileError("the output of tally tune --json", got=got, file=path) from error
