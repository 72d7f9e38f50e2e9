"""What was wrong once, found by use and review: each stays right from now on."""

import copy
import os
import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import tallybayes as tb
from tallybayes.errors import CountError, DataError, ForgetError, ParameterError, UnsupportedError
from tallybayes.tally import Exact


def test_missing_flags_survive_columns_of_other_types():
    frame = pa.table({"a": [True, None, False, True], "b": [0.0, 1.0, 1.0, 0.0], "y": list("pqpq")})
    model = tb.fit(frame, label="y")
    assert model.same_counts(tb.fit(frame.to_pylist(), label="y"))
    assert np.array_equal(model.predict_proba(pa.table({"a": [None]})), model.predict_proba([{}]))


def test_forgetting_part_of_a_row_is_refused():
    model = tb.fit([{"x": "u", "y": "a"}, {"x": "v", "y": "b"}], label="y", families={"x": "categorical"})
    for family in ("gaussian", "histogram", "bernoulli", "poisson", "categorical"):
        numbers = tb.fit([{"x": 1, "y": "a"}, {"x": 0, "y": "b"}], label="y", families={"x": family})
        with pytest.raises(ForgetError, match="column 'x'"):
            numbers.forget([{"y": "a"}])
    with pytest.raises(ForgetError, match="column 'x'"):
        model.forget([{"y": "a"}])
    assert model.classes == ["a", "b"]


def test_the_weight_column_is_remembered():
    data = {"x": [1.0, 2.0, 3.0, 4.0], "w": [1.0, 2.0, 3.0, 9.0], "y": list("abab")}
    model = tb.fit(data, label="y", sample_weight="w")
    model.learn(data)
    assert model.class_counts == {"a": 8, "b": 22}
    assert list(model.schema.families) == ["x"]
    gaussian = tb.fit(data, label="y", sample_weight="w", numeric="gaussian")
    gaussian.learn({"x": 1.0, "w": 5.0, "y": "a"})
    assert gaussian.class_counts == {"a": 9, "b": 11}
    with pytest.raises(DataError, match="the weight column"):
        model.learn({"x": [1.0], "y": ["a"]})


def test_merging_needs_the_same_choice_of_columns():
    used, left_out = tb.fit({"k": ["u", "v"], "y": [0, 1]}, label="y"), None
    left_out = tb.fit({"k": ["u", "v"], "y": [0, 1]}, label="y", ignore=["k"])
    for a, b in ((used, left_out), (left_out, used)):
        with pytest.raises(DataError, match="column 'k'"):
            a.merge(b)
    numbers = tb.fit({"k": [3, 4], "y": [0, 1]}, label="y", families={"k": "categorical"})
    with pytest.raises(DataError, match="column 'k'"):
        used.merge(numbers)
    nothing = tb.fit({"k": [None, None], "y": [0, 1]}, label="y")
    assert nothing.merge(used).predict({"k": "u"}) == used.merge(nothing).predict({"k": "u"})


@pytest.mark.parametrize("wrap", [list, np.array, pd.Series, pl.Series, pa.array])
def test_real_labels_stay_reals_and_meet_whole_numbers(wrap):
    model = tb.fit({"x": ["u", "v", "u"]}, label=wrap([0.5, 1.0, 0.5]))
    assert model.classes == [0.5, 1.0]
    assert all(type(label) is float for label in model.classes)
    model.learn({"x": ["u"]}, label=[1])
    model.learn({"x": ["u"]}, label=[1.0])
    assert model.class_counts == {0.5: 2, 1.0: 3}
    whole = tb.fit({"x": ["u", "v"]}, label=[0, 1])
    whole.learn({"x": ["u"]}, label=np.array([1.0]))
    assert whole.class_counts == {0: 1, 1: 2}
    with pytest.raises(DataError, match="one type"):
        whole.learn({"x": ["u"]}, label=[0.5])


