"""Learning curves of naive Bayes, logistic regression and the majority class."""

import json

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import tallybayes as tb
from tallybayes.columns.fold_assignment import FoldAssigner
from tallybayes.columns.label_spec import LabelSpec
from tallybayes.errors import DataError, ParameterError
from tallybayes.evaluation.learning_curve import _nest
from tallybayes.tables.table import to_table


def made(n=150, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    shift = np.array([{"a": 0.0, "b": 1.5, "c": 3.0}[label] for label in y])
    x = shift + rng.normal(size=n)
    x[rng.random(n) < 0.1] = np.nan
    kind = np.where(rng.random(n) < 0.7, y, rng.choice(["a", "b", "d"], n))
    return {"x": x, "kind": kind.tolist(), "y": y.tolist()}


HOW = {"families": {"x": "gaussian", "kind": "categorical"}}


def test_all_models_are_trained_and_evaluated_on_the_same_rows():
    """The same curves from scikit-learn's pipeline and a new fit for every size."""
    table, sizes = made(), [30, 95]
    found = tb.compare(table, label="y", sizes=sizes, folds=3, seed=4, **HOW)
    labels = LabelSpec().read(to_table(table), "y")
    fold, y = FoldAssigner(3, 4)(labels), np.array(table["y"])
    X = np.column_stack([table["x"].astype(object), np.array(table["kind"], object)])
    errors = {(model, size): [] for model in ("tallybayes", "logistic", "majority") for size in sizes}
    losses = {key: [] for key in errors}
    for number in range(3):
        order = _nest(labels.codes, np.flatnonzero(fold != number), np.random.default_rng([4, number]))
        test = np.flatnonzero(fold == number)
        for size in sizes:
            rows = order[:size]
            model = tb.fit({name: [values[i] for i in rows] for name, values in table.items()}, label="y", **HOW)
            prepared = ColumnTransformer(
                [
                    ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [0]),
                    ("categories", OneHotEncoder(handle_unknown="ignore"), [1]),
                ]
            )
            logistic = make_pipeline(prepared, LogisticRegression(max_iter=1000)).fit(X[rows], y[rows])
            held_out = {"x": table["x"][test], "kind": [table["kind"][i] for i in test]}
            shares = np.array([(y[rows] == label).mean() for label in "abc"])
            answers = {
                "tallybayes": model.predict_proba(held_out),
                "logistic": logistic.predict_proba(X[test]),
                "majority": np.tile(shares, (len(test), 1)),
            }
            for name, p in answers.items():
                errors[name, size].append((np.array(["a", "b", "c"])[p.argmax(axis=1)] != y[test]).mean())
                losses[name, size].append(log_loss(y[test], p, labels=["a", "b", "c"]))
    assert len(found.rows) == 6
    for row in found.rows:
        key = row["model"], row["size"]
        assert row["error"] == pytest.approx(np.mean(errors[key]), abs=1e-12), key
        assert row["log_loss"] == pytest.approx(np.mean(losses[key]), rel=1e-3), key  # the tolerance of the solver
        assert row["error_se"] == pytest.approx(np.std(errors[key], ddof=1) / np.sqrt(3), abs=1e-12), key
    assert found.curve("majority")[1] > found.curve("tallybayes")[1]


def test_every_prefix_of_the_rows_is_stratified():
    codes = np.random.default_rng(0).choice(3, 600, p=[0.6, 0.3, 0.1]).astype(np.int32)
    rows = np.arange(0, 600, 2)
    order = _nest(codes, rows, np.random.default_rng(1))
    assert sorted(order) == rows.tolist()
    share = np.bincount(codes[rows]) / len(rows)
    for n in range(1, 301):
        assert np.abs(np.bincount(codes[order[:n]], minlength=3) - n * share).max() <= 1.5
    again = _nest(codes, rows, np.random.default_rng(2))
    assert again.tolist() != order.tolist()


