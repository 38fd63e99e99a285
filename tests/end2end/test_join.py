"""Runs over several hosts: the same result as on one, links that are slow, links that break, coordinators that die."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import Any

import pytest

from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from tests.end2end.hosts import Hosts, network
from tests.end2end.running import DEADLINE, SOON, mlp
from tests.house.tree import ROOT
from tests.thorough import sampled

__all__ = ["network"]
pytestmark = pytest.mark.usefixtures("network")

NETPART = (sys.executable, "-m", "netpart")
TOKEN = {"NETPART_TOKEN": "00112233445566778899aabbccddeeff"}
PORT = 5555
ENDLESS = 1_000_000


class Talk:
    """The lines that a process writes, read while it runs."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines = list[str]()
        self.queue = Queue[str | None]()
        Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.queue.put(line.decode())
        self.queue.put(None)

    def until(self, wanted: str, seconds: float = DEADLINE) -> str:
        """Reads on to the first line in which the pattern ``wanted`` is found."""
        end = monotonic() + seconds
        while True:
            try:
                line = self.queue.get(timeout=max(0.0, end - monotonic()))
            except Empty:
                raise AssertionError(f"no {wanted!r} within {seconds} s after {self.lines}") from None
            assert line is not None, f"ended before {wanted!r}: {self.lines}"
            self.lines.append(line)
            if re.search(wanted, line):
                return line

    def end(self, seconds: float = DEADLINE) -> int:
        """Reads to the end; the exit code."""
        end = monotonic() + seconds
        while (line := self.queue.get(timeout=max(0.0, end - monotonic()))) is not None:
            self.lines.append(line)
        return self.process.wait(max(0.0, end - monotonic()))


