"""fastText: a linear classifier over averaged word vectors."""

import fasttext

from bench.steps import Steps, fit_and_score
from bench.work import Data

PACKAGE = "fasttext-numpy2"  # the maintained wheels; the original has none and does not know NumPy 2


def text(data: Data) -> Steps:
    path = data.folder / "fasttext.txt"
    lines = (f"__label__{label} {words}\n" for label, words in zip(data.y.tolist(), data.X, strict=True))
    path.write_text("".join(lines))
    return fit_and_score(
        lambda: fasttext.train_supervised(str(path), thread=data.threads, verbose=0),
        lambda fitted: fitted.predict(data.X, k=-1),
    )


CASES = {"text": text}
