"""Pictures of data that comes in files: the films, and k for a spam filter. Each takes the folder with the file."""

import math
from pathlib import Path

import altair as alt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tallybayes as tb
from drawing import BLUE, GREY, by_strength, curve, lines


def films(folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray, dict[str, str]]:
    """Year, body count and genres of the films, whether they are rated R, and a family for each column."""
    table = pq.read_table(folder / "movie_body_count.parquet").to_pydict()
    sets = [text.split("|") for text in table["Genre"]]
    genres = sorted({genre for one in sets for genre in one})
    X = {name: np.array(table[name], float) for name in ("Year", "Body_Count")}
    X |= {genre: np.array([genre in one for one in sets]) for genre in genres}
    families = dict.fromkeys(X, "bernoulli") | {"Year": "gaussian", "Body_Count": "gaussian"}
    return X, np.array(table["MPAA_Rating"]) == "R", families


def films_features(folder: Path) -> alt.Chart:
    """The Bayes factor of each feature, in decibans."""
    X, y, families = films(folder)
    train = np.random.default_rng(0).permutation(len(y))[:200]
    data = {name: column[train] for name, column in X.items()}
    apart, together = (
        tb.fit(data, label=label, families=families, smoothing=1, column_weights=None).log_evidence()
        for label in (y[train], ["film"] * len(train))
    )
    rows = [{"part": name, "y": round(10 / math.log(10) * (apart[name] - together[name]), 2)} for name in X]
    rows.sort(key=lambda row: -row["y"])
    sign = alt.condition("datum.y > 0", alt.value(BLUE), alt.value(GREY))
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            alt.Y("part:N", sort=[str(row["part"]) for row in rows], title=None),
            alt.X("y:Q", title="decibans for (and against) depending on the rating"),
            color=sign,
        )
        .properties(width=380, height=360)
    )


def films_threshold(folder: Path) -> alt.Chart:
    """Films shown as safe, by threshold: those rated R, which should not be, and the others."""
    X, y, families = films(folder)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = ({name: column[part] for name, column in X.items()} for part in (order[:200], order[200:]))
    model = tb.fit(train, label=y[order[:200]], families=families, smoothing=1, class_smoothing=0, column_weights=None)
    p, rated = model.predict_proba(test)[:, 1], y[order[200:]]
    x = np.unique([0.001, 0.5, *np.clip(p, 0.001, 0.7)])  # counts change at the probabilities only
    rows = curve(x, np.array([(p[~rated] < t).sum() for t in x]), what="others, shown")
    rows += curve(x, np.array([(p[rated] < t).sum() for t in x]), what="rated R, shown by mistake")
    least = round(float(p[rated].min()), 5)
    ticks = alt.Axis(values=[0.001, least, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5], format=".1~g", grid=True)
    counts = alt.Axis(values=[0, 1, 2, 5, 10, 20, 50, 100], grid=True)
    return (
        lines(rows, "shown if P(R) is below", "films")
        .mark_line(interpolate="step-before")
        .encode(
            alt.X("x:Q", title="shown if P(R) is below", axis=ticks).scale(type="log", domain=[0.001, 0.7], nice=False),
            alt.Y("y:Q", title="films", axis=counts).scale(type="symlog", constant=1),
        )
    )


def spam_k(folder: Path) -> alt.HConcatChart:
    """Log loss on validation sets, the mean of eight splits, and the evidence of the training sets, by k."""
    texts = pq.read_table(folder / "sms_spam.parquet")
    messages = texts.group_by(["label", "text"], use_threads=False).aggregate([])
    train, validation, _ = tb.split(messages, label="label", parts=(60, 20, 20), seed=0)
    rest = pa.concat_tables([train, validation])
    splits = [tb.split(rest, label="label", parts=(75, 25), seed=seed) for seed in range(8)]
    family = {"text": tb.Text(variant="presence")}
    ks, loss, evidence = 2.0 ** np.arange(-9, 2.01, 0.5), [], []
    for k in ks:
        models = [
            tb.fit(train, label="label", families=family, smoothing=float(k), column_weights=None)
            for train, _ in splits
        ]
        losses = [tb.evaluate(model, split[1]).log_loss for model, split in zip(models, splits, strict=True)]
        loss.append(np.mean(losses))
        evidence.append(np.mean([model.log_evidence()["text"] / splits[0][0].num_rows for model in models]))
    panels = [
        lines(curve(ks, np.array(loss), what="loss"), "k", "log loss, validation set", width=270, height=200),
        lines(curve(ks, np.array(evidence), what="log"), "k", "log evidence per message", width=270, height=200),
    ]
    log_scale = alt.Scale(type="log", domain=[0.05, 5], nice=False)
    panels[0] = panels[0].encode(alt.Y("y:Q", title="log loss, validation sets", scale=log_scale))
    return alt.hconcat(*(panel.encode(by_strength()) for panel in panels))
