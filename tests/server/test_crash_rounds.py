"""Killed at random moments under load, a hosted model loses no answered event and has none twice."""

from crash_rounds import CrashRounds


def test_twenty_five_kills(tmp_path):
    rounds = CrashRounds(tmp_path)
    rounds.run(25)
    assert len(rounds.answered) > 100
    assert rounds.n_kills == 25
