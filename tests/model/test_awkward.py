"""What the awkward cases mean, one test per case (ARCHITECTURE.md lists them)."""

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import CountError, DataError, ForgetError, ParameterError, UnsupportedError

PETS = [
    {"legs": 4, "sound": "woof", "weight": 20.0, "pet": "dog"},
    {"legs": 4, "sound": "woof", "weight": 30.0, "pet": "dog"},
    {"legs": 4, "sound": "miaow", "weight": 4.0, "pet": "cat"},
    {"legs": 2, "sound": "tweet", "weight": 0.1, "pet": "bird"},
]


@pytest.fixture
def model():
    return tb.fit(PETS, label="pet")


@pytest.mark.parametrize("gap", [None, float("nan"), np.nan])
def test_a_missing_feature_is_silent(model, gap):
    with_gap = model.log_score([{"sound": "woof", "weight": gap, "legs": gap}])
    assert np.array_equal(with_gap, model.log_score([{"sound": "woof"}]))
    before = model.copy()
    before.learn([{"sound": "woof", "pet": "dog"}])
    model.learn([{"sound": "woof", "weight": gap, "pet": "dog"}])
    assert model == before


def test_a_row_of_gaps_gets_the_prior(model):
    assert np.allclose(model.predict_proba({})[0], [2 / 7, 2 / 7, 3 / 7])


def test_a_missing_label_is_skipped_and_counted():
    with pytest.warns(tb.DataWarning, match="1 of 5 rows have no label and were left out"):
        model = tb.fit([*PETS, {"sound": "moo", "pet": None}], label="pet")
    assert model.skipped == 1
    assert [one.kind for one in model.doubts] == ["rows"]
    assert model.same_counts(tb.fit(PETS, label="pet"))
    change = model.learn([{"sound": "woof", "pet": None}, PETS[0]])
    assert (change.rows, change.skipped) == (1, 1)


def test_an_unseen_category_takes_the_priors_share():
    model = tb.fit({"sound": ["woof", "woof", "miaow"], "pet": ["dog", "dog", "cat"]}, label="pet", smoothing=1.0)
    cat, dog = np.exp(model.log_score({"sound": "moo"})[0] - np.log([2 / 5, 3 / 5]))
    assert cat == pytest.approx(1 / (1 + 3))
    assert dog == pytest.approx(1 / (2 + 3))


def test_an_unseen_category_can_be_silent():
    model = tb.fit(PETS, label="pet", unseen="missing")
    assert np.array_equal(model.log_score({"sound": "moo"}), model.log_score({}))


def test_seen_categories_add_up_to_one_over_the_seen_axis():
    for smoothing in (0.5, 1.0, "auto", np.inf):
        model = tb.fit(
            PETS, label="pet", families={"sound": "categorical"}, ignore=["legs", "weight"], smoothing=smoothing
        )
        total = sum(np.exp(model.log_score({"sound": s})[0]) for s in ("woof", "miaow", "tweet"))
        assert np.allclose(total, np.exp(model.log_score({})[0]))


def test_an_unseen_token_is_silent():
    model = tb.fit({"words": [["a", "b"], ["c"]], "y": [0, 1]}, label="y")
    assert np.array_equal(model.log_score({"words": [["zebra"]]}), model.log_score({"words": [[]]}))


def test_new_labels_categories_tokens_and_columns_are_learned(model):
    model.learn([{"sound": "moo", "weight": 700.0, "milk": True, "words": ["grass"], "pet": "cow"}])
    assert model.classes == ["bird", "cat", "cow", "dog"]
    assert model.predict({"sound": "moo", "weight": 650.0}).tolist() == ["cow"]
    assert {"milk", "words"} <= model.schema.families.keys()
    assert "new column" in model.schema.columns["milk"].reason


def test_a_new_column_counts_earlier_rows_as_missing(model):
    model.learn([{"tail": True, "pet": "dog"}, {"tail": False, "pet": "cat"}])
    together = tb.fit(
        [*PETS, {"tail": True, "pet": "dog"}, {"tail": False, "pet": "cat"}],
        label="pet",
        families={"tail": "bernoulli"},
    )
    assert model.same_counts(together)


def test_a_column_absent_from_a_batch_is_missing(model):
    short = [{"sound": row["sound"], "pet": row["pet"]} for row in PETS]
    model.learn(short)
    assert model.class_counts == {"bird": 2, "cat": 2, "dog": 4}
    assert np.isfinite(model.log_score({"weight": 3.0})).all()


