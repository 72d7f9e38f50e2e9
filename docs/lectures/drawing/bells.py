"""Pictures of real numbers: the bell, dice, Iris, learning curves and a stream."""

import math
from itertools import pairwise

import altair as alt
import numpy as np
from scipy import stats
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression

import tallybayes as tb
from drawing import BLUE, GREEN, ORANGE, Rows, at, curve, lines

BELL = {"numeric": "gaussian", "estimate": "mle", "class_smoothing": 0}


def bell() -> alt.Chart:
    """The normal density, and the formula without the 2."""
    x = np.linspace(-4, 4, 121)
    rows = curve(x, stats.norm.pdf(x), what="with 2σ²: area 1")
    rows += curve(x, np.exp(-(x**2)) / math.sqrt(2 * math.pi), what="with σ²: area 0.71")
    return lines(rows, "x", "density")


def ways(dice: int) -> np.ndarray:
    """In how many ways each sum of so many dice can be thrown."""
    result = np.array([1])
    for _ in range(dice):
        result = np.convolve(result, np.ones(6, int))
    return result


def dice() -> alt.HConcatChart:
    """Averages of three dice, of ten dice and of ten numbers between 0 and 1, with their bells."""
    panels = []
    for n in (3, 10):
        values, share = np.arange(n, 6 * n + 1) / n, ways(n) / 6**n
        panels.append(_bars_and_bell(values, share * n, 1 / n, f"{n} dice"))
    grid = np.arange(0.01, 1, 0.02)  # the density of a sum of ten uniforms: Irwin and Hall
    k = np.arange(11)
    near = np.minimum(grid, 1 - grid)  # it is symmetric, and the sum loses its digits towards 1
    signs, terms = (-1.0) ** k * [math.comb(10, i) for i in k], np.maximum(10 * near[:, None] - k, 0) ** 9
    panels.append(_bars_and_bell(grid, 10 * terms @ signs / math.factorial(9), 0.02, "10 numbers from 0 to 1"))
    return alt.hconcat(*panels)


def _bars_and_bell(values: np.ndarray, density: np.ndarray, step: float, title: str) -> alt.LayerChart:
    """A distribution as bars of a given width, and the bell that the library fits to it."""
    label = ["all"] * len(values)
    model = tb.fit({"x": values}, label=label, sample_weight=density * step, **BELL, column_weights=None)
    x = np.linspace(values[0], values[-1], 81)
    line = curve(x, np.exp(model.log_joint({"x": x})[:, 0]))
    bars = [row | {"x2": round(float(str(row["x"])) + step, 5)} for row in curve(values - step / 2, density)]
    chart = alt.Chart(alt.Data(values=bars)).mark_bar(color="#c9d6e4", stroke="white", strokeWidth=0.5)
    y_axis = alt.Y("y:Q", title=None, axis=alt.Axis(tickCount=4)).scale(nice=4)  # ends at a tick, as in every panel
    chart = chart.encode(alt.X("x:Q", title="average"), y_axis, x2="x2:Q", y2=alt.Y2Datum(0))
    return (chart + at(line, "line", size=2, color=ORANGE)).properties(width=210, height=170, title=title)


def flowers() -> dict[str, np.ndarray]:
    """Sepal length and width of Iris."""
    iris = load_iris()
    return {"length": iris.data[:, 0], "width": iris.data[:, 1], "species": iris.target_names[iris.target]}


SPECIES = alt.Scale(domain=["setosa", "versicolor", "virginica"], range=[BLUE, ORANGE, GREEN])


def iris_densities() -> alt.HConcatChart:
    """The bells of the three species in each of two features."""
    data, panels = flowers(), []
    model = tb.fit(data, label="species", **BELL, column_weights=None)
    for feature, low, high in (("length", 4, 8.5), ("width", 1.8, 4.6)):
        x = np.linspace(low, high, 91)
        log_prob = model.log_likelihood({feature: x})
        rows = [row for c, name in enumerate(model.classes) for row in curve(x, np.exp(log_prob[:, c]), what=name)]
        panels.append(lines(rows, f"sepal {feature} (cm)", "density", width=280, height=200))
    return alt.hconcat(*panels)


