"""How well `tb.tune` knows what to expect on new rows, and whether the tuned model is better than that of `tb.fit`.

    python -m bench.tune_estimates [NAME ...] [--splits 10] [--seeds 40] [--first 0]

Tables: every tenth name, in the order of the names, of those with at least 500 rows (six tables). Each is divided at
random ten times: `tune` and `fit` get 75 % of the rows, the other 25 % are new to them. The estimate agrees with the
new rows if the two figures differ by at most 1.96 sqrt(e^2 + s^2), where e is the standard error that the estimate
states and s that of the mean over the new rows: so a correct 95 % interval for the expected loss on new rows agrees in
95 % of the splits. Texts of noise: 60 documents of random words with random labels, judged by 4,000 others.

For each set: the share of splits in which log loss and accuracy agree; the mean difference of estimate and new rows,
in log loss; and the mean difference of the log losses of the tuned and the default model on the new rows, with its
standard error (over rows within a split, which are paired, and over splits). Log losses of rows are capped at 20 nats.
"""

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

import tallybayes as tb
from bench.quality import TABLES

LEAST_ROWS, EVERY = 500, 10
MOST_LOSS = 20.0  # nats, as in `bench.quality`
QUANTILE = 1.96  # of the normal distribution, for 95 %
DOCUMENTS, NEW_DOCUMENTS, WORDS, LENGTH = 60, 4000, 300, 30

Rows = tuple[pd.DataFrame, np.ndarray]


def losses(model: tb.Model, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The log loss of every row, and whether the answer is right."""
    p, at = np.asarray(model.predict_proba(rows[0]), np.float64), {one: i for i, one in enumerate(model.classes)}
    codes = np.array([at.get(one, -1) for one in rows[1].tolist()])
    own = np.where(codes >= 0, p[np.arange(len(p)), codes], 0.0)
    return -np.log(np.maximum(own, np.exp(-MOST_LOSS))), p.argmax(axis=1) == codes


def splits(name: str, n: int) -> Iterator[tuple[Rows, Rows]]:
    """Random divisions of a table into rows to learn, 75 %, and new rows."""
    frame = pd.read_parquet(TABLES / f"{name}.parquet")
    label = frame.pop("label").to_numpy()
    for seed in range(n):
        order = np.random.default_rng(seed).permutation(len(label))
        parts = order[: len(label) * 3 // 4], order[len(label) * 3 // 4 :]
        learned, new = ((frame.iloc[rows].reset_index(drop=True), label[rows]) for rows in parts)
        yield learned, new


def noise(n: int) -> Iterator[tuple[Rows, Rows]]:
    """Documents of random words with random labels."""
    for seed in range(n):
        rng, parts = np.random.default_rng(seed), []
        for size in (DOCUMENTS, NEW_DOCUMENTS):
            words = rng.integers(0, WORDS, (size, LENGTH))
            texts = [" ".join(f"word{i}" for i in own) for own in words]
            parts.append((pd.DataFrame({"text": texts}), rng.choice(["a", "b"], size)))
        yield parts[0], parts[1]


def judged(learned: Rows, new: Rows) -> list[float]:
    """Whether log loss and accuracy agree, their differences, and tuned minus default with its standard error."""
    found = tb.tune(learned[0], label=learned[1])
    default = losses(tb.fit(learned[0], label=learned[1]), new)[0]
    tuned, right = losses(found.model, new)
    own, root = found.estimate, len(tuned) ** 0.5
    assert own is not None
    gap, gap_right = own.log_loss - tuned.mean(), own.accuracy - right.mean()
    agrees = abs(gap) <= QUANTILE * np.hypot(own.error, tuned.std() / root)
    agrees_right = abs(gap_right) <= QUANTILE * np.hypot(own.accuracy_error, right.std() / root)
    paired = tuned - default
    return [agrees, agrees_right, gap, gap_right, own.error, tuned.std() / root, paired.mean(), paired.std() / root]


def line(name: str, results: list[list[float]]) -> str:
    """The figures of a set of splits."""
    values = np.array(results, np.float64)
    agree, agree_right, gap, gap_right, error, error_new, paired, error_paired = values.mean(axis=0)
    n = len(values)
    spread = values[:, 2].std() / max(n - 1, 1) ** 0.5
    return (
        f"{name:24s} {agree:6.2f} {agree_right:6.2f}   {gap:+.4f} ({spread:.4f}) {gap_right:+.4f}"
        f"   {error:.4f} {error_new:.4f}   {paired:+.5f} ({error_paired:.5f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=40, help="of noise texts")
    parser.add_argument("--first", type=int, default=0, help="the number of the first table")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    index = pd.read_csv(TABLES / "index.csv").sort_values("name")
    names = asked.names or index[index.rows >= LEAST_ROWS].name.tolist()[asked.first :: EVERY]
    print(
        f"{'':24s} {'agree':>6s} {'(acc)':>6s}   {'estimate - new':16s} {'(acc)':7s}   s.e.   of new   tuned - default"
    )
    every = []
    for name in names:
        every += (own := [judged(*split) for split in splits(name, asked.splits)])
        print(line(name, own), flush=True)
    if every:
        print(line("all tables", every))
    if asked.seeds:
        print(line("texts of noise", [judged(*split) for split in noise(asked.seeds)]))


if __name__ == "__main__":
    main()
