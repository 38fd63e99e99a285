"""run, with workers that are threads: errors of any kind end all of them with one message; strangers are ignored."""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpart.checkpoint.safetensors_file import create_checkpoint
from netpart.errors import ConfigError, DataError, MemoryRefused, NetpartError, WorkerFailed
from netpart.families import LAUNCHERS
from netpart.kernels.op import Op
from netpart.kernels.reference import Kernels
from netpart.launch import run as launch
from netpart.launch.report.events import Event, Measured
from netpart.launch.teams.threads import ThreadTeam
from netpart.program.instructions import Way
from netpart.proto.reader import read_job
from netpart.transport.memory import MemoryTransport
from netpart.worker import machine
from tests.end2end.running import mlp


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Any:
    yield
    assert not [thread for thread in threading.enumerate() if "worker" in thread.name or "netpart" in thread.name]


def run(conf: Path, workspace: Path, workers: int = 3, **options: Any) -> Any:
    return launch.run_job(read_job(conf), workers, launcher="threads", workspace=workspace, **options)


def disturb(monkeypatch: pytest.MonkeyPatch, verb: str, act: Callable[[int], None]) -> None:
    """Makes a kernel call ``act`` with the number of its call, before it runs."""
    original, calls = getattr(Kernels, verb), [0]

    def disturbed(self: Kernels, *args: Any, **named: Any) -> Op:
        op: Op = original(self, *args, **named)

        def play(*scratch: Any) -> None:
            act(calls[0])
            calls[0] += 1
            op.run(*scratch)

        return Op(play, op.scratch)

    monkeypatch.setattr(Kernels, verb, disturbed)


def test_an_unforeseen_error_names_worker_layer_phase_and_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(call: int) -> None:
        if call == 10:
            raise ZeroDivisionError("of zero")

    disturb(monkeypatch, "softmax_loss", fail)
    with pytest.raises(WorkerFailed) as caught:
        run(mlp(tmp_path, test_steps=0), tmp_path / "run")
    first, *rest = str(caught.value).splitlines()
    assert re.fullmatch(r"worker \d: train step 3, forward loss\S*: ZeroDivisionError: of zero", first)
    assert rest[0] == "last lines of its log:"
    assert rest[-1] == "ZeroDivisionError: of zero"


CSV = """
name: "csv" train_steps: 8 train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.05 } }
neuralnet {
  partition_dim: 0
  layer {
    name: "data" type: kCSVInput partition_dim: -1
    store_conf { backend: "textfile" path: "rows.csv" shape: 2 batchsize: 4 has_label: true }
  }
  layer {
    name: "fc" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 3 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""


@pytest.mark.parametrize("launcher", [name for name in LAUNCHERS.names() if name not in ("join", "ray")])
def test_a_label_that_is_no_class_names_worker_layer_phase_and_step(tmp_path: Path, launcher: str) -> None:
    """Row 14 is the third of step 3: the first of worker 1."""
    rows = (f"{7 if i == 14 else i % 3},{i / 10},{i / 5}\n" for i in range(24))
    (tmp_path / "rows.csv").write_text("".join(rows))
    (tmp_path / "job.conf").write_text(CSV)
    where = r"^worker 1: train step 3, forward loss\S*: label: expected classes 0 to 2, got 7; "
    with pytest.raises(DataError, match=where):
        launch.run_job(read_job(tmp_path / "job.conf"), 2, launcher=launcher, workspace=tmp_path / "run")


def test_a_peer_that_never_answers_is_named_after_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send = MemoryTransport.send

    def lose(self: MemoryTransport, channel: Any, step: int, peer: int, array: Any) -> None:
        if not (self.rank == 0 and peer == 1 and channel[:2] == (1, Way.FORWARD) and step >= 3):
            send(self, channel, step, peer, array)

    monkeypatch.setattr(MemoryTransport, "send", lose)
    with pytest.raises(WorkerFailed) as caught:
        run(mlp(tmp_path, test_steps=0, deadline=3), tmp_path / "run")
    first, *rest = str(caught.value).splitlines()
    assert re.match(
        r"worker [012]: train step 3, ((?:receive|all-\S+) [^:]+): waited [34]\.\d s for \1 \(edge \d+\) from "
        r"worker (\d) in train step 3; check what worker \2 does, or raise the deadline",
        first,
    )
    assert len(rest) >= 2
    assert all(re.search(r" was last heard in train step 3, (receive|all-gather) ", line) for line in rest[:2])


def test_a_computation_longer_than_any_heartbeat_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(call: int) -> None:
        if call == 4:
            square = np.ones((700, 700))
            for _ in range(60):
                square @= np.eye(700)

    monkeypatch.setattr("netpart.launch.coordinator.watchdog.SILENT_SECONDS", 0.2)
    disturb(monkeypatch, "softmax_loss", compute)
    assert run(mlp(tmp_path), tmp_path / "run").steps == 12


def test_an_error_before_step_0_ends_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_memory", lambda held, mapped: 1 << 20)
    with pytest.raises(
        MemoryRefused, match=r"^worker \d: before step 0, allocating memory: needs \d+ bytes .* but may"
    ):
        run(mlp(tmp_path), tmp_path / "run")


def test_a_listener_that_fails_ends_the_run(tmp_path: Path) -> None:
    def hear(event: Event) -> None:
        if isinstance(event, Measured) and event.step == 4:
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        run(mlp(tmp_path), tmp_path / "run", listener=hear)
    assert not list(tmp_path.glob("run/checkpoint/*.partial"))


def test_an_address_of_another_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ThreadTeam, "control_address", lambda team: "tcp://192.0.2.1:5555")
    with pytest.raises(ConfigError, match=r"to be usable, got Cannot assign .*; use an address of this host"):
        run(mlp(tmp_path), tmp_path / "run")


def test_an_address_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ThreadTeam, "control_address", lambda team: "ipc:///nonexistent/folder/socket")
    with pytest.raises(
        NetpartError, match=r"coordinator: expected ipc:///nonexistent/.* to be usable, got No such file"
    ):
        run(mlp(tmp_path), tmp_path / "run")


def test_a_run_without_a_coordinator_leaves_nothing_of_its_team(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A team may have connected to a cluster to learn the address of this host."""
    left = list[str]()

    def refuse(*given: Any) -> None:
        raise NetpartError("a damaged checkpoint")

    def connect(team: ThreadTeam) -> str:
        left.append("a connection")
        return "inproc://here"

    monkeypatch.setattr(launch, "Coordinator", refuse)
    monkeypatch.setattr(ThreadTeam, "control_address", connect)
    monkeypatch.setattr(ThreadTeam, "kill", lambda team: left.clear())
    with pytest.raises(NetpartError, match="a damaged checkpoint"):
        launch.run_job(read_job(mlp(tmp_path)), 2, launcher="threads", workspace=tmp_path / "run")
    assert not left