def iris() -> alt.LayerChart:
    """The region of each species, the flowers, and the means as crosses."""
    data = flowers()
    model = tb.fit(data, label="species", **BELL, column_weights=None)
    wide, high = np.linspace(4, 8.2, 211), np.linspace(1.8, 4.6, 57)
    step, rows = (wide[1] - wide[0]) / 2, []
    for y in high:  # each row of the picture is a few rectangles, one per run of the same answer
        codes = model.log_joint({"length": wide, "width": np.full(len(wide), y)}).argmax(axis=1)
        starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
        rows += [
            {
                "x": float((wide[a] - step).round(3)),
                "x2": float((wide[b - 1] + step).round(3)),
                "y": float((y - 0.025).round(3)),
                "y2": float((y + 0.025).round(3)),
                "what": model.classes[codes[a]],
            }
            for a, b in pairwise(starts)
        ]
    x, y = alt.X("x:Q", title="sepal length (cm)"), alt.Y("y:Q", title="sepal width (cm)")
    x, y = x.scale(domain=[4, 8.2], nice=False), y.scale(domain=[1.8, 4.6], nice=False)
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1, symbolSize=60)
    color = alt.Color("what:N", scale=SPECIES, legend=legend)
    regions = alt.Chart(alt.Data(values=rows)).mark_rect(opacity=0.22).encode(x, y, color, x2="x2:Q", y2="y2:Q")
    points = [
        row | {"what": str(s)} for row, s in zip(curve(data["length"], data["width"]), data["species"], strict=True)
    ]
    shapes = alt.Scale(domain=SPECIES.domain, range=["circle", "square", "triangle-up"])
    shape = alt.Shape("what:N", scale=shapes, legend=legend)
    dots = alt.Chart(alt.Data(values=points)).mark_point(size=28, filled=True, opacity=0.9).encode(x, y, color, shape)
    table = model.describe().columns
    means = curve(*(np.array([row["mean"] for row in table[name]]) for name in ("length", "width")))
    crosses = at(means, "point", size=220, shape="cross", filled=True, opacity=1, angle=45, stroke="white")
    return (regions + dots + crosses).properties(width=460, height=320)


