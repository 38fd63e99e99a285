"""On a GPU, if NETPART_TEST_GPU asks for it (make test-gpu); else on its emulation."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from netpart.kernels.cuda.device import thread_stream
from tests.cuda.emulator.host import missing as unemulated
from tests.cuda.module import ON_GPU, cupy, missing, provide

WHEELS = ("test_plans.py",)
"""Needs cuDNN's own wheels; skipped with the reason where these are not installed."""
OFF_GPU = ("test_host.py", "test_nvrtc.py", "test_plans.py")
"""What needs no GPU: its time would be taken from that of one."""
NEEDLESS = "needs no GPU: without NETPART_TEST_GPU it runs anywhere"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of this folder: `make test-gpu` runs them on a GPU, `make test-peers` on its emulation by g++."""
    why = missing() if ON_GPU else unemulated()
    for item in items:
        if item.nodeid.startswith("tests/cuda/"):
            item.add_marker(pytest.mark.gpu)
            if not ON_GPU and item.path.name not in WHEELS:
                item.add_marker(pytest.mark.peers)
            if reason := why or (ON_GPU and item.path.name in OFF_GPU and NEEDLESS):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Leaves a process of xdist whose GPU context is broken, after the failure was reported; xdist starts another.

    After an illegal address each call of CUDA fails in this process, and with it every later test.
    """
    if report.failed and ON_GPU and "PYTEST_XDIST_WORKER" in os.environ and _context_is_broken():
        os._exit(3)


def _context_is_broken() -> bool:
    """True if the GPU cannot be used any more in this process."""
    runtime = cupy().cuda.runtime
    try:
        runtime.deviceSynchronize()
    except runtime.CUDARuntimeError:
        return True
    return False


@pytest.fixture(autouse=True, scope="session")
def _stream() -> None:
    """What a test asks CuPy for comes before the kernels: on their stream, and not on the default one."""
    if ON_GPU:
        thread_stream(cupy())


@pytest.fixture(autouse=True, scope="session")
def _cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Engines that tests time beside other processes are not kept for the user. Child processes inherit the folder."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs on "cuda" find a GPU, or its emulation, in this process and in those that it starts."""
    provide(monkeypatch)