def test_a_checkpoint_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint").write_text("a file")
    with pytest.raises(DataError, match="expected room for a checkpoint, got a file"):
        run(mlp(tmp_path), tmp_path / "run")


def test_a_launcher_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--launcher: expected a known launcher, got 'pvm'; all 5: join, local, mpi"):
        launch.run_job(read_job(mlp(tmp_path)), 2, launcher="pvm")


def test_what_cannot_be_built_is_told_before_anything_starts(tmp_path: Path) -> None:
    job = read_job(mlp(tmp_path))
    job.proto.neuralnet.layer[2].param[0].init.ClearField("type")
    with pytest.raises(ConfigError, match="expected a way to fill the parameter"):
        launch.run_job(job, 2, launcher="threads", workspace=tmp_path / "run")


def test_a_run_that_diverges_ends_there(tmp_path: Path) -> None:
    job = read_job(mlp(tmp_path), ["updater.learning_rate.base_lr=1e38", "disp_freq=1"])
    with pytest.raises(
        NetpartError, match=r"train step \d+: expected loss/loss to be a number, got (nan|inf).*base_lr"
    ) as caught:
        launch.run_job(job, 2, launcher="threads", workspace=tmp_path / "out")
    first = tmp_path / "out" / "checkpoint" / "step00000000.safetensors"
    assert caught.value.__notes__ == [f"the latest checkpoint is {first}, --resume continues from it"]


def test_a_checkpoint_that_cannot_be_read_or_written_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.safetensors"
    create_checkpoint(other, {"w": ("F32", (2,))}).finish()
    with pytest.raises(DataError, match=f"^{other}: expected tensor"):
        launch.run_job(
            read_job(mlp(tmp_path), [f"checkpoint_path={other}"]), 1, launcher="threads", workspace=tmp_path / "a"
        )

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    written = tmp_path / "b" / "checkpoint" / "step00000000.safetensors"
    with pytest.raises(
        DataError, match=f"^worker 0: .*step 0, writing a checkpoint: {written}: expected room"
    ) as caught:
        run(mlp(tmp_path), tmp_path / "b", 1)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("workers", [0, -1])
def test_a_run_needs_a_worker(tmp_path: Path, workers: int) -> None:
    with pytest.raises(ConfigError, match=f"workers: expected at least 1, got {workers}"):
        run(mlp(tmp_path), tmp_path / "out", workers)
