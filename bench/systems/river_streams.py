"""river: rows one at a time."""

from river.naive_bayes import GaussianNB

from bench.steps import Steps
from bench.work import Data

PACKAGE = "river"
ONE_THREAD = True


def stream(data: Data) -> Steps:
    rows, labels = data.X, data.y.tolist()
    model = GaussianNB()
    for row, label in zip(rows[:100], labels[:100], strict=True):
        model.learn_one(row, label)

    def alternately() -> None:
        for row, label in zip(rows[:300], labels, strict=False):
            model.predict_proba_one(row)
            model.learn_one(row, label)

    return {
        "learn": lambda: [model.learn_one(*pair) for pair in zip(rows, labels, strict=True)],
        "score": lambda: [model.predict_proba_one(row) for row in rows[:300]],
        "score and learn": alternately,
    }


CASES = {"stream": stream}
