"""Killed at random moments under load, a hosted model loses no answered event and has none twice."""

import pytest
from crash_rounds import CrashRounds
from crash_server import ServerCrashRounds

pytestmark = pytest.mark.crash


def test_twenty_five_kills(tmp_path):
    rounds = CrashRounds(tmp_path)
    rounds.run(25)
    assert len(rounds.answered) > 100
    assert rounds.n_kills == 25


def test_the_real_server_is_killed(tmp_path):
    pytest.importorskip("uvicorn")
    rounds = ServerCrashRounds(tmp_path)
    rounds.run(3)
    assert len(rounds.answered) > 10
