import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Before NumPy is imported: tests run in one process per core, where more BLAS threads only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No deadline: the machines are shared. Derandomised in CI, so that a red run can be repeated.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.register_profile("quick", parent=settings.get_profile("default"), max_examples=10)
settings.register_profile("sanitize", parent=settings.get_profile("ci"), max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))

SHARED = Path(__file__).parents[2] / "shared" / "data"

# Folders that `make quick` leaves out: nearly every test in them starts processes, draws charts or runs documents.
FOLDERS = {"spark": "spark"} | dict.fromkeys(("benchmarks", "cli", "docs", "report", "server"), "slow")
FIXTURES = {"browser": "browser", "page_browser": "browser", "shared_data": "shared_data"}


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items):
    """Mark tests by their folder and by the fixtures that they use."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        for marker in {FOLDERS.get(folder), *map(FIXTURES.get, item.fixturenames)} - {None}:
            item.add_marker(marker)
        # A number of examples that a test asks for is stronger than a profile.
        own = getattr(item.obj, "_hypothesis_internal_use_settings", None)
        if own is not None and settings.get_current_profile_name() == "quick":
            item.obj._hypothesis_internal_use_settings = settings(own, max_examples=min(own.max_examples, 10))


def pytest_terminal_summary(terminalreporter):
    """Say in one line how many tests used the shared data sets, so that a run without them is noticed."""

    def count(*outcomes):
        reports = (report for name in outcomes for report in terminalreporter.getreports(name))
        return sum("shared_data" in getattr(report, "keywords", ()) for report in reports)

    if n_ran := count("passed", "failed", "error"):
        terminalreporter.write_line(f"shared data: {n_ran} tests ran")
    if n_skipped := count("skipped"):
        why = "they need more than ../shared/data" if SHARED.is_dir() else "../shared/data is not there"
        terminalreporter.write_line(f"shared data: {n_skipped} tests skipped: {why}")


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


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The table of pets in a file of every format."""
    from pets import KINDS, write_table  # which imports NumPy: after the environment is set above

    folder = tmp_path_factory.mktemp("files")
    return {kind: write_table(folder / f"pets.{kind}", kind) for kind in KINDS}
