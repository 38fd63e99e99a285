"""What every test stands on: one BLAS thread per process, hypothesis profiles for two habits of testing, and when tests
of the peers run."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from tests.thorough import THOROUGH, example_count, in_part

for library in ("OMP", "OPENBLAS", "MKL"):  # read once, when numpy is first imported
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def _keep_figures() -> None:
    """Keep figures of a host: a calibration beside other tests is disturbed, so that it repeats and keeps nothing."""
    from netpart.choices import SHM, ZEROMQ
    from netpart.collectives.network import LinkCost
    from netpart.plan.timings.host_figures import HostFigures, write_host_figures

    links = {transport: LinkCost(20e-6, 5e-6, 4e9) for transport in (SHM, ZEROMQ)}
    write_host_figures(HostFigures(3e10, 1e10, links=links))


# What netpart keeps from one run to the next: tests neither fill nor read that of the user. The processes of one test
# run inherit the folder of the first.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _cache = TemporaryDirectory(prefix="netpart-cache-", ignore_cleanup_errors=True)
    os.environ["XDG_CACHE_HOME"] = _cache.name
    _keep_figures()

# A shell that starts the tests in the background has them ignore what a terminal sends; their processes would, too.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# "house" is repeatable: a commit is judged by the same examples each time. `--hypothesis-profile=hunt` looks elsewhere
# each time, and longer, for what the house has not seen yet. Time per example says nothing on a shared machine.
settings.register_profile(
    "house", deadline=None, derandomize=True, max_examples=example_count(100),
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile("hunt", settings.get_profile("house"), derandomize=False, max_examples=2000, print_blob=True)
settings.load_profile("house")

PEERS = "peers"
SLURM = "slurm"
NEVER = f"a test marked {PEERS} is never skipped, as `make test-peers` installs what it needs"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: a test that waits for the processes that it has started leaves its core idle."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_sessionstart(session: pytest.Session) -> None:
    """Dots of several processes share a line, as xdist asked of the reporter that instafail has replaced."""
    plugins = session.config.pluginmanager
    if plugins.has_plugin("dsession") and (reporter := plugins.get_plugin("terminalreporter")):
        reporter.showfspath = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests of other commands: those that only -m asks for, and what is not due."""
    wanted = [item for item in items if is_due(item) and is_asked_for(config, item)]
    config.hook.pytest_deselected(items=list(set(items) - set(wanted)))
    items[:] = wanted


def is_due(item: pytest.Item) -> bool:
    """True for all tests but those marked ``thorough``; in `make test-thorough` for these, and those with examples."""
    if not THOROUGH:
        return not item.get_closest_marker("thorough")
    is_law = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return bool(item.get_closest_marker("thorough") or is_law) and in_part(item.nodeid)


def is_asked_for(config: pytest.Config, item: pytest.Item) -> bool:
    """False for the tests of the peers, and those of Slurm, but in a run of ``-m peers`` or the like."""
    return all(name in config.getoption("markexpr") for name in (PEERS, SLURM) if item.get_closest_marker(name))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skipped test of the peers has failed."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker(PEERS):
        report.outcome, report.longrepr = "failed", f"{NEVER}: {call.excinfo and call.excinfo.value}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """So has a file that is skipped as a whole in a run of the peers."""
    report = yield
    if report.skipped and PEERS in collector.config.getoption("markexpr"):
        report.outcome, report.longrepr = "failed", f"{collector.nodeid}: {NEVER}: {report.longrepr}"
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Takes what was collected out of the garbage collector's sight.

    Thousands of tests live to the end, and each full collection would walk through all of them: a fifth of the
    processor time of the laws.
    """
    gc.collect()
    gc.freeze()