def discriminant() -> alt.HConcatChart:
    """Height and weight of two classes: the densities and the boundary of naive Bayes, and of a joint Gaussian."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 500)
    height = rng.normal(np.where(sex == "m", 178, 166), 7)
    weight = 0.9 * height - 90 + np.where(sex == "m", -3, 3) + rng.normal(0, 4, 500)
    data = {"height": height, "weight": weight, "sex": sex}
    some = [row | {"what": str(s)} for row, s in zip(curve(height[:80], weight[:80]), sex[:80], strict=True)]
    color = alt.Color("what:N", scale=SEX, legend=alt.Legend(title=None, orient="top", symbolOpacity=1))
    x = alt.X("x:Q", title="height (cm)").scale(domain=[145, 200], nice=False)
    y = alt.Y("y:Q", title="weight (kg)").scale(domain=[40, 90], nice=False)
    panels = []
    for title, families in (("naive Bayes", "gaussian"), ("joint Gaussian", JOINT)):
        model = tb.fit(data, label="sex", families=families, estimate="mle", class_smoothing=0, column_weights=None)
        people = alt.Chart(alt.Data(values=some)).mark_circle(size=26, opacity=0.55).encode(x, y, color)
        rounds = alt.Chart(alt.Data(values=ellipses(model))).mark_line(size=2).encode(x, y, color, order="i:Q")
        border = alt.Chart(alt.Data(values=boundary(model))).mark_line(size=2.5, color="black").encode(x, y)
        panels.append((people + rounds + border).properties(width=270, height=245, title=title))
    return alt.hconcat(*panels)


JOINT = {("height", "weight"): "joint_gaussian:shared"}
SEX = alt.Scale(domain=["f", "m"], range=[ORANGE, BLUE])


def ellipses(model: tb.Model) -> Rows:
    """Two standard deviations around the mean of each class: where the log density is 2 below its maximum."""
    angle = np.linspace(0, 2 * np.pi, 145)
    step = np.array([np.cos(angle), np.sin(angle)])
    rows: Rows = []
    for c, name in enumerate(model.classes):
        table = [row for column in model.describe().columns.values() for row in column if row["class"] == name]
        mean = np.array([[row["mean"]] for row in table])
        top, beside = (
            model.log_likelihood(dict(zip(("height", "weight"), points, strict=True)))[:, c]
            for points in (mean, mean + step)
        )  # a parabola in every direction, so the drop after one step says how far to go
        points = mean + step * np.sqrt(2 / (top - beside))
        rows += [row | {"i": i} for i, row in enumerate(curve(points[0], points[1], what=str(name)))]
    return rows


def boundary(model: tb.Model) -> Rows:
    """Where both classes are equally probable: for each weight the height at which the log odds change their sign."""
    height = np.linspace(145, 200, 1101)
    rows: Rows = []
    for weight in np.linspace(40, 90, 51):
        log_joint = model.log_joint({"height": height, "weight": np.full(len(height), weight)})
        for i in np.flatnonzero(np.diff(np.sign(log_joint[:, 1] - log_joint[:, 0]))):
            rows.append({"x": round(float(height[i]), 2), "y": float(weight)})
    return rows


def learning_curves(repeats: int = 40) -> alt.HConcatChart:
    """Accuracy by rows learned, of naive Bayes and logistic regression: where the assumption holds, and where not."""
    rng, digits = np.random.default_rng(0), load_digits(n_class=9)
    y = np.repeat([0, 1], 1000)
    theta = np.clip(rng.uniform(0.2, 0.8, 64) + [[0.0], [1.0]] * rng.normal(0, 0.12, 64), 0.02, 0.98)
    drawn, shown = (rng.random((2000, 64)) < theta[y]).astype(int), np.isin(digits.target, [3, 8])
    pixels = (digits.data[shown] > 7).astype(int)
    panels = []
    for title, X, target in (("the assumption holds", drawn, y), ("a written 3 or 8?", pixels, digits.target[shown])):
        rows: Rows = []
        for n in (4, 8, 16, 32, 64, 128, 200):
            naive, logistic = np.mean([accuracies(X, target, n, seed) for seed in range(repeats)], axis=0)
            rows += [{"x": n, "y": round(naive, 4), "what": "naive Bayes"}]
            rows += [{"x": n, "y": round(logistic, 4), "what": "logistic regression"}]
        chart = lines(rows, "rows learned", "accuracy", width=270, height=200).properties(title=title)
        y_axis = alt.Y("y:Q", title="accuracy", axis=alt.Axis(tickCount=5)).scale(zero=False, nice=5)
        panels.append(chart.encode(alt.X("x:Q", title="rows learned").scale(type="log", base=2), y_axis))
    return alt.hconcat(*panels)


def accuracies(X: np.ndarray, y: np.ndarray, n: int, seed: int) -> tuple[float, float]:
    """Of both, on the last 150 rows of a shuffle, learned from the first n, half of them of each class."""
    order = np.random.default_rng(seed).permutation(len(y))
    train = np.concatenate([[i for i in order[:-150] if y[i] == label][: n // 2] for label in np.unique(y)])
    test = order[-150:]
    naive = tb.fit(X[train], label=y[train], families="bernoulli", smoothing=1, column_weights=None)
    logistic = LogisticRegression(solver="newton-cholesky").fit(X[train], y[train])
    return tuple(float((model.predict(X[test]) == y[test]).mean()) for model in (naive, logistic))


def stream() -> alt.Chart:
    """Iris one flower at a time: the share guessed right so far, before each was learned."""
    data = load_iris()
    order = np.random.default_rng(0).permutation(150)
    X, y = data.data[order], data.target_names[data.target[order]]
    model = tb.fit(X[:3], label=y[:3], families="gaussian", column_weights=None)
    right = []
    for i in range(3, 150):
        right.append(model.predict(X[i : i + 1])[0] == y[i])
        model.learn(X[i : i + 1], label=y[i : i + 1])
    share = np.cumsum(right) / np.arange(1, 148)
    rows = curve(np.arange(4, 151), share, what="right")
    return lines(rows, "flowers seen", "share guessed right so far").encode(alt.Y("y:Q", title="guessed right so far"))
