"""tallybayes: plain models where the others are plain, defaults where they are tuned or take raw tables."""

from typing import Any

import tallybayes as tb
from bench.work import Data

PACKAGE = "tallybayes"


def _steps(data: Data, **options: Any) -> dict[str, Any]:
    model = tb.fit(data.X, data.y, **options)
    model.predict_proba(data.X[:10])
    return {"fit": lambda: tb.fit(data.X, data.y, **options), "predict_proba": lambda: model.predict_proba(data.X)}


def numbers(data: Data) -> dict[str, Any]:
    return _steps(data, numeric="gaussian", weights=None)


def histograms(data: Data) -> dict[str, Any]:
    steps = _steps(data, weights=None)
    return {f"{name}, histogram": step for name, step in steps.items()}


def dense(data: Data) -> dict[str, Any]:
    return numbers(data) | histograms(data)


def categories(data: Data) -> dict[str, Any]:
    return _steps(data, families="categorical", weights=None)


def flags(data: Data) -> dict[str, Any]:
    return _steps(data, families="bernoulli", weights=None)


def counts(data: Data) -> dict[str, Any]:
    return _steps(data, smoothing=1.0, weights=None)


def mixed(data: Data) -> dict[str, Any]:
    return _steps(data, weights=None)


def text(data: Data) -> dict[str, Any]:
    column = {"text": data.X}
    model = tb.fit(column, data.y, weights=None)
    return {"fit": lambda: tb.fit(column, data.y, weights=None), "predict_proba": lambda: model.predict_proba(column)}


def file(data: Data) -> dict[str, Any]:
    model = tb.fit(data.X, label="label")
    return {"fit": lambda: tb.fit(data.X, label="label"), "predict_proba": lambda: model.predict_proba(data.X)}


def stream(data: Data) -> dict[str, Any]:
    rows, labels = data.X, data.y.tolist()
    model = tb.fit(rows[:100], labels[:100], numeric="gaussian", smoothing=1.0, weights=None)

    def alternately() -> None:
        for row, label in zip(rows[:300], labels, strict=False):
            model.predict_proba(row)
            model.learn_one(row, label)

    return {
        "learn": lambda: [model.learn_one(*pair) for pair in zip(rows, labels, strict=True)],
        "score": lambda: [model.predict_proba(row) for row in rows[:300]],
        "score and learn": alternately,
    }


def tuned(data: Data) -> dict[str, Any]:
    frame = data.X.assign(label=data.y)
    return {"fit": lambda: tb.tune(frame, label="label")}


def left_out(data: Data) -> dict[str, Any]:
    model = tb.fit(data.X, data.y, numeric="gaussian", weights=None)
    return {"honest scores": lambda: model.leave_one_out(data.X, label=data.y)}


CASES = {
    "numbers": dense,
    "numbers20": dense,
    "categories": categories,
    "flags": flags,
    "counts": counts,
    "mixed": mixed,
    "text": text,
    "csv": file,
    "parquet": file,
    "stream": stream,
    "tuned": tuned,
    "left_out": left_out,
}
