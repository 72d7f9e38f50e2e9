import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Before NumPy is imported: tests run in one process per core, where more BLAS threads only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No deadline: the machines are shared. Derandomised in CI, so that a red run can be repeated.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.register_profile("sanitize", parent=settings.get_profile("ci"), max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data():
    if not SHARED.is_dir():
        pytest.skip("the shared data sets are not on this machine")
    return SHARED


@pytest.hookimpl(optionalhook=True)  # of xdist
def pytest_xdist_make_scheduler(config, log):
    """With --dist loadgroup, tests of Spark go to one process, so that one Java machine starts; others to any."""
    from xdist.scheduler import LoadGroupScheduling

    class SparkInOneProcess(LoadGroupScheduling):
        def _split_scope(self, nodeid):
            return "spark" if nodeid.startswith("tests/spark/") else nodeid

    return SparkInOneProcess(config, log) if config.getvalue("dist") == "loadgroup" else None
