"""Test-then-learn metrics, their windows across restarts, and the rate of false alarms of the drift warnings."""

import numpy as np
import pytest
from hosting import change, learn, opened, saved_base, try_all

import tallybayes as tb
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import compact
from tallybayes.server.live.drift_watch import ALPHA, BLOCK, DriftWatch, larger_losses, other_shares


def rows(n, seed=0, flip=0.1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = np.where(rng.random(n) < flip, 1 - y, y)
    return [{"x": "ab"[a], "y": "pq"[b]} for a, b in zip(x, y, strict=True)]


@pytest.fixture
def path(tmp_path):
    return saved_base(tmp_path, tb.fit(rows(200, 9), label="y"))


def test_scores_are_those_of_the_model_before_the_rows(path):
    given = rows(150, 1)
    with opened(path) as live:
        model = live.current.model
        change(live, learn(given))
        p = model.predict_proba(given)
        own = p[np.arange(150), [model.classes.index(row["y"]) for row in given]]
        window = live.stream_summary()["windows"][-1]
        assert window["rows"] == 150
        assert window["log_loss"] == pytest.approx(-np.log(own).mean(), rel=1e-5)
        assert window["accuracy"] == np.mean([model.predict_one(row) == row["y"] for row in given])


def test_windows_and_class_shares_are_the_same_after_a_restart(path):
    with opened(path) as live:
        try_all(live, [learn([row]) for row in rows(130, 2)])
        change(live, learn(rows(12_000, 3)))
        try_all(live, [learn([row]) for row in rows(50, 4)])
        change(live, learn([{"x": "a", "y": None}, {"x": "a", "y": "new"}]))
        before = live.stream_summary()
    assert [window["rows"] for window in before["windows"]] == [100, 1000, 10_000, 10_181]  # 10,000 of the large event
    with opened(path) as live:
        after = live.stream_summary()
        for name in ("windows", "class_shares", "drift", "events", "version"):
            assert after[name] == before[name], name
        assert after["series"][-40:] == before["series"][-40:]
    path.with_suffix(".snapshot").unlink()
    with opened(path) as live:
        after = live.stream_summary()
        for name in ("windows", "class_shares", "drift"):
            assert after[name] == before[name], name


@pytest.mark.parametrize("keep", [0, 20])
def test_metrics_and_warnings_are_the_same_after_compaction(path, keep):
    with opened(path) as live:
        change(live, learn(rows(2000, 2)))
        try_all(live, [learn(rows(20, i, flip=0.9)) for i in range(40)])
        before = live.stream_summary()
    assert before["drift"]
    compact(ModelFiles.of(path), keep=keep)
    for _ in range(2):  # without a snapshot, and with the one of the first round
        with opened(path) as live:
            after = live.stream_summary()
            for name in ("windows", "class_shares", "drift", "events", "rows"):
                assert after[name] == before[name], name


def test_a_new_label_is_a_wrong_answer_without_a_log_loss(path):
    with opened(path) as live:
        change(live, learn([{"x": "a", "y": "new"}]))
        assert live.stream_summary()["windows"][0] == {"window": 100, "rows": 1, "accuracy": 0.0, "log_loss": None}


def test_both_tests_warn_of_a_change_and_stop_when_it_ends(path):
    with opened(path) as live:
        change(live, learn(rows(2000, 5)))
        assert live.stream_summary()["drift"] == []
        change(live, learn(rows(400, 6, flip=0.6)))
        (warning,) = live.stream_summary()["drift"]
        assert (warning["what"], warning["since"]) == ("log loss", 2)
        assert "the log loss has risen" in warning["text"]
        change(live, learn(rows(1000, 7)))
        assert live.stream_summary()["drift"] == []
        change(live, learn([row for row in rows(900, 8) if row["y"] == "p"][:300]))
        (warning,) = live.stream_summary()["drift"]
        assert warning["what"] == "class shares"
        assert "p is 100% of the last rows" in warning["text"]


def test_false_alarms_are_as_rare_as_the_documentation_says():
    """5,000 blocks of a stream that does not change: 5 alarms expected of each test, and 15 are very unlikely."""
    rng = np.random.default_rng(0)
    found = {"log loss": 0, "class shares": 0}
    for start in range(10):
        watch = DriftWatch()
        for block in range(501):
            losses = rng.exponential(size=BLOCK) ** 2  # a distribution with a long tail
            labels = dict(zip("abc", rng.multinomial(BLOCK, [0.6, 0.35, 0.05]).tolist(), strict=True))
            watch.warnings = {}
            watch.add(start * 1000 + block, losses, labels)
            for what in watch.warnings:
                found[what] += 1
    assert ALPHA == 0.001
    assert 0 < found["log loss"] <= 14  # P(more than 14) is 1e-4 for a mean of 5
    assert 0 < found["class shares"] <= 14


def test_a_model_that_learns_a_stream_without_drift_raises_no_alarm(path):
    with opened(path) as live:
        warnings = []
        for seed in range(40):
            change(live, learn(rows(500, 100 + seed)))
            warnings += live.stream_summary()["drift"]
        assert len(warnings) <= 1  # of 100 blocks and two tests: 0.2 expected


def test_p_values_are_those_of_scipy():
    from scipy.stats import chi2_contingency, permutation_test

    rng = np.random.default_rng(1)
    block, before = rng.exponential(1.15, 200), rng.exponential(1, 900)
    test = permutation_test(
        (block, before), lambda a, b, axis: a.mean(axis) - b.mean(axis), alternative="greater", rng=rng, vectorized=True
    )
    assert larger_losses(block, before) == pytest.approx(test.pvalue, abs=0.01)
    assert larger_losses(before[:200], before) > 0.05
    table = [{"a": 90, "b": 60, "c": 50}, {"a": 400, "b": 350, "c": 250}]
    expected = chi2_contingency([list(own.values()) for own in table], correction=False).pvalue
    assert other_shares(*table) == pytest.approx(expected, rel=1e-9)


def test_rates_are_per_second(path):
    with opened(path) as live:
        change(live, learn(rows(100)))
        rate = live.stream_summary()["rate"]
        assert rate["events_per_second"] == pytest.approx(1, abs=0.1)
        assert rate["rows_per_second"] == pytest.approx(100, abs=10)
