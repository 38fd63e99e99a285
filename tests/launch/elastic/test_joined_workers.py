"""Elastic runs whose workers come from other hosts: one is killed, one is cut off, one comes later."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netpart.launch.control.token import BYTES, VARIABLE, RunToken
from netpart.launch.report.events import Lost, Measured, WentOn
from netpart.launch.run import run_job
from netpart.launch.teams.meeting import Meeting
from tests.end2end.running import SOON
from tests.house.tree import ROOT
from tests.launch.elastic.losses import (
    NoticedKills,
    check_equal,
    check_same_curve,
    elastic_job,
    run_with_losses,
    undisturbed,
)
from tools.faulty_run import cut_link

STEPS = 300


class Joiners:
    """Workers that join a run at ``meeting``, as processes of this host."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.listen = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        self.token = RunToken(os.urandom(BYTES))
        self.meeting = Meeting(self.listen, 0, self.token, 60.0)
        self.log = folder / "joiners.log"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start one more."""
        command = [sys.executable, "-P", "-m", "netpart", "worker", "--join", self.listen, "--wait", "30"]
        environment = os.environ | {VARIABLE: self.token.text, "PYTHONPATH": str(ROOT)}
        with self.log.open("ab") as log:
            self.processes.append(
                subprocess.Popen([*command, "--threads", "1"], stdout=log, stderr=log, env=environment)
            )

    def kill(self, number: int) -> Callable[[], None]:
        """What kills one of them."""
        return lambda: self.processes[number].send_signal(signal.SIGKILL)

    def cut(self, number: int) -> Callable[[], None]:
        """What shuts down a connection of one of them."""

        def shut() -> None:
            assert cut_link(self.processes[number].pid)

        return shut


@contextmanager
def joiners(count: int, folder: Path) -> Iterator[Joiners]:
    """So many workers; at the end none is left."""
    made = Joiners(folder)
    try:
        for _ in range(count):
            made.start()
        yield made
        for process in made.processes:
            process.wait(SOON)
    finally:
        for process in made.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Measured]]:
    folder = tmp_path_factory.mktemp("plain")
    return folder, undisturbed(elastic_job(f"train_steps={STEPS}"), folder)


def test_a_kill_is_known_within_a_second(tmp_path: Path) -> None:
    """The link of a process that ends is closed. Once of two times: the machine may be busy."""
    with joiners(3, tmp_path) as workers:
        left = iter(workers.processes)
        kills = NoticedKills(lambda: next(left).kill(), 2)
        run_job(elastic_job(), 3, listener=kills, workspace=tmp_path / "run", launcher="join", meeting=workers.meeting)
    assert min(kills.found)[0] <= 1.0
    assert all("that has closed" in reason for _, reason in kills.found)


@pytest.mark.thorough
def test_a_worker_is_killed_and_another_one_comes(plain: tuple[Path, list[Measured]], tmp_path: Path) -> None:
    job = elastic_job(f"train_steps={STEPS}")
    with joiners(3, tmp_path) as workers:
        _, losses = run_with_losses(
            job, 3, tmp_path / "run", {14: workers.kill(1), 21: workers.start}, launcher="join", meeting=workers.meeting
        )
    check_equal(tmp_path / "run", plain[0], STEPS)
    check_same_curve(losses.of(Measured), plain[1])
    assert next(went.workers for went in losses.of(WentOn)) == 2
    assert len(losses.of(Lost)) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(2))
def test_a_link_is_cut(plain: tuple[Path, list[Measured]], tmp_path: Path, number: int) -> None:
    """Whichever link it is: to the coordinator, to another worker, to a region service."""
    job = elastic_job(f"train_steps={STEPS}", "deadline=6")
    with joiners(3, tmp_path) as workers:
        _, losses = run_with_losses(
            job, 3, tmp_path / "run", {28 + 7 * number: workers.cut(number)}, launcher="join", meeting=workers.meeting
        )
    check_equal(tmp_path / "run", plain[0], STEPS)
    check_same_curve(losses.of(Measured), plain[1])