def talk(hosts: Hosts, host: int, *arguments: str, **environment: str) -> Talk:
    """Starts netpart on a host."""
    return Talk(
        hosts.start(
            host, *NETPART, *arguments, environment=TOKEN | environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    )  # fmt: skip


def coordinate(hosts: Hosts, conf: Path, workers: int, workspace: Path, *options: str) -> Talk:
    """Starts a run on host 0, which has worker 0."""
    listen = ("--listen", f"tcp://{hosts.addresses[0]}:{PORT}", "--local", "1")
    return talk(hosts, 0, "run", str(conf), "--workers", str(workers), "--workspace", str(workspace), *listen, *options)


def join(hosts: Hosts, host: int, *options: str) -> Talk:
    """Starts a worker on another host."""
    return talk(hosts, host, "worker", "--join", f"tcp://{hosts.addresses[0]}:{PORT}", *options)


def files(workspace: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((workspace / "checkpoint").iterdir())}


def check_the_same(conf: Path, workers: int, workspace: Path, summary: Path, *overrides: str) -> None:
    """Every checkpoint of ``workspace`` is, bit for bit, that of a run on one host; so are the bytes that moved."""
    local = run_job(read_job(conf, overrides), workers, workspace=workspace.with_name("local"))
    assert files(workspace) == files(workspace.with_name("local"))
    said: dict[str, Any] = json.loads(summary.read_text())
    assert said["bytes_by_edge"] == local.bytes_by_edge
    assert said["bytes_counted"] == said["bytes_predicted"] == local.bytes_counted > 0


def check_all_have_ended(hosts: Hosts) -> None:
    end = monotonic() + SOON
    while left := [pid for host in range(len(hosts.names)) for pid in hosts.running(host)]:
        assert monotonic() < end, f"processes outlive the run: {left}"


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    with Hosts(3) as hosts:
        yield hosts


def test_three_hosts_train_what_one_trains(hosts: Hosts, tmp_path: Path) -> None:
    """Ranks are given in the order of coming; everybody listens at the address of his own host."""
    conf = mlp(tmp_path)
    workspace = tmp_path / "run"
    summary = tmp_path / "summary.json"
    coordinator = coordinate(hosts, conf, 3, workspace, "--summary", str(summary))
    coordinator.until(r"waiting for workers 1, 2; .*netpart worker --join tcp://10\.77\.0\.1:5555")
    others = [join(hosts, 1)]
    coordinator.until(r"worker 1 joined .*; waiting for worker 2$")
    others.append(join(hosts, 2))
    coordinator.until(r"worker 2 joined .*; all workers have joined$")
    for host, other in enumerate(others, start=1):
        other.until(rf"worker {host}: joined .*, listening at tcp://10\.77\.0\.{host + 1}$")
        assert other.end() == 0
    assert coordinator.end() == 0
    check_the_same(conf, 3, workspace, summary)
    check_all_have_ended(hosts)


def test_the_page_trains_on_two_hosts_with_two_commands(hosts: Hosts, tmp_path: Path) -> None:
    """The first command of docs/hosts.md, and then the line that it prints, with a stand-in for ssh."""
    mlp(tmp_path, "job")
    page = (ROOT / "docs" / "hosts.md").read_text(encoding="utf-8")
    first, printed = (block.strip() for block in page.split("```")[1:4:2])
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, script in {"ssh": 'shift\nexec "$@"', "netpart": f'exec {" ".join(NETPART)} "$@"'}.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    environment = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    outlet: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "cwd": tmp_path}
    command = first.replace("10.0.0.1", hosts.addresses[0])
    coordinator = Talk(hosts.start(0, "sh", "-c", command, environment=environment, **outlet))
    line = coordinator.until("^waiting for").strip()
    file = tmp_path / "out" / "mlp" / "token"
    assert line == printed.replace("10.0.0.1", hosts.addresses[0]).replace("…/token", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    other = Talk(hosts.start(1, "sh", "-c", line.split("for each: ")[1], environment=environment, **outlet))
    assert (other.end(), coordinator.end()) == (0, 0)
    assert not file.exists()


@pytest.mark.thorough
def test_a_slow_link_changes_nothing_but_the_time(hosts: Hosts, tmp_path: Path) -> None:
    conf = mlp(tmp_path)
    workspace = tmp_path / "run"
    summary = tmp_path / "summary.json"
    hosts.slow(1, "10mbit")
    coordinator = coordinate(
        hosts, conf, 2, workspace, "--summary", str(summary), "--set", "fc1.innerproduct_conf.num_output=4000"
    )
    other = join(hosts, 1)
    assert (other.end(), coordinator.end()) == (0, 0)
    check_the_same(conf, 2, workspace, summary, "fc1.innerproduct_conf.num_output=4000")


@pytest.mark.thorough
def test_a_run_goes_on_from_a_checkpoint_that_other_hosts_cannot_see(hosts: Hosts, tmp_path: Path) -> None:
    """The workspace is hidden from the other host; what it holds of a checkpoint comes over its link, and returns."""
    conf = mlp(tmp_path)
    workspace = tmp_path / "run"
    summary = tmp_path / "summary.json"
    run_job(read_job(conf, ["train_steps=4"]), 3, workspace=workspace)
    coordinator = coordinate(hosts, conf, 2, workspace, "--resume", "--summary", str(summary))
    hidden = f'mount -t tmpfs none {tmp_path} && exec "$@"'
    command = (*NETPART, "worker", "--join", f"tcp://{hosts.addresses[0]}:{PORT}")
    process = hosts.start(
        1, "sh", "-c", hidden, "sh", *command, environment=TOKEN, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        cwd="/",
    )  # fmt: skip
    other = Talk(process)
    assert (other.end(), coordinator.end()) == (0, 0), other.lines + coordinator.lines
    run_job(read_job(conf, ["train_steps=4"]), 3, workspace=tmp_path / "local")
    check_the_same(conf, 2, workspace, summary, "resume=true")


def test_a_link_that_breaks_in_a_step(hosts: Hosts, tmp_path: Path) -> None:
    """One message, on the coordinator, names who was lost and where he was; everybody ends, also who was cut off."""
    conf = mlp(tmp_path, train_steps=ENDLESS, checkpoint_freq=0, test_freq=0, disp_freq=100)
    coordinator = coordinate(hosts, conf, 3, tmp_path / "run")
    others = [join(hosts, host, "--rank", str(host)) for host in (1, 2)]
    coordinator.until(r"^Train @ step 600 ", 4 * DEADLINE)  # more steps than fit between two heartbeats
    hosts.cut(2)
    began = monotonic()
    message = coordinator.until("^error: ", SOON)
    lost = r"stopped, or its link is lost: (not heard for \d+\.\d s|that has closed)"
    where = rf"(ended or )?{lost}, last heard in train step \d+, \S+"
    assert re.match(rf"error: worker 2 \(.*process \d+\): {where}", message)
    assert coordinator.end(SOON) == 1
    assert others[1].end(max(0.0, began + SOON - monotonic())) == 1
    assert monotonic() - began <= SOON
    assert others[1].lines[-1].startswith("error: worker 2: lost its coordinator at tcp://10.77.0.1:5555: ")
    assert others[0].end(SOON) == 1
    assert others[0].lines[-1].startswith("error: worker 1: the run ended early; ")
    assert "".join(coordinator.lines).count("error: ") == 1
    check_all_have_ended(hosts)


@pytest.mark.parametrize("line", sampled(["^Train @ step 20 ", "waiting for", "joined"], 3))
def test_kill_9_of_the_coordinator(hosts: Hosts, tmp_path: Path, line: str) -> None:
    """At the start, while others are waited for, and in a step."""
    conf = mlp(tmp_path, train_steps=ENDLESS, checkpoint_freq=0, test_freq=0)
    workers = 3 if "Train" in line else 4
    coordinator = coordinate(hosts, conf, workers, tmp_path / "run")
    coordinator.until("waiting for")
    others = [join(hosts, host, "--wait", "2" if line == "waiting for" else "10") for host in (1, 2)]
    for other in others:
        other.until("^joining")
    if line != "waiting for":
        coordinator.until(line)
    os.kill(coordinator.process.pid, signal.SIGKILL)
    began = monotonic()
    assert [other.end(SOON) for other in others] == [1, 1]
    assert monotonic() - began <= SOON
    assert all(other.lines[-1].startswith("error: ") for other in others), [other.lines for other in others]
    coordinator.end(SOON)
    check_all_have_ended(hosts)


@pytest.mark.thorough
def test_a_worker_that_is_killed_is_missed(hosts: Hosts, tmp_path: Path) -> None:
    coordinator = coordinate(hosts, mlp(tmp_path, train_steps=ENDLESS, checkpoint_freq=0), 2, tmp_path / "run")
    other = join(hosts, 1)
    coordinator.until(r"^Train @ step 20 ")
    os.kill(other.process.pid, signal.SIGKILL)
    assert coordinator.end(SOON) == 1
    assert re.match(
        r"error: worker 1 \(.*\): ended or stopped, or its link is lost: that has closed", coordinator.lines[-1]
    )


@pytest.mark.thorough
def test_a_worker_that_is_interrupted_says_so(hosts: Hosts, tmp_path: Path) -> None:
    coordinator = coordinate(hosts, mlp(tmp_path, train_steps=ENDLESS, checkpoint_freq=0), 2, tmp_path / "run")
    other = join(hosts, 1)
    coordinator.until(r"^Train @ step 20 ")
    os.kill(other.process.pid, signal.SIGTERM)
    assert (coordinator.end(SOON), other.end(SOON)) == (1, 128 + signal.SIGTERM)
    assert "interrupted on its host" in coordinator.lines[-1]


def test_who_does_not_come_is_named(hosts: Hosts, tmp_path: Path) -> None:
    coordinator = coordinate(hosts, mlp(tmp_path), 4, tmp_path / "run", "--wait", "5")
    other = join(hosts, 1, "--rank", "2")
    assert (coordinator.end(), other.end()) == (1, 1)
    message = coordinator.lines[-1]
    assert message.startswith(
        f"error: worker 1: expected to join tcp://{hosts.addresses[0]}:{PORT} within 5 s (--wait), did not, nor did 3; "
    )


def test_strangers_stay_outside(hosts: Hosts, tmp_path: Path) -> None:
    """Another token, a rank that is taken, and one too many: each is told at once, and the run goes on."""
    conf = mlp(tmp_path)
    workspace = tmp_path / "run"
    summary = tmp_path / "summary.json"
    coordinator = coordinate(hosts, conf, 2, workspace, "--summary", str(summary))
    coordinator.until("waiting for")
    stranger = talk(
        hosts, 2, "worker", "--join", f"tcp://{hosts.addresses[0]}:{PORT}", NETPART_TOKEN="ff" * 16
    )  # fmt: skip
    assert stranger.end() == 1
    assert "expected a coordinator with this token, got one that does not accept it" in stranger.lines[-1]
    taken = join(hosts, 2, "--rank", "0")
    assert taken.end() == 1
    assert "expected a rank that is free, got 0, which is taken; free: 1. Omit --rank" in taken.lines[-1]
    other = join(hosts, 1)
    assert (other.end(), coordinator.end()) == (0, 0)
    check_the_same(conf, 2, workspace, summary)


def test_an_elastic_run_gives_up_one_of_two_workers_that_do_not_reach_each_other(hosts: Hosts, tmp_path: Path) -> None:
    """The coordinator hears both, so neither is lost. The one that joined later goes, and the others go on."""
    conf = mlp(tmp_path, train_steps=ENDLESS, checkpoint_freq=0, test_freq=0, disp_freq=100)
    coordinator = coordinate(hosts, conf, 3, tmp_path / "run", "--elastic", "2..3")
    others = [join(hosts, host, "--rank", str(host)) for host in (1, 2)]
    coordinator.until("^Train @ step 100 ", 4 * DEADLINE)
    hosts.part(1, 2)
    gone = coordinator.until("is gone: ", 2 * DEADLINE)
    pair = r"it and worker 1 \(.*\) do not reach each other: cannot reach worker [12]: no connection to tcp://10\.77\."
    assert re.search(rf"^worker 2 \(.*\) is gone: {pair}", gone), coordinator.lines
    coordinator.until("^  going on with step ")
    coordinator.until("^Train @ step ")
    assert others[1].end(SOON) == 1
    os.kill(coordinator.process.pid, signal.SIGINT)
    coordinator.end(SOON)
    others[0].end(SOON)
    check_all_have_ended(hosts)
