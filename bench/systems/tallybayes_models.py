"""tallybayes: plain models where the others are plain, defaults where they are tuned or take raw tables."""

import sys
from typing import Any

import tallybayes as tb
from bench.peak_memory import ended
from bench.steps import Steps, fit_and_score
from bench.work import Data
from tallybayes import kernels

PACKAGE = "tallybayes"


def instruction_set() -> str:
    """What the kernels use in this process."""
    return str(getattr(kernels.active, "INSTRUCTION_SET", kernels.IMPLEMENTATION))


def _steps(data: Data, **options: Any) -> Steps:
    return fit_and_score(lambda: tb.fit(data.X, data.y, **options), lambda model: model.predict_proba(data.X))


def numbers(data: Data) -> Steps:
    histograms = _steps(data, column_weights=None)
    plain = _steps(data, numeric="gaussian", column_weights=None)
    return plain | {f"{name}, histogram": step for name, step in histograms.items()}


def text(data: Data, **options: Any) -> Steps:
    column = {"text": data.X}
    return fit_and_score(lambda: tb.fit(column, data.y, **options), lambda model: model.predict_proba(column))


def file(data: Data) -> Steps:
    return fit_and_score(lambda: tb.fit(data.X, label="label"), lambda model: model.predict_proba(data.X))


def command(data: Data) -> Steps:
    model, answers = (str(data.folder / name) for name in ("command.tally", "answers.csv"))
    tally = [sys.executable, "-m", "tallybayes.cli.main"]
    return {
        "fit": lambda: ended([*tally, "fit", data.X, "--label", "label", "-o", model, "-q"]),
        "predict": lambda: ended([*tally, "predict", model, data.X, "-o", answers, "-q"]),
    }


def stream(data: Data) -> Steps:
    rows, labels = data.X, data.y.tolist()
    model = tb.fit(rows[:100], labels[:100], numeric="gaussian", smoothing=1.0, column_weights=None)

    def alternately() -> None:
        for row, label in zip(rows[:300], labels, strict=False):
            model.predict_proba(row)
            model.learn_one(row, label)

    return {
        "learn": lambda: [model.learn_one(*pair) for pair in zip(rows, labels, strict=True)],
        "score": lambda: [model.predict_proba(row) for row in rows[:300]],
        "score and learn": alternately,
    }


def tuned(data: Data) -> Steps:
    frame = data.X.assign(label=data.y)
    return {"fit": lambda: tb.tune(frame, label="label")}


def left_out(data: Data) -> Steps:
    model = tb.fit(data.X, data.y, numeric="gaussian", column_weights=None)
    return {"scores of all rows": lambda: model.leave_one_out(data.X, label=data.y)}


CASES = {
    "numbers": numbers,
    "numbers20": numbers,
    "categories": lambda data: _steps(data, families="categorical", column_weights=None),
    "flags": lambda data: _steps(data, families="bernoulli", column_weights=None),
    "counts": lambda data: _steps(data, smoothing=1.0, column_weights=None),
    "complement": lambda data: _steps(data, families="multinomial:complement", smoothing=1.0, column_weights=None),
    "mixed": lambda data: _steps(data, column_weights=None),
    "default": _steps,
    "text_counts": lambda data: text(data, families={"text": "text:counts,tf=count,k=1"}, column_weights=None),
    "text": text,
    "csv": file,
    "parquet": file,
    "command": command,
    "stream": stream,
    "tuned": tuned,
    "left_out": left_out,
}