def comparison(ours, theirs, majority=None, noise=0.0):
    """Two folds; the noise is added to one of them and taken from the other, for naive Bayes only."""
    sizes = [10 * 2**i for i in range(len(ours))]
    curves = {"tallybayes": ours, "logistic": theirs, "majority": majority or [0.5] * len(ours)}
    rows = []
    for i, size in enumerate(sizes):
        for model, curve in curves.items():
            off = noise if model == "tallybayes" else 0.0
            by_fold = [curve[i] - off, curve[i] + off]
            own = {
                f"{measure}{end}": value
                for measure in ("error", "log_loss")
                for end, value in (("", curve[i]), ("_se", 0.1), ("_by_fold", by_fold))
            }
            rows.append({"model": model, "size": size, **own})
    return tb.Comparison(rows, 100, 2)


@pytest.mark.parametrize(
    ("ours", "theirs", "first", "words"),
    [
        ([0.3, 0.2, 0.2], [0.4, 0.1, 0.1], 20, "logistic regression is best from 20 rows on"),
        ([0.3, 0.2, 0.2], [0.2, 0.3, 0.1], 40, "logistic regression is best from 40 rows on"),
        ([0.3, 0.2, 0.2], [0.2, 0.1, 0.1], 10, "logistic regression is best at every size"),
        ([0.3, 0.2, 0.1], [0.4, 0.3, 0.2], None, "naive Bayes is best at every size"),
        ([0.3, 0.2, 0.1], [0.2, 0.3, 0.2], None, "naive Bayes is best from 20 rows on"),
        ([0.3, 0.2, 0.1], [0.2, 0.3, 0.1], None, "no single model is best with 40 rows"),
        ([0.6, 0.6, 0.6], [0.7, 0.7, 0.7], None, "the majority-class baseline is best at every size"),
        ([0.3, 0.2, np.nan], [0.2, 0.3, 0.1], None, "no single model is best with 40 rows"),
    ],
)
def test_the_conclusion_names_the_best_model_and_from_which_size_on(ours, theirs, first, words):
    found = comparison(ours, theirs)
    assert found.logistic_from() == found.logistic_from("log_loss") == first
    assert f"error: {words}" in str(found)
    assert found.to_dict()["logistic_from"] == {"error": first, "log_loss": first}


def test_a_difference_within_its_standard_error_is_not_called_best():
    found = str(comparison([0.3, 0.2], [0.1, 0.15], noise=0.1))  # the standard error of the difference is 0.1
    words = "logistic regression has the lowest mean at every size, with 20 rows by less than the standard error"
    assert f"error: {words} of the difference" in found


def test_naive_bayes_is_not_called_best_where_the_majority_class_is_better():
    found = comparison([0.4, 0.3], [0.5, 0.35], majority=[0.3, 0.3])
    assert found.best() == ["majority", None]
    assert [line.split()[-1] for line in str(found).splitlines()[2:4]] == ["majority", "tie"]
    assert "naive Bayes" not in str(found)


