"""The load by other processes is measured apart from that of the benchmark itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from benchmarks import load
from benchmarks.load import (
    QUIET,
    LoadedMachineError,
    Watch,
    begin_watch,
    expect_quiet,
    loaded,
    own_seconds,
    tree_seconds,
)

SPIN = "print(flush=True)\nwhile True: pass"


@contextmanager
def spinning() -> Iterator[int]:
    """A process that computes until it is ended; its number."""
    with subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


def spin(seconds: float) -> None:
    """Uses processor time."""
    until = process_time() + seconds
    while process_time() < until:
        pass


def test_what_this_process_and_its_children_do_is_their_own() -> None:
    with spinning() as child:
        began, of_child = tree_seconds(os.getpid()), own_seconds(child)
        spin(0.3)
        by_child = own_seconds(child) - of_child
        used = tree_seconds(os.getpid()) - began
    assert used >= 0.25 + by_child
    assert (
        tree_seconds(os.getpid()) >= began + used - 0.05
    )  # the child has ended, and still counts: ticks are rounded down


def test_an_ended_process_has_no_seconds() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert own_seconds(ended.pid) == 0


def test_others_are_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, own = iter([100.0, 103.5]), iter([10.0, 12.5])
    monkeypatch.setattr(load, "machine_seconds", lambda: next(machine))
    monkeypatch.setattr(load, "tree_seconds", lambda _: next(own))
    monkeypatch.setattr(load, "perf_counter", lambda: 2.0)
    assert Watch(began=0.0).others() == pytest.approx(0.5)  # 1 second of others in 2


def test_interrupts_and_idle_time_are_not_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 20 30 9999 9999 777 888 50 0 0\ncpu0 1 1 1 1\n")
    monkeypatch.setattr(load, "Path", lambda _: stat)
    assert load.machine_seconds() == pytest.approx(200 / load.TICKS)
    stat.write_text("cpu  0 0 0 0 0 0 0 0\n")
    assert load.machine_seconds() is None


def test_a_system_that_does_not_count_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "machine_seconds", lambda: None)
    assert Watch().others() is None
    assert not loaded(None)
    expect_quiet([None], "it")


def test_the_machine_counts_more_than_this_process() -> None:
    before = load.machine_seconds()
    spin(0.2)
    after = load.machine_seconds()
    assert before is not None
    assert after is not None
    assert after - before >= 0.15


def test_a_loaded_machine_is_refused_with_what_to_do() -> None:
    expect_quiet([0.0, QUIET, None], "the start of the timings")
    with pytest.raises(LoadedMachineError) as refused:
        expect_quiet([0.0, 1.5], "the start of the timings")
    message = str(refused.value)
    assert "the start of the timings: expected a quiet machine, at most 0.1 cores in use by others" in message
    assert all(part in message for part in ("got 1.50 of", "give the same command again", "--loaded"))


def test_what_others_did_meanwhile_is_recorded_with_each_point(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.figures import SIMULATED, Point
    from benchmarks.steps import watched

    loads: Any = iter([0.25, 0.0])
    monkeypatch.setattr(Watch, "others", lambda _: next(loads))
    first, second, third = (Point("n", "data", workers, 1.0, SIMULATED) for workers in (1, 2, 4))
    assert [point.load for point in watched(iter([[first, second], [third]]))] == [0.25, 0.25, 0.0]


def test_a_benchmark_ends_on_a_busy_machine_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.load.look", lambda: 1.5)
    with pytest.raises(SystemExit, match=r"a benchmark: expected a quiet machine.*--loaded"):
        begin_watch("a benchmark", anyhow=False)
    assert isinstance(begin_watch("a benchmark", anyhow=True), Watch)
    monkeypatch.setattr("benchmarks.load.look", lambda: QUIET)
    assert isinstance(begin_watch("a benchmark", anyhow=False), Watch)
