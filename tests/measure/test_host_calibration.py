"""Calibration: what other work disturbs is measured again, and never kept."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from netpart.collectives.network import LinkCost
from netpart.measure import core_speeds, host_calibration
from netpart.measure.core_speeds import measure_core_speeds
from netpart.measure.host_calibration import TRIES, host_figures, kept_link, measure_undisturbed
from netpart.measure.instruction_seconds import measure_instructions
from netpart.measure.other_load import OtherLoad
from netpart.plan.timings.host_figures import HostFigures, read_host_figures
from netpart.plan.timings.product_speed import CoreWait

FIGURES = HostFigures(5e10, 1e10, 1.1, 1.8)
LINK = LinkCost(1e-5, 2e-6, 5e9)
SUMS = LinkCost(1e-5, 1e-6, 9e9)


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The cores that others use, one number for each measurement; 0 after the last."""
    found = list[float]()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(OtherLoad, "cores", lambda self: found[0] if found else 0.0)
    monkeypatch.setattr(CoreWait, "wait", lambda self: False)
    monkeypatch.setattr(host_calibration, "_measure_cores", lambda: FIGURES)
    monkeypatch.setattr(host_calibration, "measure_link", lambda transport: LINK)
    monkeypatch.setattr(host_calibration, "measure_sums", lambda transport, latency: SUMS)
    return found


def test_quiet_figures_are_kept(loads: list[float]) -> None:
    notes = list[str]()
    assert host_figures(notes.append) == FIGURES == read_host_figures()
    assert len(notes) == 1
    assert host_figures(notes.append) == FIGURES
    assert len(notes) == 1


def test_disturbed_figures_are_not(loads: list[float]) -> None:
    loads.append(1.0)
    notes = list[str]()
    assert host_figures(notes.append) == FIGURES
    assert read_host_figures() is None
    assert "other processes used 1.00 cores" in notes[-1]


def test_a_link_is_kept_by_its_transport(loads: list[float]) -> None:
    notes = list[str]()
    assert kept_link(notes.append, "zeromq") == LINK
    found = read_host_figures()
    assert found is not None
    assert found.links == {"zeromq": LINK}
    assert found.sums == {"zeromq": SUMS}
    count = len(notes)
    assert kept_link(notes.append, "zeromq") == LINK
    assert len(notes) == count


def test_the_least_disturbed_of_several_is_used(loads: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    used = iter([0.9, 0.4, 0.7])
    monkeypatch.setattr(OtherLoad, "cores", lambda self: next(used))
    numbers = iter(range(10))
    assert measure_undisturbed(lambda: next(numbers), lambda line: None, "it") == (1, False)
    assert next(numbers) == TRIES


def test_it_ends_when_the_host_is_quiet(loads: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    used = iter([0.9, 0.01, 0.7])
    monkeypatch.setattr(OtherLoad, "cores", lambda self: next(used))
    assert measure_undisturbed(lambda: "it", lambda line: None, "it") == ("it", True)
    assert next(used) == 0.7


def test_a_slowed_core_is_a_disturbance(loads: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    slowed = iter([True, False])
    monkeypatch.setattr(CoreWait, "wait", lambda self: next(slowed))
    notes = list[str]()
    numbers = iter(range(10))
    assert measure_undisturbed(lambda: next(numbers), notes.append, "it", CoreWait(1.0)) == (1, True)
    assert notes == ["calibration: a core was slower than before, as others use it too; try 2 of 3 ..."]


def test_a_busy_process_is_noticed() -> None:
    notes = list[str]()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            _, quiet = measure_undisturbed(lambda: _wait_for_ticks(0.3), notes.append, "a trial")
        finally:
            busy.kill()
    assert not quiet
    assert len(notes) == TRIES
    assert "other processes used" in notes[0]
    assert "expected a quiet host for a trial" in notes[-1]


def _wait_for_ticks(seconds: float) -> None:
    """Compute nothing for a while, so that the system counts the time of others."""
    threading.Event().wait(seconds)


def test_this_process_is_no_other_load() -> None:
    load = OtherLoad()
    total = sum(i * i for i in range(1 << 20))
    assert total > 0
    assert load.cores() >= 0.0


def test_the_fastest_rounds_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the first round the host was busy, in the second both cores were on one real core."""
    answers = [
        ({"products": 90.0, "streams": 30.0}, {"products": 95.0, "streams": 28.0}),
        ({"products": 100.0, "streams": 60.0}, {"products": 50.0, "streams": 20.0}),
        ({"products": 98.0, "streams": 58.0}, {"products": 98.0, "streams": 30.0}),
    ]
    rounds = iter(answers)
    monkeypatch.setattr(core_speeds, "ROUNDS", len(answers))
    monkeypatch.setattr(core_speeds, "_probe_round", lambda probes: next(rounds))
    assert measure_core_speeds(1) == (100.0, 60.0, 100 / 98, 2.0)


@pytest.mark.slow
def test_cores_and_instructions_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpart.measure.core_speeds.ROUNDS", 1)
    found = measure_core_speeds(2)
    assert found.speed > 1e8
    assert found.streaming > 1e8
    assert found.products_slow >= 1 <= found.streams_slow
    instruction, step = measure_instructions()
    assert 1e-8 <= instruction < 1e-3
    assert 1e-8 <= step < 1e-1