def test_naive_bayes_is_better_with_few_rows_where_columns_are_independent():
    """Twenty boolean columns, independent given the class (Ng and Jordan, 2002)."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 2000)
    X = (rng.random((2000, 20)) < np.where(y[:, None], 0.6, 0.4)).astype(int)
    found = tb.compare(X, y, sizes=[20, 1600], families="bernoulli", smoothing=1)
    assert found.best()[0] == "tallybayes"
    gaps = np.array(found.curve("logistic")) - np.array(found.curve("tallybayes"))
    assert gaps[0] > gaps[1] > -0.01


def test_texts_tags_and_sparse_counts_are_features_of_logistic_regression():
    rng = np.random.default_rng(0)
    y = rng.choice(["ham", "spam"], 80)
    words = {"ham": ["lunch", "meeting", "today"], "spam": ["cash", "win", "today"]}
    text = [None if i == 5 else " ".join(rng.choice(words[label], 6)) for i, label in enumerate(y)]
    tags = [[str(rng.choice(words[label]))] for label in y]
    found = tb.compare(
        {"text": text, "tags": tags, "y": y},
        label="y",
        folds=2,
        sizes=[2, 40],
        families={"text": "text", "tags": "tags"},
    )
    assert found.curve("logistic")[1] < 0.1
    assert found.curve("tallybayes")[1] < 0.1
    from scipy.sparse import csr_array

    counts = csr_array(rng.poisson(np.where((y == "spam")[:, None], 2.0, 0.5), (80, 4)))
    assert tb.compare(counts, y, folds=2, sizes=[40]).curve("logistic")[0] < 0.3


def test_data_can_be_a_file_or_a_stream_of_batches(tmp_path):
    table = made(120)
    table["y"][7] = None
    whole = tb.compare(table, label="y", folds=2, sizes=[20, 50], infer="type", **HOW)
    batches = ({name: values[i : i + 17] for name, values in table.items()} for i in range(0, 120, 17))
    parts = tb.compare(batches, label="y", folds=2, sizes=[20, 50], infer="type", **HOW)
    assert whole.n_rows == parts.n_rows == 119
    assert [row["error"] for row in whole.rows] == pytest.approx([row["error"] for row in parts.rows])
    path = tmp_path / "t.csv"
    lines = [f"{'' if x != x else x},{k},{y or ''}" for x, k, y in zip(*table.values(), strict=True)]
    lines[3] = "inf,a,a"
    path.write_text("x,kind,y\n" + "\n".join(lines) + "\n")
    with pytest.raises(DataError, match="line 5"):
        tb.compare(path, label="y", **HOW)
    source = tb.read(path, skip_bad=True)
    assert tb.compare(source, label="y", folds=2, sizes=[20], **HOW).n_rows == 118
    assert source.bad.count == 1


def test_without_columns_every_model_is_the_majority_class():
    y = ["a"] * 30 + ["b"] * 2
    found = tb.compare({"x": [None] * 32, "y": y}, label="y", folds=2, sizes=[1, 4, 16])
    for model in ("tallybayes", "logistic"):
        assert found.curve(model) == pytest.approx(found.curve("majority"))
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found)


def test_default_sizes_are_round_numbers_up_to_all_rows():
    assert tb.compare(made(), label="y", folds=3, **HOW).sizes == [10, 20, 50, 99]
    assert tb.compare(made(70), label="y", folds=2, **HOW).sizes == [10, 20, 34]


def test_invalid_arguments_are_refused():
    for wrong in (
        {"sizes": [0]},
        {"sizes": []},
        {"sizes": [1000]},
        {"sizes": [1.5, "x"]},
        {"folds": 1},
        {"seed": -1},
        {"sample_weight": "x"},
    ):
        with pytest.raises(ParameterError):
            tb.compare(made(), label="y", **wrong)
    with pytest.raises(DataError, match="two classes"):
        tb.compare({"x": [1, 2, 3], "y": ["a"] * 3}, label="y")
    with pytest.raises(DataError, match="at least 5 rows"):
        tb.compare({"x": [1, 2, 3], "y": ["a", "a", "b"]}, label="y")
    with pytest.raises(ParameterError):
        comparison([0.1], [0.2]).curve("forest")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "with column weights; preset='textbook'"),
        ({"column_weights": None}, "with no column weights; preset='textbook'"),
        ({"preset": "textbook"}, "the naive Bayes of lectures, with no column weights"),
        ({"preset": "textbook", "column_weights": "auto"}, "the naive Bayes of lectures, with column weights"),
    ],
)
def test_it_says_which_naive_bayes_is_compared(options, words):
    rows = {"x": [1.0, 1.1, 3.0, 3.1] * 10, "y": ["a", "a", "b", "b"] * 10}
    found = tb.compare(rows, "y", sizes=[16], folds=2, **options)
    assert words in str(found)
    assert words in found.to_dict()["naive_bayes"]
