"""Charts: their values are those of the model, and they can be saved."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import ParameterError, UnsupportedError
from tallybayes.reporting.chart_style import PALETTE, colours
from tallybayes.reporting.column_chart_data import column_chart_data
from tallybayes.reporting.model_charts import column_chart

pytest.importorskip("altair")


def rows_of(chart):
    """The rows that a chart or its first layer is drawn from."""
    own = chart if hasattr(chart.data, "values") else chart.layer[0]
    return own.data.values


@pytest.fixture(scope="module")
def iris():
    from sklearn.datasets import load_iris

    found = load_iris(as_frame=True)
    names = {name: name.removesuffix(" (cm)") for name in found.feature_names}
    return found.frame.rename(columns=names).assign(target=found.target_names[found.target])


@pytest.fixture(scope="module")
def model(iris):
    return tb.fit(iris, label="target", numeric="gaussian", column_weights=None)


@pytest.fixture(scope="module")
def evaluation(model, iris):
    return tb.evaluate(model, iris, leave_one_out=True)


def test_densities_of_a_gaussian_are_those_of_the_model(model):
    rows = rows_of(tb.plot.densities(model, "petal length"))
    for row in rows[::40]:
        evidence = model.explain({"petal length": row["x"]})[0].log_evidence["petal length"]
        assert row["p"] == pytest.approx(np.exp(evidence[model.classes.index(row["class"])]))
    for name in model.classes:
        x, p = (np.array([row[key] for row in rows if row["class"] == name]) for key in ("x", "p"))
        assert np.trapezoid(p, x) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("column", ["sepal width", "petal length"])
def test_the_bins_of_a_histogram_add_up_to_one(iris, column):
    rows = column_chart_data(tb.fit(iris, label="target", column_weights=None), column).rows
    for name in set(iris["target"]):
        own = [row for row in rows if row["class"] == name]
        assert sum(row["p"] for row in own) == pytest.approx(1)
        assert all(a["x2"] == b["x"] for a, b in itertools.pairwise(own))


def test_bins_have_the_same_number_of_integers_and_skewed_columns_a_logarithmic_axis():
    rng = np.random.default_rng(0)
    age, gain = rng.integers(17, 91, 900), np.where(rng.random(900) < 0.9, 0, np.exp(rng.normal(8, 1, 900)).round())
    model = tb.fit({"age": age, "gain": gain, "y": np.arange(900) % 2}, label="y", column_weights=None)
    assert {row["x2"] - row["x"] for row in column_chart_data(model, "age").rows} == {4.0}
    one = column_chart_data(model, "gain")
    assert one.constant is not None
    assert 0 in one.ticks
    assert column_chart(one).to_dict()["layer"][0]["encoding"]["x"]["scale"]["type"] == "symlog"


def test_years_at_an_axis_have_no_separator_of_thousands():
    rng = np.random.default_rng(0)
    data = {"year": rng.integers(1990, 2024, 300), "population": rng.integers(1, 9, 300) * 10_000, "y": [0, 1, 2] * 100}
    for families in (None, {"year": "gaussian", "population": "gaussian"}):
        model = tb.fit(data, label="y", families=families, column_weights=None)
        axes = [
            column_chart(column_chart_data(model, name)).to_dict()["layer"][0]["encoding"]["x"]["axis"]
            for name in ("year", "population")
        ]
        assert [axis.get("format") for axis in axes] == ["f", None]


def test_counts_booleans_categories_and_words_have_their_kinds_of_charts():
    rows = {
        "n": [1, 2, 3, 9] * 6,
        "flag": [True, False, True, True] * 6,
        "kind": ["a", "b", "b", "c"] * 6,
        "tags": ["x|y", "y", "z", "z|x"] * 6,
        "y": ["p", "p", "q", "q"] * 6,
    }
    model = tb.fit(rows, label="y", families={"n": "poisson", "flag": "bernoulli", "tags": "tags"}, column_weights=None)
    kinds = {name: column_chart_data(model, name).kind for name in model.schema.families}
    assert kinds == {"flag": "values", "kind": "values", "n": "curve", "tags": "words"}
    bars = {(row["value"], row["class"]): row["p"] for row in column_chart_data(model, "kind").rows}
    assert sum(p for (_, name), p in bars.items() if name == "p") == pytest.approx(1)
    assert bars["a", "p"] > bars["a", "q"]
    words = {row["word"]: row["class"] for row in column_chart_data(model, "tags").rows}
    assert words["y"] == "p"
    assert words["z"] == "q"
    for name in kinds:
        assert tb.plot.densities(model, name).to_dict()["$schema"]


def test_evidence_bars_are_the_explanation(model, iris):
    why = model.explain(iris[70:71])[0]
    rows = rows_of(tb.plot.evidence(why))
    odds = why.log_odds(*why.sides())
    assert rows[0]["column"] == "prior"
    assert {row["column"]: row["decibans"] for row in rows[1:]} == pytest.approx(
        {name: value * 10 / np.log(10) for name, value in odds.items() if name}
    )
    sizes = [abs(row["decibans"]) for row in rows[1:]]
    assert sizes == sorted(sizes, reverse=True)


def test_the_boundary_shows_the_predictions_and_the_class_means(model, iris):
    chart = tb.plot.boundary(model, iris, x="petal length", y="petal width")
    cells, dots, means = (layer.data.values for layer in chart.layer)
    for cell in cells[::97]:
        middle = {"petal length": (cell["x"] + cell["x2"]) / 2, "petal width": cell["y"] + 1e-6}
        assert model.predict_proba_one(middle)[cell["class"]] > 1 / 3
    assert len(dots) == 150
    true = iris.groupby("target")[["petal length", "petal width"]].mean()
    assert {row["class"]: row["x"] for row in means} == pytest.approx(true["petal length"].to_dict())
    area = sum((cell["x2"] - cell["x"]) * (cell["y2"] - cell["y"]) for cell in cells)
    assert area == pytest.approx(1.12**2 * 5.9 * 2.4)


def test_a_display_draws_the_boundary_of_an_estimator(iris):
    from sklearn.linear_model import LogisticRegression

    names = ["petal length", "petal width"]
    for fitted in (tb.NaiveBayesClassifier(), LogisticRegression(max_iter=500)):
        X = iris[names] if isinstance(fitted, LogisticRegression) else iris.drop(columns="target")
        fitted.fit(X, iris["target"])
        display = tb.plot.BoundaryDisplay.from_estimator(fitted, X, iris["target"], features=names)
        assert {cell["class"] for cell in rows_of(display.chart_)} == set(iris["target"])
        plain = tb.plot.BoundaryDisplay.from_estimator(
            fitted.fit(X.to_numpy(), iris["target"]), X.to_numpy(), iris["target"]
        )
        assert len(plain.chart_.layer) == 3
    estimator = tb.NaiveBayesClassifier().fit(iris[names], iris["target"])
    assert rows_of(tb.plot.DensitiesDisplay.from_estimator(estimator, "petal width").chart_)


def test_the_curves_are_those_of_the_evaluation(evaluation):
    cells = rows_of(tb.plot.confusion(evaluation))
    assert sum(cell["rows"] for cell in cells if cell["true"] == cell["predicted"]) == evaluation.matrix().trace()
    label = "versicolor"
    reliable = rows_of(tb.plot.reliability(evaluation, label).layer[1])
    assert [row["observed"] for row in reliable] == [row["observed"] for row in evaluation.reliability(10, label)]
    found = rows_of(tb.plot.roc(evaluation, label).layer[1])
    assert [row["tpr"] for row in found] == evaluation.roc(label)[1].tolist()
    assert {row["class"] for row in rows_of(tb.plot.precision_recall(evaluation))} == set(evaluation.classes)


def test_long_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(0)
    evaluation = tb.Evaluation()
    p = rng.random(20_000)
    evaluation.add([False, True], (rng.random(20_000) < p).tolist(), np.log(np.stack([1 - p, p], axis=1)))
    rows = rows_of(tb.plot.roc(evaluation).layer[1])
    assert len(rows) < 200
    assert (rows[0]["fpr"], rows[0]["tpr"], rows[-1]["fpr"], rows[-1]["tpr"]) == (0, 0, 1, 1)
    x, y = ([row[key] for row in rows] for key in ("fpr", "tpr"))
    assert np.trapezoid(y, x) == pytest.approx(evaluation.auc, abs=1e-3)


def test_importance_tuning_and_learning_curves_accept_results_or_plain_values(iris):
    assert [row["column"] for row in rows_of(tb.plot.importance({"a": 1.0, "b": 2.0}))] == ["b", "a"]
    found = tb.importance(tb.fit(iris, label="target", column_weights=None), iris)
    for measure in ("gain", "information"):
        drawn = {row["column"]: row["importance"] for row in rows_of(tb.plot.importance(found, measure))}
        assert drawn == {one.column: getattr(one, measure) for one in found.columns}
    with pytest.raises(ParameterError, match="measure"):
        tb.plot.importance(found, "beauty")
    steps = [{"k": 0, "log_loss": 0.4}, {"k": 1, "log_loss": 0.3}, {"k": 10, "log_loss": 0.5}]
    chart = tb.plot.tuning(steps)
    assert chart.layer[1].data.values == [{"x": 1, "y": 0.3}]
    comparison = tb.compare(iris, label="target", sizes=[15, 60], folds=3)
    rows = rows_of(tb.plot.learning_curves(comparison))
    assert {row["model"] for row in rows} == {"tallybayes", "logistic", "majority"}
    assert rows_of(tb.plot.learning_curves(comparison.rows, "log_loss"))[0]["value"] == comparison.rows[0]["log_loss"]


@pytest.mark.parametrize("ending", ["png", "svg", "html"])
def test_charts_can_be_saved(model, tmp_path, ending):
    path = tmp_path / f"chart.{ending}"
    tb.plot.densities(model, "petal length").save(path, **({"inline": True} if ending == "html" else {}))
    start = {"png": b"\x89PNG", "svg": b"<svg", "html": b"<!DOCTYPE html>"}[ending]
    assert path.read_bytes().startswith(start)


def test_a_class_has_the_same_colour_in_every_chart():
    every = ["a", "b", "c"]
    assert colours(["c"], every).to_dict() == {"domain": ["c"], "range": [PALETTE[2]]}
    assert len(set(PALETTE)) == 7


def test_unknown_columns_and_models_are_refused(model, iris):
    with pytest.raises(ParameterError, match="did you mean 'petal length'"):
        tb.plot.densities(model, "petal lenght")
    with pytest.raises(ParameterError, match="a column of the data"):
        tb.plot.boundary(model, iris, x="petal length", y="petals")
    with pytest.raises(ParameterError, match="a model"):
        tb.plot.densities(iris, "petal length")


def test_without_altair_the_error_has_the_install_command(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'tallybayes\[report\]'"):
        tb.plot.densities(model, "petal length")


def test_altair_is_imported_with_the_first_chart():
    code = "import sys, tallybayes as tb; tb.plot; print('altair' in sys.modules, 'vl_convert' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_line_separators_in_names_are_drawn(tmp_path):
    """Vega reads U+2028 and U+2029 as line ends and fails to parse the names."""
    rows = {"crop\u2028": ["a\u2028b", "c", "d\u2029", "c"] * 5, "soil": ["x\u2028y", "x\u2028y", "z", "z"] * 5}
    model = tb.fit(rows, label="soil", families={"crop\u2028": "categorical"}, column_weights=None)
    evaluation = tb.evaluate(model, rows)
    for chart in (
        tb.plot.densities(model, "crop\u2028"),
        tb.plot.evidence(model.explain(rows)[0]),
        tb.plot.importance(tb.importance(model, rows)),
        tb.plot.confusion(evaluation),
        tb.plot.roc(evaluation, "x\u2028y"),
    ):
        chart.save(tmp_path / "chart.svg")
        assert "\u21b5" in (tmp_path / "chart.svg").read_text()


def test_a_notebook_shows_a_chart_without_a_network(model, iris, evaluation, tmp_path):
    import altair as alt

    display = tb.plot.BoundaryDisplay.from_estimator(
        tb.NaiveBayesClassifier().fit(iris.drop(columns="target"), iris["target"]),
        iris.drop(columns="target"),
        iris["target"],
    )
    charts = [
        tb.plot.densities(model, "petal length").properties(width=100),
        tb.plot.evidence(model.explain(iris[:1])[0]),
        tb.plot.confusion(evaluation),
        (tb.plot.roc(evaluation) | tb.plot.reliability(evaluation)) & tb.plot.confusion(evaluation),
        display,
    ]
    for chart in charts:
        bundle, facts = chart._repr_mimebundle_()
        assert bundle["image/png"].startswith(b"\x89PNG")
        assert facts["image/png"]["width"] > 100
    assert alt.renderers.active == "default"
    with alt.renderers.enable("html"):  # as the user wants
        assert list(charts[0]._repr_mimebundle_()) == ["text/html"]
    charts[0].save(str(tmp_path / "chart.html"))
    assert "https://cdn" not in (tmp_path / "chart.html").read_text(encoding="utf-8")
    charts[0].save(str(tmp_path / "chart.html"), inline=False)
    assert "https://cdn" in (tmp_path / "chart.html").read_text(encoding="utf-8")
    charts[0].save(str(tmp_path / "chart.svg"))
