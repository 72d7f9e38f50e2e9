"""What rows without a label add to a few labelled ones: a learning curve with and without them.

    python -m bench.unlabelled news --weight 1 --record       20 Newsgroups by date, 10,000 unlabelled documents
    python -m bench.unlabelled TABLE ... [--labels 30,100]    tables of ../shared/data/tables

The labelled rows of a size are the first of a shuffled table; of newsgroups, as many of each class. The others, up to
10,000, are given without their labels. The figures are accuracy and log loss on other rows, by the labelled rows alone
and with the unlabelled ones; the weight of an unlabelled row, 0 if they are not used (--weight auto); and seconds of
the processor for both fits. Newsgroups have the form of text `PLAIN`, the multinomial of Nigam, McCallum, Thrun and
Mitchell 2000 with idf, of whose figure 3 the picture has the shape; --form gives another one.
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


def news() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The training documents in an order in which every class comes once in twenty, and the test documents."""
    documents = pd.read_parquet(TABLES.parent / "newsgroups20_bydate.parquet", columns=["split", "label", "text"])
    train = documents[documents["split"] == "train"].sample(frac=1, random_state=0)
    train = train.assign(turn=train.groupby("label").cumcount()).sort_values(["turn", "label"])
    return train[["text", "label"]], documents[documents["split"] == "test"][["text", "label"]]


def table(name: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three quarters of the rows of a table, shuffled, and the others."""
    rows = pd.read_parquet(TABLES / f"{name}.parquet").sample(frac=1, random_state=seed)
    n = len(rows) * 3 // 4
    return rows[:n], rows[n:]


def figures(train: pd.DataFrame, test: pd.DataFrame, size: int, weight: object, options: dict) -> dict[str, float]:
    """The figures of one size."""
    labelled, rest = train[:size], train[size : size + N_UNLABELLED].drop(columns="label")
    result: dict[str, float] = {"size": size}
    more = {"alone": {}, "with": {"unlabelled": rest, "unlabelled_weight": weight}}
    for name, data in more.items():
        began = time.process_time()
        model = tb.fit(labelled, label="label", **data, **options)
        result[f"{name}, seconds"] = time.process_time() - began
        judged = tb.evaluate(model, test[test["label"].isin(model.classes)], label="label")
        result |= {name: judged.accuracy, f"{name}, log loss": judged.log_loss}
    return result | {"weight": 0.0 if model.unlabelled is None else model.unlabelled.weight}


def main() -> None:
    """Print a line for each data set and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--labels", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--weight", default="auto", type=lambda text: text if text == "auto" else float(text))
    parser.add_argument("--form", default=PLAIN, help="of the text of newsgroups")
    parser.add_argument("--repeats", type=int, default=1, help="draws of each table")
    parser.add_argument("--record", action="store_true", help="write docs/unlabelled.svg, of newsgroups")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(f"{'':24s} {'labels':>6s} {'alone':>16s} {'with the others':>18s} {'weight':>7s} {'CPU s':>12s}")
    for name in asked.names:
        is_news, lines = name == "news", []
        for size in asked.labels or SIZES["news" if is_news else "table"]:
            options = {"families": {"text": asked.form}} if is_news else {}
            draws = [
                figures(*(news() if is_news else table(name, seed)), size, asked.weight, options)
                for seed in range(1 if is_news else asked.repeats)
            ]
            lines.append({key: float(np.mean([draw[key] for draw in draws])) for key in draws[0]})
            (mean,) = lines[-1:]
            shown = " ".join(f"{mean[key]:9.3f} {mean[key + ', log loss']:7.3f}" for key in ("alone", "with"))
            seconds = f"{mean['alone, seconds']:5.1f} {mean['with, seconds']:6.1f}"
            print(f"{name:24s} {size:6d} {shown} {mean['weight']:8.2f} {seconds}", flush=True)
        if is_news and asked.record:
            unlabelled_picture(lines)


if __name__ == "__main__":
    main()