@pytest.mark.parametrize(
    ("family", "value"),
    [
        ("categorical", "a"),
        ("bernoulli", 1),
        ("gaussian", 1.0),
        ("histogram", 1.0),
        ("poisson", 1),
        ("tags", "a|b"),
        ("multinomial", ["a"]),
        ("multinomial:presence", ["a"]),
    ],
)
@pytest.mark.parametrize("smoothing", ["auto", 1.0, 0])
def test_models_without_classes(family, value, smoothing):
    rows = [{"k": value, "y": "p"}, {"k": value, "y": "q"}]
    emptied = tb.fit(rows, label="y", families={"k": family}, smoothing=smoothing)
    emptied.forget(rows)
    for model in (tb.fit({"k": [], "y": []}, label="y", families={"k": family}, smoothing=smoothing), emptied):
        with pytest.raises(DataError, match="any row yet"):
            model.predict_proba([{"k": value}])
        assert np.isneginf(model.log_marginal([{"k": value}])).all()
        assert str(model.describe())
        assert str(model.explain([{"k": value}])[0])
        if smoothing:
            assert model.log_evidence() == {"k": 0.0}  # the probability of no rows is 1
        else:
            with pytest.raises(UnsupportedError, match="expected smoothing above 0"):
                model.log_evidence()
    empty_bags = tb.fit({"w": [[], []], "y": ["p", "q"]}, label="y", smoothing=smoothing)
    assert np.isfinite(empty_bags.log_score([{"w": ["a"]}])).all()


@pytest.mark.parametrize("family", ["text:counts,k=0", "text:presence,k=0"])
def test_evidence_of_text_with_maximum_likelihood_is_refused_as_for_other_families(family):
    data = {"t": ["cheap pills", "lunch at noon"] * 3, "y": ["spam", "ham"] * 3}
    with pytest.raises(UnsupportedError, match="column 't': expected smoothing above 0"):
        tb.fit(data, label="y", families={"t": family}, column_weights=None).log_evidence()


def test_counts_are_checked_in_the_first_batch_too():
    for family in ("categorical", "bernoulli", "gaussian", "histogram"):
        with pytest.raises(CountError):
            tb.fit({"k": [1], "y": [0]}, label="y", sample_weight=[2.0**70], families={"k": family})
    model = tb.fit({"y": [0]}, label="y", sample_weight=[2.0**62])
    with pytest.raises(CountError):
        model.learn({"y": [0]}, sample_weight=[2.0**62])


def test_sums_at_the_edge_of_64_bits():
    edge = Exact.whole(np.array([[-(2**63), -1]]))
    assert edge.sum(axis=1).floats().tolist() == [-(2.0**63)]
    model = tb.fit({"x": [-(2.0**63), -1.0], "y": ["a", "b"]}, label="y", numeric="gaussian")
    assert model.predict({"x": [-(2.0**63), -1.0]}).tolist() == ["a", "b"]


def test_models_can_be_pickled_and_copied_at_any_time():
    model = tb.fit({"x": [1.0, 2.0, 3.0], "y": list("pqp")}, label="y", numeric="gaussian")
    model.predict({"x": 1.0})
    model.learn({"x": 1.5, "y": "q"})
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.copy()):
        assert other.same_counts(model)
        other.learn({"x": 9.0, "y": "p"})
        assert not other.same_counts(model)
    written = tb.from_probabilities({"a": 0.5, "b": 0.5}, {"x": {"a": 0.9, "b": 0.2}})
    assert written == written.copy()


def test_many_threads_can_predict_at_once():
    X = sp.random(3000, 300, 0.02, format="csr", random_state=0)
    X.data[:] = 1
    errors = []

    def work(model):
        try:
            model.predict_proba(X[:50])
        except Exception as error:
            errors.append(error)

    for _ in range(5):
        model = tb.fit(X, label=np.arange(3000) % 2, smoothing=1.0, families={"x": "multinomial:presence"})
        threads = [threading.Thread(target=work, args=(model,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    X, y = np.random.default_rng(0).normal(size=(50_000, 3)), np.arange(50_000) % 2
    tb.fit(X, label=y, numeric="gaussian")
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(60)
        tb.fit(X, label=y, numeric="gaussian")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_types_are_those_of_what_is_learned_now():
    model = tb.fit({"k": [], "y": []}, label="y", families={"k": "categorical"})
    model.learn([{"k": 1, "y": None}])
    model.learn([{"k": "one", "y": "a"}])
    model.forget([{"k": "one", "y": "a"}])
    model.learn([{"k": 2, "y": 7}])
    assert model.classes == [7]


@pytest.mark.parametrize("bad", [1e306, 2.0**53 + 2, -1.0, 0.5])
def test_poisson_refuses_what_is_no_count(bad):
    with pytest.raises(DataError, match="expected an integer"):
        tb.fit({"n": [1.0, bad], "y": [0, 1]}, label="y", families={"n": "poisson"})
    with pytest.warns(tb.DataWarning, match="1 of 2 rows have no label"):
        model = tb.fit({"n": [1.0, bad], "y": [0, None]}, label="y", families={"n": "poisson"})
    assert model.class_counts == {0: 1}
    with pytest.raises(DataError, match="expected an integer"):
        model.log_score({"n": [bad]})


def test_dictionaries_with_repeated_values_are_one_key():
    k = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 2]), pa.array(["a", "a", "b"]))
    assert tb.fit({"k": k, "y": list("pppq")}, label="y").same_counts(
        tb.fit({"k": list("aaab"), "y": list("pppq")}, label="y")
    )


