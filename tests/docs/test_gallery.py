"""The lecture gallery: every page runs, every link leads somewhere, and the pictures show the right numbers."""

import doctest
import math
import os
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris

GALLERY = Path(__file__).parents[2] / "docs" / "lectures"
PAGES = sorted(GALLERY.glob("*.md"))


def data_folder():
    """Where data files are: as the user says, or beside the project."""
    return Path(os.environ.get("TALLYBAYES_DATA", GALLERY.parents[2] / "shared" / "data"))


def needed(page):
    """The files that a page asks for at its head."""
    return re.findall(r"^<!-- needs: (\S+) -->$", page.read_text(), re.MULTILINE)


def case(page):
    """A page as a parameter, marked if it needs data files."""
    return pytest.param(page, id=page.stem, marks=[pytest.mark.shared_data] if needed(page) else [])


@pytest.mark.parametrize("page", [*map(case, PAGES)])
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    for name in needed(page):
        if not (data_folder() / name).exists():
            pytest.skip(f"{name} is not on this machine")
        (tmp_path / name).symlink_to((data_folder() / name).resolve())
        if name == "movie_body_count.parquet":
            pytest.importorskip("pandas")
    monkeypatch.delenv("TALLYBAYES_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.failed == 0
    assert result.attempted > 0 or page.name == "README.md"


def anchors(page):
    """The anchors of a page's headings, as they are made for display."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_link_leads_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links
    for link in links:
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_index_names_every_page_and_the_pages_show_every_picture():
    index = (GALLERY / "README.md").read_text()
    assert all(f"({page.name}" in index for page in PAGES if page.name != "README.md")
    shown = {name for page in PAGES for name in re.findall(r"!\[[^\]]+\]\(([\w-]+\.svg)\)", page.read_text())}
    drawn = {path.name for path in GALLERY.glob("*.svg")}
    assert shown == drawn
    assert all((GALLERY / name).stat().st_size < 60_000 for name in drawn)


# The pictures


@pytest.fixture(scope="module")
def pictures():
    """The script that draws them."""
    pytest.importorskip("altair")
    sys.path.insert(0, str(GALLERY))
    try:
        import pictures
    finally:
        sys.path.remove(str(GALLERY))
    return pictures


def layers(chart):
    """The rows behind every layer of a chart."""
    spec = chart.to_dict()
    parts = [spec]
    for part in parts:
        parts += [inner for key in ("layer", "hconcat") for inner in part.get(key, [])]
    return [part["data"]["values"] for part in parts if "values" in part.get("data", {})]


def points(rows, *, what=None):
    """The x and y of rows, of one curve."""
    own = [row for row in rows if what is None or row["what"] == what]
    return np.array([row["x"] for row in own]), np.array([row["y"] for row in own])


def test_there_is_a_drawing_for_every_picture(pictures):
    assert {f"{name}.svg" for name in [*pictures.PICTURES, *pictures.OF_DATA]} == {
        path.name for path in GALLERY.glob("*.svg")
    }


def test_pictures_are_written_as_files(pictures, tmp_path, monkeypatch, capsys):
    pytest.importorskip("vl_convert")
    monkeypatch.setattr(pictures, "PICTURES", {"urn": pictures.PICTURES["urn"]})
    pictures.main(tmp_path, tmp_path)
    assert (tmp_path / "urn.svg").read_text().startswith("<svg")
    assert capsys.readouterr().err.count("is left as it is") == len(pictures.OF_DATA)


def test_the_urn_and_the_table_hold_the_balls_that_are_told_of(pictures):
    urn, _ = layers(pictures.PICTURES["urn"]())
    assert len({(ball["x"], ball["y"]) for ball in urn}) == 18
    assert sum(ball["color"] != "black" for ball in urn) == 13
    first, *others = layers(pictures.PICTURES["table"]())[0]
    assert [ball["x"] < first["x"] for ball in others].count(True) == 3
    assert len(others) == 7


def test_the_likelihood_is_least_at_the_frequency(pictures):
    rows, least, *_ = layers(pictures.PICTURES["likelihood"]())
    pi, error = points(rows)
    assert error == pytest.approx(-47 * np.log(pi) - 53 * np.log1p(-pi), rel=1e-4)
    assert pi[error.argmin()] == pytest.approx(0.47)
    assert least[0]["x"] == 0.47


def test_densities_have_an_area_of_one(pictures):
    (rows,) = layers(pictures.PICTURES["table-density"]())
    for n, left in ((0, 0), (1, 0), (3, 1), (7, 3)):
        x, y = points(rows, what=f"{left} of {n} on the left")
        assert np.trapezoid(y, x) == pytest.approx(1, abs=1e-3)
        assert np.trapezoid(x * y, x) == pytest.approx((left + 1) / (n + 2), abs=1e-3)
    for rows in layers(pictures.PICTURES["iris-densities"]()):
        for species in ("setosa", "versicolor", "virginica"):
            x, y = points(rows, what=species)
            assert np.trapezoid(y, x) == pytest.approx(1, abs=0.01)
    (rows,) = layers(pictures.PICTURES["bell"]())
    areas = [np.trapezoid(*points(rows, what=what)[::-1]) for what in dict.fromkeys(row["what"] for row in rows)]
    assert areas == pytest.approx([1, 1 / math.sqrt(2)], abs=1e-3)


def test_the_three_estimates_of_a_chance(pictures):
    density, marks = layers(pictures.PICTURES["three-estimates"]())
    x, y = points(density)
    assert np.trapezoid(y, x) == pytest.approx(1, abs=1e-3)
    likely, probable, mean = (points(marks, what=what)[0][0] for what in dict.fromkeys(row["what"] for row in marks))
    assert likely == 1
    assert probable == pytest.approx(x[y.argmax()])
    assert mean == pytest.approx(np.trapezoid(x * y, x), abs=1e-3)


def test_the_smoothed_estimate_falls_from_frequency_to_uniform(pictures):
    k, p = points(layers(pictures.PICTURES["smoothing"]())[0])
    assert p == pytest.approx((2 + k) / (3 + 2 * k), rel=1e-4)


def test_the_symptoms_are_those_of_the_page(pictures):
    cells = {(cell["symptom"], cell["illness"]): cell["level"] for cell in layers(pictures.PICTURES["symptoms"]())[0]}
    text = (GALLERY / "tests-and-symptoms.md").read_text()
    told = dict(re.findall(r'"([a-z ]+)": "((?:\w+ ){3}\w+)"', text))
    assert len(cells) == 4 * len(told) == 4 * 13
    for symptom, words in told.items():
        assert [cells[symptom, illness] for illness in ("covid", "flu", "cold", "allergies")] == words.split()


def test_the_bars_of_the_sentence_add_up(pictures):
    bars = {bar["part"]: bar["y"] for bar in layers(pictures.PICTURES["sentence"]())[0]}
    assert bars.pop("sum") == pytest.approx(math.log(Fraction(5, 8)), abs=1e-4)
    assert sum(bars.values()) == pytest.approx(math.log(Fraction(5, 8)), abs=1e-4)


def test_the_dice_are_thrown_in_all_ways(pictures):
    panels = layers(pictures.PICTURES["dice"]())
    three, bell = panels[:2]
    x, y = points(three)
    assert np.array(y) / 3 * 216 == pytest.approx([1, 3, 6, 10, 15, 21, 25, 27, 27, 25, 21, 15, 10, 6, 3, 1], rel=1e-3)
    x, y = points(bell)
    assert y == pytest.approx(stats.norm(3.5, math.sqrt(35 / 36)).pdf(x), rel=1e-3)
    x, y = points(panels[5])  # of ten numbers between 0 and 1
    assert y == pytest.approx(stats.norm(0.5, math.sqrt(1 / 120)).pdf(x), rel=0.02)


def test_the_borders_of_iris_are_where_the_classes_are_equally_likely(pictures):
    regions, flowers, means = layers(pictures.PICTURES["iris"]())
    X, y = load_iris(return_X_y=True)
    bells = [stats.norm(X[y == c, :2].mean(axis=0), X[y == c, :2].std(axis=0)) for c in range(3)]
    names = ["setosa", "versicolor", "virginica"]
    for box in regions:
        middle = np.array([(box["x"] + box["x2"]) / 2, (box["y"] + box["y2"]) / 2])
        assert names[int(np.argmax([bell.logpdf(middle).sum() for bell in bells]))] == box["what"]
    assert len(flowers) == 150
    assert sorted((m["x"], m["y"]) for m in means) == [(5.006, 3.428), (5.936, 2.77), (6.588, 2.974)]


def test_the_boundaries_of_discriminant_analysis_are_where_both_classes_are_equally_probable(pictures):
    """By SciPy, from the people of the picture; the ellipses are two standard deviations from the mean."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 500)
    height = rng.normal(np.where(sex == "m", 178, 166), 7)
    weight = 0.9 * height - 90 + np.where(sex == "m", -3, 3) + rng.normal(0, 4, 500)
    people = {name: np.stack([height, weight])[:, sex == name] for name in "fm"}
    pooled = sum(np.cov(some, bias=True) * some.shape[1] for some in people.values()) / 500
    chart = pictures.PICTURES["discriminant"]()
    for panel, is_joint in zip(chart.hconcat, (False, True), strict=True):
        _, rounds, border = layers(panel)
        matrices = {name: pooled if is_joint else np.diag(some.var(axis=1)) for name, some in people.items()}
        bells = {n: stats.multivariate_normal(people[n].mean(axis=1), matrices[n]) for n in "fm"}
        log_prior = {name: math.log(some.shape[1] / 500) for name, some in people.items()}
        points_of_border = [[row["x"], row["y"]] for row in border]
        odds = [log_prior[name] + bells[name].logpdf(points_of_border) for name in "fm"]
        assert len(border) > 20
        assert np.allclose(odds[0], odds[1], atol=0.05)  # heights are 0.05 cm apart
        for name in "fm":
            away = np.array([[row["x"], row["y"]] for row in rounds if row["what"] == name]) - bells[name].mean
            assert np.einsum("ri,ij,rj->r", away, np.linalg.inv(matrices[name]), away) == pytest.approx(4, rel=0.01)


def test_learning_curves_cross_where_the_assumption_is_wrong(pictures):
    holds, digits = layers(pictures.bells.learning_curves(repeats=10))
    naive, logistic = (points(holds, what=what)[1] for what in ("naive Bayes", "logistic regression"))
    assert naive[-1] > logistic[-1] + 0.02
    naive, logistic = (points(digits, what=what)[1] for what in ("naive Bayes", "logistic regression"))
    assert naive[-1] < logistic[-1]


def test_the_stream_ends_with_the_share_that_was_right(pictures):
    seen, share = points(layers(pictures.PICTURES["stream"]())[0])
    assert seen.tolist() == list(range(4, 151))
    right = np.round(share * (seen - 3))
    assert set(np.diff(right)) <= {0, 1}
    assert share[-1] > 0.9


def test_pictures_of_data_agree_with_the_pages(pictures, shared_data):
    bars = {bar["part"]: bar["y"] for bar in layers(pictures.files.films_features(shared_data))[0]}
    page = (GALLERY / "films.md").read_text()
    for name, value in re.findall(r"^(\w[\w-]+) +([+-]\d+\.\d)$", page, re.MULTILINE):
        assert bars[name] == pytest.approx(float(value), abs=0.06), name
    (rows,) = layers(pictures.files.films_threshold(shared_data))
    (x, others), (_, rated) = (points(rows, what=what) for what in ("others, shown", "rated R, shown by mistake"))
    half = int(np.flatnonzero(x == 0.5)[0])
    assert [others[half], rated[half]] == [89, 44]  # the confusion matrix of the page
    assert "[[89, 46], [44, 166]]" in page
    loss, evidence = layers(pictures.files.spam_k(shared_data))
    (k, y), (_, log) = points(loss), points(evidence)
    assert 0.03 < k[y.argmin()] < 0.3
    assert 0.03 < k[log.argmax()] < 0.3