@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_infinity_is_refused_with_its_place(numeric, value):
    with pytest.raises(DataError, match=r"column 'x', row 2: expected a finite number, got -?inf") as caught:
        tb.fit({"x": [1.0, 2.0, value], "y": [0, 1, 0]}, label="y", numeric=numeric)
    assert (caught.value.column, caught.value.row) == ("x", 2)
    model = tb.fit({"x": [1.0, 2.0, 3.0], "y": [0, 1, 0]}, label="y", numeric=numeric)
    with pytest.raises(DataError, match="column 'x', row 1"):
        model.predict_proba({"x": [1.0, value]})


@pytest.mark.parametrize(
    ("column", "value", "expected"), [("weight", "heavy", "a number"), ("legs", "four", "a number")]
)
def test_a_wrong_type_is_refused_with_column_row_and_value(model, column, value, expected):
    before = model.copy()
    for action in (model.predict_proba, lambda rows: model.learn([{**row, "pet": "dog"} for row in rows])):
        with pytest.raises(DataError, match=expected) as caught:
            action([{column: PETS[0][column]}, {column: value}])
        assert caught.value.column == column
        assert caught.value.got == value
    assert model == before


def test_a_flag_other_than_yes_or_no_is_refused():
    model = tb.fit({"f": [0, 1, 1], "y": [0, 1, 1]}, label="y", families={"f": "bernoulli"})
    for bad in (2, -1, 0.5):
        with pytest.raises(DataError, match="column 'f', row 1: expected a boolean"):
            model.predict_proba({"f": [1, bad]})


@pytest.mark.parametrize("bad", [-1, 0.5])
def test_poisson_wants_counts(bad):
    with pytest.raises(DataError, match="column 'n', row 1: expected an integer"):
        tb.fit({"n": [1, bad], "y": [0, 1]}, label="y", families={"n": "poisson"})


def test_ties_go_to_the_label_first_in_sorted_order():
    model = tb.fit({"x": [1, 1], "y": ["b", "a"]}, label="y", families={"x": "categorical"})
    assert model.predict([{"x": 1}, {}]).tolist() == ["a", "a"]


def test_no_rows_is_a_valid_model():
    model = tb.fit({"x": [], "y": []}, label="y")
    assert model.classes == []
    with pytest.raises(DataError, match="any row yet"):
        model.predict({"x": [1.0]})
    model.learn({"x": [1.0, 2.0], "y": ["a", "b"]})
    assert model.same_counts(tb.fit({"x": [1.0, 2.0], "y": ["a", "b"]}, label="y"))


def test_one_class_is_certain():
    model = tb.fit({"x": [1.0, 2.0], "y": ["a", "a"]}, label="y")
    assert model.predict_proba({"x": [1e9]}).tolist() == [[1.0]]


@pytest.mark.parametrize("family", ["gaussian", "histogram", "poisson", "categorical", "bernoulli"])
def test_a_constant_column_is_silent(family):
    model = tb.fit({"x": [1, 1, 1, 1], "y": [0, 0, 1, 1]}, label="y", families={"x": family})
    for value in (0, 1):
        assert np.allclose(model.predict_proba({"x": value}), 0.5)


def test_a_constant_column_rules_out_other_values_only_under_maximum_likelihood():
    model = tb.fit({"x": [1.0] * 4, "y": [0, 0, 0, 1]}, label="y", numeric="gaussian", estimate="mle")
    prior = np.exp(model.log_score({})[0])
    assert np.allclose(model.predict_proba({"x": 1.0})[0], prior)
    assert np.isneginf(model.log_score({"x": 2.0})).all()
    with pytest.warns(tb.RuledOutWarning, match="1 of 1 rows have probability zero"):
        assert np.allclose(model.predict_proba({"x": [2.0]})[0], prior)


def test_forgetting_what_was_never_learned_is_refused_and_changes_nothing(model):
    before = model.copy()
    for wrong in (
        {"sound": "moo", "pet": "dog"},
        {"sound": "woof", "pet": "cow"},
        {"sound": "miaow", "pet": "dog"},
        {"weight": 25.0, "pet": "dog"},
        {"legs": 3, "pet": "cat"},
    ):
        with pytest.raises(ForgetError):
            model.forget([wrong])
        assert model == before
    with pytest.raises(ForgetError):
        model.forget([PETS[3], PETS[3]])
    assert model == before