def test_large_unsigned_and_huge_numbers():
    labels = np.array([2**64 - 1, 1], np.uint64)
    assert tb.fit({"x": [1.0, 2.0]}, label=labels).classes == [1, 2**64 - 1]
    model = tb.fit({"x": [1.0, 2.0]}, label=[2**70, 1])
    assert model.predict({"x": [1.0]}).tolist() == [2**70]
    with pytest.raises(DataError, match="a double can hold"):
        model.predict({"x": 10**400})


def test_masked_values_are_missing():
    masked = np.ma.masked_array([1.0, 2.0, 1.0, 999.0], mask=[0, 0, 0, 1])
    assert tb.fit({"c": masked}, label=list("abab")).same_counts(
        tb.fit({"c": [1.0, 2.0, 1.0, None]}, label=list("abab"))
    )
    labels = np.ma.masked_array([1, 2, 1, 2], mask=[0, 1, 0, 1])
    with pytest.warns(tb.DataWarning, match="2 of 4 rows have no label"):
        assert tb.fit({"x": np.arange(4.0)}, label=labels).class_counts == {1: 2}


def test_a_given_prior():
    prior = {"p": 0.5, "q": 0.3, "r": 0.2}
    model = tb.fit({"k": ["a", "b"], "y": ["p", "q"]}, label="y", class_prior=prior, smoothing=0)
    prior["p"] = 99.0
    with pytest.warns(tb.RuledOutWarning):
        p = model.predict_proba([{"k": "zzz"}])
    assert p[0].tolist() == pytest.approx([0.625, 0.375])
    with pytest.raises(ParameterError, match="none for 's'"):
        model.learn([{"k": "a", "y": "s"}])
    assert model.classes == ["p", "q"]


def test_explanations_of_the_impossible_have_no_nan():
    model = tb.fit({"k": ["a", "b"], "l": ["c", "d"], "y": ["p", "q"]}, label="y", smoothing=0)
    text = str(model.explain([{"k": "a", "l": "d"}])[0])
    assert "nan" not in text
    assert "both are ruled out" in text


def test_columns_without_values_are_decided_later():
    model = tb.fit(pl.DataFrame({"c": pl.Series([None, None], dtype=pl.String), "x": [1.0, 2.0], "y": ["a", "b"]}), "y")
    assert str(model.schema.families["c"]) == "categorical"
    model.learn([{"z": None, "y": "a"}])
    assert "z" not in model.schema.families
    model.learn([{"z": "woof", "y": "a"}, {"z": "miaow", "y": "b"}])
    assert str(model.schema.families["z"]) == "categorical"
    assert tb.fit(pd.DataFrame({"k": ["a"], "y": ["p"]}).head(0), "y").classes == []


def test_nulls_in_lists_are_no_tokens():
    given = {"w": [["a", None, float("nan")], ["b"]], "y": [0, 1]}
    assert tb.fit(given, label="y").same_counts(tb.fit({"w": [["a"], ["b"]], "y": [0, 1]}, label="y"))


def test_huge_weights_leave_histograms_finite():
    data = {"x": np.arange(40.0) % 13, "y": ["a", "b"] * 20}
    for power in (40, 53, 56, 57):
        model = tb.fit(data, label="y", sample_weight=np.full(40, 2.0**power))
        assert np.isfinite(model.log_score({"x": np.arange(13.0)})).all()


def test_pandas_frames_with_odd_names_index_and_mixed_columns():
    frame = pd.DataFrame({0: [1.0, 2.0, 3.0], 1: ["a", "b", "a"]}, index=pd.Index(["r", "s", "t"], name="id"))
    model = tb.fit(frame, 1, families={0: "gaussian"})
    assert list(model.schema.columns) == ["0"]
    mixed = pd.DataFrame({"c": [1, "a", 2], "x": [1.0, 2.0, 3.0], "y": list("pqp")})
    assert tb.fit(mixed, "y", ignore=["c"]).classes == ["p", "q"]
    with pytest.raises(DataError, match="column 'c', row 1"):
        tb.fit(mixed, "y", families={"c": "categorical"})


