"""fastText: a linear classifier over averaged word vectors."""

from typing import Any

import fasttext

from bench.work import Data

PACKAGE = "fasttext"


def text(data: Data) -> dict[str, Any]:
    path = data.folder / "fasttext.txt"
    lines = (f"__label__{label} {words}\n" for label, words in zip(data.y.tolist(), data.X, strict=True))
    path.write_text("".join(lines))

    def fit() -> Any:
        return fasttext.train_supervised(str(path), thread=data.threads, verbose=0)

    fitted = fit()
    return {"fit": fit, "predict_proba": lambda: fitted.predict(data.X, k=-1)}


CASES = {"text": text}