def test_forgetting_gaussian_rows_that_leave_a_negative_variance_is_refused():
    model = tb.fit({"x": [1.0, 2.0, 3.0], "y": [0, 0, 0]}, label="y", numeric="gaussian")
    with pytest.raises(ForgetError, match="impossible sum"):
        model.forget({"x": [100.0], "y": [0]})


def test_an_error_late_in_a_batch_leaves_the_model_as_it_was(model):
    before = model.copy()
    bad = [PETS[0]] * 900 + [{"weight": float("inf"), "pet": "dog"}]
    with pytest.raises(DataError, match="row 900"):
        model.learn(bad)
    assert model == before
    assert model.classes == before.classes


def test_counts_that_leave_64_bits_are_an_error_and_change_nothing():
    data = {"f": [1], "k": ["a"], "g": [1.0], "y": [0]}
    model = tb.fit(data, label="y", sample_weight=[2.0**62], families={"f": "bernoulli", "g": "gaussian"})
    before = model.copy()
    with pytest.raises(CountError, match="64 bits"):
        model.learn(data, sample_weight=[2.0**62])
    assert model == before


def test_two_to_the_53_rows_and_one_more_are_two_different_models():
    data = {"k": ["a"], "y": [0]}
    many = tb.fit(data, label="y", sample_weight=[2.0**53])
    more = many.copy()
    more.learn(data)
    assert many != more
    more.forget(data)
    assert many == more


@pytest.mark.parametrize("labels", [[1, 2], ["a", "b"], [False, True], [0.5, 1.5]])
def test_labels_come_back_as_they_went_in(labels):
    for source in (labels, np.array(labels)):
        model = tb.fit({"x": ["u", "v"] * 5}, label=list(source) * 5)
        assert model.classes == labels
        assert [type(c) for c in model.classes] == [type(c) for c in labels]
        found = model.predict({"x": ["u", "v"]}).tolist()
        assert found == labels
        assert [type(c) for c in found] == [type(c) for c in labels]


def test_labels_have_one_type(model):
    with pytest.raises(DataError, match="one type"):
        model.learn([{"pet": 3}])
    with pytest.raises(DataError, match="one type"):
        tb.fit({"x": [1, 2], "y": ["a", 1]}, label="y")


def test_a_batch_without_the_label_column_is_an_error(model):
    with pytest.raises(DataError, match="the label column"):
        model.learn([{"sound": "woof"}])
    with pytest.raises(DataError, match="column 'nope'"):
        tb.fit(PETS, label="nope")


def test_an_empty_set_is_not_a_missing_set():
    model = tb.fit({"g": [["a"], [], None, ["a", "b"]], "y": [0, 1, 0, 0]}, label="y", families={"g": "tags"})
    assert not np.allclose(model.log_score({"g": [[]]}), model.log_score({"g": [None]}))
    assert np.array_equal(model.log_score({"g": [""]}), model.log_score({"g": [[]]}))


def test_honest_zeros_without_smoothing():
    data = {"k": ["a", "a", "b"], "y": ["p", "p", "q"]}
    model = tb.fit(data, label="y", smoothing=0)
    assert model.predict_proba({"k": "a"}).tolist() == [[1.0, 0.0]]
    with pytest.warns(tb.RuledOutWarning):
        assert np.allclose(model.predict_proba({"k": ["zzz"]}), [[3 / 5, 2 / 5]])
    assert np.isneginf(model.log_marginal({"k": ["zzz"]})).all()


def test_infinite_smoothing_is_uniform():
    model = tb.fit(PETS, label="pet", smoothing=np.inf, class_prior="uniform")
    assert np.allclose(model.predict_proba(PETS), 1 / 3)