def test_names_that_clash():
    sample = tb.fit({"label": [1.0, 2.0], "b": [1.0, 2.0]}, label=["p", "q"]).sample(2, seed=0)
    assert sample.column_names == ["label", "b", "label_"]
    with pytest.raises(ParameterError, match="not a column's"):
        tb.from_probabilities({"i": 0.5, "w": 0.5}, {"class": {"i": 0.9, "w": 0.1}})
    with pytest.raises(DataError, match="names that differ"):
        tb.fit({1: [1.0], "1": [2.0], "y": ["a"]}, "y")


def test_data_that_shares_no_column_with_the_model_is_refused():
    model = tb.fit({"a": [1.0, 2.0], "y": [0, 1]}, label="y")
    with pytest.raises(DataError, match="columns of the model"):
        model.predict(np.zeros((2, 3)))


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: tb.fit({"a": np.ones((4, 2))}, y),
        lambda X, y: tb.fit(X, np.array([[1], [0], [1], [0]])),
        lambda X, y: tb.fit(X, 5),
        lambda X, y: tb.fit(X, y, sample_weight=5),
        lambda X, y: tb.fit(sp.csr_array(np.eye(4)), y, families="gaussian"),
        lambda X, y: tb.fit(pd.DataFrame({"c": pd.cut(pd.Series(range(4)), 2)}), y, families="categorical"),
        lambda X, y: tb.fit(X, [np.array([1, 2])] * 4),
        lambda X, y: tb.fit(np.zeros((4, 2), complex), y, families="gaussian"),
        lambda X, y: tb.fit([{"w": [["a"]], "y": 0}], "y", families={"w": "multinomial"}),
        lambda X, y: tb.fit(X, y, families={"a": "tags:separator="}),
        lambda X, y: tb.fit(X, y, families={"a": "categorical:unseen=foo"}),
        lambda X, y: tb.fit(X, y, class_prior={"p": "a"}),
        lambda X, y: tb.from_probabilities([0.5, 0.5], {}),
        lambda X, y: tb.fit(X, y).sample(1.5),
        lambda X, y: tb.fit(X, y).merge(None),
        lambda X, y: tb.Gaussian(kappa=-1),
        lambda X, y: tb.fit(X | {"y": y}, "y", ignore=["y"]),
        lambda X, y: tb.fit(X, y, ignore=5),
        lambda X, y: tb.fit(X, None),
        lambda X, y: tb.fit(X, sp.csr_array(np.ones((4, 1)))),
        lambda X, y: tb.fit(sp.csr_array(np.eye(4)).astype(complex), y),
        lambda X, y: tb.fit(pl.DataFrame(X).lazy(), y),
    ],
)
def test_wrong_input_is_told_in_our_own_words(call):
    with pytest.raises(tb.errors.TallyError):
        call({"a": np.arange(4.0)}, list("pqpq"))


def test_skipped_never_goes_below_zero():
    model = tb.fit({"x": [1.0, 2.0], "y": ["a", "b"]}, label="y")
    model.forget({"x": [1.0], "y": [None]})
    assert model.skipped == 0


def test_a_column_without_values_says_nothing():
    model = tb.fit({"x": [1.0, 2.0], "y": ["a", "b"]}, label="y", families={"x": "gaussian"})
    same = tb.fit(
        {"x": [1.0, 2.0], "f": [None, None], "y": ["a", "b"]}, "y", families={"x": "gaussian", "f": "bernoulli"}
    )
    assert model.same_counts(same)
    rows = [{"x": 1.5, "f": True}]
    added = same.log_score(rows) - model.log_score(rows)
    assert np.allclose(added, np.log(0.5))  # every class says the same of a boolean that was never seen
    assert np.allclose(model.predict_proba(rows), same.predict_proba(rows), rtol=1e-12)


def test_a_prior_that_rules_out_every_label_that_came():
    model = tb.fit({"x": [1.0, 2.0], "y": ["b", "b"]}, label="y", class_prior={"a": 1.0, "b": 0.0})
    assert model.predict_proba({"x": 1.0}).tolist() == [[1.0]]


def test_written_models_are_compared_by_what_they_say():
    one, same = (tb.from_probabilities({"i": p, "w": 1 - p}, {"t": {"i": 0.9, "w": 0.1}}) for p in (0.5, 0.5))
    assert one == same
    assert one != tb.from_probabilities({"i": 0.4, "w": 0.6}, {"t": {"i": 0.9, "w": 0.1}})


def test_a_model_that_is_only_a_prior_scores_an_empty_row():
    model = tb.from_probabilities({"red": 0.7, "black": 0.3}, {})
    assert model.predict_proba({}).tolist() == model.predict_proba([{}]).tolist() == [[0.3, 0.7]]
    assert model.predict_proba_one({}) == {"black": 0.3, "red": 0.7}
