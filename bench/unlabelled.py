"""What rows without a label add to a few labelled ones: a learning curve with and without them.

    python -m bench.unlabelled news [--labels 20,100,300]     20 Newsgroups by date, 10,000 unlabelled documents
    python -m bench.unlabelled TABLE ... [--labels 30,100]    tables of ../shared/data/tables

The labelled rows of a size are as many of each class as there are (newsgroups), or the first of a shuffled table. The
figures of a line are accuracy and log loss on other rows: by the labelled rows alone, with the unlabelled rows as `fit`
uses them by default, and with each of them counted as a row (`unlabelled_weight=1`); and the weight that the default
chose, 0 if it does not use them. For newsgroups, the last of these is beside a model of the same form of text
(`PLAIN`, the multinomial of Nigam, McCallum, Thrun and Mitchell 2000 with idf), of whose figure 3 this is the shape.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd

import tallybayes as tb
from bench.quality import TABLES
from bench.unlabelled_picture import unlabelled_picture

PLAIN = "text:variant=counts,tf=log,k=0.1,idf=True,ngrams=1"
N_UNLABELLED = 10_000
SIZES = {"news": (20, 60, 100, 300, 1000, 2000, 5000), "table": (20, 50, 100, 300)}


def news() -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """The training documents in an order in which every class comes once in twenty, the test documents, the label."""
    documents = pd.read_parquet(TABLES.parent / "newsgroups20_bydate.parquet", columns=["split", "label", "text"])
    train = documents[documents["split"] == "train"].sample(frac=1, random_state=0)
    train = train.assign(turn=train.groupby("label").cumcount()).sort_values(["turn", "label"])
    return train[["text", "label"]], documents[documents["split"] == "test"][["text", "label"]], "label"


def table(name: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Three quarters of the rows of a table, shuffled, the others, and the label."""
    rows = pd.read_parquet(TABLES / f"{name}.parquet").sample(frac=1, random_state=seed)
    n = len(rows) * 3 // 4
    return rows[:n], rows[n:], "label"


def figures(model: tb.Model, test: pd.DataFrame, label: str) -> tuple[float, float]:
    """Accuracy and log loss."""
    judged = tb.evaluate(model, test[test[label].isin(model.classes)], label=label)
    return judged.accuracy, judged.log_loss


def line(train: pd.DataFrame, test: pd.DataFrame, label: str, size: int, **options: object) -> dict[str, float]:
    """The figures of one size."""
    labelled, rest = train[:size], train[size : size + N_UNLABELLED].drop(columns=label)
    began = time.process_time()
    alone = tb.fit(labelled, label=label, **options)
    middle = time.process_time()
    chosen = tb.fit(labelled, label=label, unlabelled=rest, **options)
    ended = time.process_time()
    full = tb.fit(labelled, label=label, unlabelled=rest, unlabelled_weight=1, **options)
    result = {"size": size, "seconds": ended - middle, "seconds alone": middle - began}
    for name, model in (("alone", alone), ("default", chosen), ("weight 1", full)):
        result[name], result[f"{name}, log loss"] = figures(model, test, label)
    return result | {"weight": 0.0 if chosen.unlabelled is None else chosen.unlabelled.weight}


def main() -> None:
    """Print a line for each data set and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--labels", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--repeats", type=int, default=1, help="draws of each table")
    parser.add_argument("--record", action="store_true", help="write docs/unlabelled.svg, of newsgroups")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    columns = ("alone", "default", "weight 1")
    print(f"{'':28s} {'labels':>6s} " + " ".join(f"{name + ' acc/loss':>20s}" for name in columns) + "  weight  CPU s")
    for name in asked.names:
        is_news, lines = name == "news", []
        forms = {"default text": {}, "plain text": {"families": {"text": PLAIN}}} if is_news else {name: {}}
        for form, options in forms.items():
            for size in asked.labels or SIZES["news" if is_news else "table"]:
                draws = [
                    line(*(news() if is_news else table(name, seed)), size, **options)
                    for seed in range(1 if is_news else asked.repeats)
                ]
                mean = {key: float(np.mean([draw[key] for draw in draws])) for key in draws[0]}
                lines.append(mean | {"form": form})
                shown = " ".join(f"{mean[key]:12.3f} {mean[key + ', log loss']:7.3f}" for key in columns)
                print(f"{form:28s} {size:6d} {shown}  {mean['weight']:6.2f}  {mean['seconds']:5.1f}", flush=True)
        if is_news and asked.record:
            unlabelled_picture(lines)


if __name__ == "__main__":
    main()