def test_priors(model):
    assert np.allclose(np.exp(model.log_score({})), [[2 / 7, 2 / 7, 3 / 7]])
    uniform = tb.fit(PETS, label="pet", class_prior="uniform")
    assert np.allclose(np.exp(uniform.log_score({})), 1 / 3)
    given = tb.fit(PETS, label="pet", class_prior={"dog": 0.7, "cat": 0.2, "bird": 0.1})
    assert np.allclose(np.exp(given.log_score({})), [[0.1, 0.2, 0.7]])
    with pytest.raises(ParameterError, match="none for 'bird'"):
        tb.fit(PETS, label="pet", class_prior={"dog": 0.7, "cat": 0.3}).predict_proba({})


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"smoothing": -1}, "expected smoothing to be 'auto', 0, a number"),
        ({"smoothing": "much"}, "expected smoothing to be 'auto', 0, a number"),
        ({"estimate": "map"}, "'bayes' or 'mle'"),
        ({"unseen": "guess"}, "'prior' or 'missing'"),
        ({"class_prior": "flat"}, "'empirical', 'uniform', a dict"),
        ({"class_prior": {"dog": 2.0}}, "add up to 1"),
        ({"families": {"sound": "categoricl"}}, "did you mean 'categorical'"),
        ({"families": {"noise": "categorical"}}, "the name of a column"),
        ({"ignore": ["noise"]}, "the name of a column"),
        ({"sample_weight": "noise"}, "the weight column"),
        ({"sample_weight": [1, 2, -1, 1]}, "row 2: expected a weight"),
        ({"sample_weight": [1, 2]}, "4 weights"),
    ],
)
def test_arguments_without_meaning_are_refused(options, match):
    with pytest.raises((ParameterError, DataError), match=match):
        tb.fit(PETS, label="pet", **options)


def test_models_that_do_not_fit_are_not_merged(model):
    other = tb.fit(PETS, label="pet", families={"weight": "gaussian"})
    with pytest.raises(DataError, match="column 'weight'"):
        model.merge(other)
    with pytest.raises(DataError, match="label"):
        model.merge(tb.fit(PETS, label="sound"))


def test_a_complement_score_is_no_likelihood():
    data = {"words": [{"a": 2, "b": 1}, {"b": 3}], "y": [0, 1]}
    model = tb.fit(data, label="y", families={"words": "multinomial:complement"})
    assert model.predict({"words": [{"a": 1}]}).tolist() == [0]
    for question in (lambda: model.log_marginal(data), lambda: model.sample(1), lambda: model.objective(data)):
        with pytest.raises(UnsupportedError, match="complement"):
            question()


def test_a_written_model_scores_but_does_not_learn():
    model = tb.from_probabilities({"a": 0.5, "b": 0.5}, {"x": {"a": 0.9, "b": 0.2}})
    assert model.predict_proba({"x": True})[0].tolist() == pytest.approx([0.9 / 1.1, 0.2 / 1.1])
    assert model.sample(5, seed=0).num_rows == 5
    assert "given probabilities" in str(model.describe())
    for change in (lambda: model.learn({"x": True, "class": "a"}), lambda: model.merge(model)):
        with pytest.raises(UnsupportedError, match="given probabilities"):
            change()
    with pytest.raises(ParameterError, match="add up to 1"):
        tb.from_probabilities({"a": 1.0}, {"x": {"a": {"u": 0.5, "v": 0.6}}})
    with pytest.raises(ParameterError, match="for each of the classes"):
        tb.from_probabilities({"a": 1.0}, {"x": {"b": 0.5}})


def test_many_classes():
    n = 10_000
    model = tb.fit(
        {"x": np.arange(2 * n) % 7, "k": [f"v{i % 11}" for i in range(2 * n)]},
        label=np.arange(2 * n) % n,
        families={"x": "histogram"},
    )
    p = model.predict_proba({"x": [3.0], "k": ["v5"]})
    assert p.shape == (1, n)
    assert p.sum() == pytest.approx(1)


@pytest.mark.slow
def test_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3_000))
    y = rng.integers(0, 2, 60)
    X[y == 1] += 0.5
    for numeric in ("histogram", "gaussian"):
        model = tb.fit(X, label=y, numeric=numeric)
        assert (model.predict(X) == y).all()


def test_a_number_where_only_0_and_1_came_before():
    data = {"f": [0, 1, 1, 0, 1, 0], "y": ["a", "b", "b", "a", "b", "a"]}
    model, later = tb.fit(data, label="y"), tb.fit({"y": data["y"]}, label="y")
    later.learn(data)
    rows = {"f": [1, 2, None]}
    for own in (model, later):
        assert own.schema.columns["f"].reader.only_bits
        p = own.predict_proba(rows)
        assert p[1].tolist() == p[2].tolist() != p[0].tolist()
    p = model.predict_proba(rows)
    assert model.predict_proba({"f": 2}).tolist() == p[1:2].tolist()
    assert model.explain({"f": 7})[0]
    for bad, told in ((np.inf, model), (2, tb.fit(data, label="y", families={"f": "bernoulli"}))):
        with pytest.raises(tb.errors.DataError, match="column 'f'"):
            told.predict_proba({"f": [bad]})
    with pytest.raises(tb.errors.DataError, match="expected a boolean"):
        model.learn({"f": [2], "y": ["a"]})
