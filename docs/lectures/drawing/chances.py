"""Pictures of chances: urn, table, likelihood, smoothing, the net, symptoms and a sentence."""

import math

import altair as alt
import numpy as np
from scipy import stats

import tallybayes as tb
from drawing import GREEN, RED, Rows, at, balls, by_strength, curve, lines


def urn() -> alt.LayerChart:
    """Bernoulli's urn: eighteen balls in a box that is open at the top."""
    red = [True] * 13 + [False] * 5
    np.random.default_rng(4).shuffle(red)
    rows = [
        {"x": 0.1 + 0.2 * (i % 5), "y": 0.1 + 0.2 * (i // 5), "color": RED if red[i] else "black"} for i in range(18)
    ]
    box = [{"x": x, "y": y, "i": i} for i, (x, y) in enumerate([(0, 1), (0, 0), (1, 0), (1, 1)])]
    wall = at(box, "line", size=3).encode(order="i:Q")
    return balls(rows, width=240, height=240, size=1500) + wall


def table() -> alt.LayerChart:
    """Bayes's table: the first ball and seven others."""
    first, others = 0.36, (0.62, 0.17, 0.88, 0.28, 0.47, 0.05, 0.74)
    heights = (0.12, 0.33, 0.26, 0.1, 0.36, 0.16, 0.4)
    rows: Rows = [{"x": first, "y": 0.25, "color": "black"}]
    rows += [{"x": x, "y": y, "color": RED} for x, y in zip(others, heights, strict=True)]
    line = at([{"x": first, "y": 0}, {"x": first, "y": 0.5}], "line", size=2, strokeDash=[3, 4])
    edge = [{"x": x, "y": y, "i": i} for i, (x, y) in enumerate([(0, 0), (0, 0.5), (1, 0.5), (1, 0), (0, 0)])]
    return balls(rows, width=420, height=210, size=450) + line + at(edge, "line", size=3).encode(order="i:Q")


def table_density() -> alt.Chart:
    """Where the first ball lies, after some of the others."""
    x = np.linspace(0, 1, 101)
    rows: Rows = []
    for n, left in ((0, 0), (1, 0), (3, 1), (7, 3)):
        rows += curve(x, stats.beta(left + 1, n - left + 1).pdf(x), what=f"{left} of {n} on the left")
    return lines(rows, "place of the first ball, π", "density")


def likelihood() -> alt.LayerChart:
    """E(π) for 47 heads in 100 tosses, by the model's own objective."""
    coin = {"toss": ["heads"] * 47 + ["tails"] * 53}

    def error(pi: float) -> float:
        return (
            tb.fit(coin, label="toss", class_prior={"heads": pi, "tails": 1 - pi}, column_weights=None)
            .objective(coin)
            .total
        )

    x = np.arange(0.1, 0.901, 0.01)
    rows = curve(x, np.array([error(float(pi)) for pi in x]), what="E")
    least = curve(np.array([0.47]), np.array([error(0.47)]))
    note = at(least, "text", size=13, dy=-16).encode(text=alt.value("least at 0.47"))
    return lines(rows, "π", "negative log likelihood E(π)") + at(least, "circle", size=90, color=RED, opacity=1) + note


def three_estimates() -> alt.LayerChart:
    """The posterior of a chance after three heads under Beta(2, 2), and three numbers that stand for it."""
    posterior, pi = stats.beta(2 + 3, 2), np.linspace(0, 1, 101)
    heads = {"heads": [True, True, True, False], "coin": ["mine", "mine", "mine", "yours"]}

    def estimate(**options: object) -> float:
        model = tb.fit(heads, label="coin", families={"heads": "bernoulli"}, preset="textbook", **options)
        return model.describe().columns["heads"][0]["P(yes)"]

    marks = {
        "MLE, 1": estimate(estimate="mle"),
        "MAP, 4/5": estimate(smoothing=1),
        "mean (Bayes), 5/7": estimate(smoothing=2),
    }
    rows = [{"x": x, "y": y, "what": what} for what, x in marks.items() for y in (0.0, 2.6)]
    density = at(curve(pi, posterior.pdf(pi)), "line", size=2)
    return density + lines(rows, "chance of heads", "posterior density")


def smoothing() -> alt.Chart:
    """The estimate of an outcome seen twice in three times, by k."""
    ks = 2.0 ** np.arange(-8, 10.01, 0.25)
    seen = {"x": ["a", "a", "b"]}
    models = [tb.fit(seen, label=["all"] * 3, smoothing=float(k), column_weights=None) for k in ks]
    y = np.array([math.exp(model.log_joint({"x": "a"})[0, 0]) for model in models])
    rows = curve(ks, y, what="P(a)")
    return lines(rows, "strength k", "P(a), seen 2 times in 3").encode(by_strength())


def net() -> alt.LayerChart:
    """The Bayes net of naive Bayes: arrows from Y to every feature."""
    places = {"Y": (0.5, 0.85), "F₁": (0.1, 0.2), "F₂": (0.35, 0.2), "…": (0.6, 0.2), "Fₙ": (0.85, 0.2)}
    nodes: Rows = [{"x": x, "y": y, "text": name} for name, (x, y) in places.items()]
    (x0, y0), ends = places["Y"], [node for node in nodes if node["text"] not in "Y…"]
    arrows, heads = [], []
    for node in ends:
        step = np.array([float(str(node["x"])) - x0, float(str(node["y"])) - y0])
        pixels = step * [420, 220]
        start, stop = (step * s / np.hypot(*pixels) for s in (24, np.hypot(*pixels) - 28))
        arrows.append({"x": x0 + start[0], "y": y0 + start[1], "x2": x0 + stop[0], "y2": y0 + stop[1]})
        heads.append({"x": x0 + stop[0], "y": y0 + stop[1], "angle": math.degrees(math.atan2(pixels[0], pixels[1]))})
    plane = {"x": alt.X("x:Q", axis=None).scale(domain=[0, 1]), "y": alt.Y("y:Q", axis=None).scale(domain=[0, 1])}
    lines_ = alt.Chart(alt.Data(values=arrows)).mark_rule(size=2).encode(x2="x2:Q", y2="y2:Q", **plane)
    tips = at(heads, "point", size=110, shape="triangle", filled=True, opacity=1)
    tips = tips.encode(angle=alt.Angle("angle:Q", scale=None))
    circles = at([node for node in nodes if node["text"] != "…"], "point", size=2000, filled=True, color="white")
    circles = circles.encode(stroke=alt.value("black"), strokeWidth=alt.value(2), opacity=alt.value(1))
    names = at(nodes, "text", size=20).encode(text="text:N")
    return (lines_ + tips + circles + names).properties(width=420, height=220)


LEVELS = ["never", "rare", "uncommon", "sometimes", "common"]
ILLNESSES = ["covid", "flu", "cold", "allergies"]
SYMPTOMS = {
    "body aches": "sometimes common uncommon never",
    "cough": "common common sometimes sometimes",
    "diarrhea": "rare sometimes never never",
    "fatigue": "sometimes common sometimes sometimes",
    "fever": "common common rare never",
    "headaches": "sometimes common rare sometimes",
    "itchy eyes": "never never rare common",
    "loss of smell": "sometimes rare rare uncommon",
    "nausea": "rare sometimes never never",
    "runny nose": "uncommon sometimes common common",
    "shortness of breath": "sometimes uncommon never rare",
    "sneezing": "never never common common",
    "sore throat": "sometimes sometimes common rare",
}


def symptoms() -> alt.LayerChart:
    """The table of symptoms, the words also written out for those who see no shades."""
    rows = [
        {"symptom": name, "illness": illness, "level": word}
        for name, words in SYMPTOMS.items()
        for illness, word in zip(ILLNESSES, words.split(), strict=True)
    ]
    shades = alt.Scale(domain=LEVELS, range=["#ffffff", "#eaf0f6", "#c3d4e6", "#8fb1d3", "#4c78a8"])
    chart = alt.Chart(alt.Data(values=rows)).encode(
        alt.X("illness:N", sort=ILLNESSES, title=None).axis(orient="top", labelAngle=0),
        alt.Y("symptom:N", sort=list(SYMPTOMS), title=None).axis(labelLimit=0, minExtent=125),
    )
    cells = chart.mark_rect(stroke="white").encode(alt.Color("level:N", scale=shades, legend=None))
    dark = alt.condition("datum.level == 'common'", alt.value("white"), alt.value("#333"))
    return (cells + chart.mark_text(size=11).encode(text="level:N", color=dark)).properties(width=360, height=330)


def sentence() -> alt.Chart:
    """What each word of "this dog was my puppy" adds to the log odds of animals."""
    words = ["it", "is", "puppy", "cat", "pen", "a", "this"]
    texts = {"it is a puppy": 1, "it is a kitten": 1, "it is a cat": 1, "that is a dog and this is a pen": 1}
    texts["it is a matrix"] = 0

    def presence(text: str) -> dict[str, int]:
        return {word: int(word in text.split()) for word in words}

    rows = [presence(text) | {"animal": label} for text, label in texts.items()]
    model = tb.fit(rows, label="animal", families=dict.fromkeys(words, "bernoulli"), smoothing=1, column_weights=None)
    new = presence("this dog was my puppy")
    parts = model.explain(new)[0].log_odds(1, 0)
    names = {"": "prior"} | {word: word if new[word] else f"no {word}" for word in words}
    bars = [{"part": names[part], "y": round(parts[part], 5) + 0.0} for part in names]
    bars.append({"part": "sum", "y": round(sum(parts.values()), 5)})
    sign = alt.condition("datum.y > 0", alt.value(GREEN), alt.value(RED))
    return (
        alt.Chart(alt.Data(values=bars))
        .mark_bar()
        .encode(
            alt.Y("part:N", sort=[str(bar["part"]) for bar in bars], title=None),
            alt.X("y:Q", title="added to the log odds of animals"),
            color=sign,
        )
        .properties(width=380, height=200)
    )
