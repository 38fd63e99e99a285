"""What a worker needs beyond its buffers, and when it is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netpart.errors import MemoryRefused
from netpart.program.compile import compile_worker
from netpart.program.messages.wire_memory import AHEAD, OUT, mapped_bytes, wire_bytes
from netpart.transport.memory import MemoryHub
from netpart.worker import machine
from netpart.worker import memory_limit as limits
from netpart.worker.ensemble import Ensemble
from netpart.worker.memory_limit import RESERVE
from tests.worker.jobs import LENET, partition

TWO = """
name: "two" train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.01 } }
neuralnet {
  layer {
    name: "data" type: kSyntheticInput location: 0 partition_dim: -1
    store_conf { shape: 6 batchsize: 4 } synthetic_conf { classes: 2 }
  }
  layer {
    name: "fc" type: kInnerProduct srclayers: "data" location: 1 partition_dim: -1
    innerproduct_conf { num_output: 2 bias_term: false }
    param { init { type: kUniformSqrtFanIn } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" location: 1 partition_dim: -1 }
}
"""


def test_messages_of_bridges() -> None:
    """Data (4, 6) float32 and labels (4,) int32 go from worker 0 to worker 1; nothing comes back."""
    cut = partition(TWO, 2)
    data, labels = 4 * 6 * 4, 4 * 4
    assert wire_bytes(compile_worker(cut, 0)) == OUT * (data + labels)
    assert wire_bytes(compile_worker(cut, 1)) == AHEAD * (data + labels)
    assert [wire_bytes(compile_worker(cut, w), slots=True) for w in (0, 1)] == [0, AHEAD * (data + labels)]
    assert [mapped_bytes(compile_worker(cut, w)) for w in (0, 1)] == [AHEAD * (data + labels), 0]


def test_messages_of_rings() -> None:
    """Only the inner product's 12 weights are summed, in two chunks of 6, beside the rows that worker 1 gets."""
    cut = partition(TWO.replace("location: 1 partition_dim: -1", "partition_dim: 0"), 2, "collectives=RING")
    chunk = 6 * 4
    weights = 12 * 4
    data = 2 * 6 * 4
    labels = 2 * 4
    assert wire_bytes(compile_worker(cut, 0)) == OUT * (data + labels + chunk) + weights
    assert wire_bytes(compile_worker(cut, 1)) == OUT * chunk + AHEAD * (data + labels) + weights
    sum_and_addend = 2 * chunk  # of the peer: what comes of the sum is written there, and the addend is read there
    assert [wire_bytes(compile_worker(cut, w), slots=True) for w in (0, 1)] == [0, AHEAD * (data + labels)]
    assert mapped_bytes(compile_worker(cut, 0)) == AHEAD * (data + labels) + sum_and_addend


def test_one_worker_sends_nothing() -> None:
    assert wire_bytes(compile_worker(partition(TWO.replace("location: 1", "location: 0"), 1), 0)) == 0


def test_the_plan_is_what_is_taken() -> None:
    """Parameters, gradients, momentum, activations, workspace, frames, initialisation: the peak of a real process."""
    command = [sys.executable, "-m", "tests.worker.measure_memory"]
    said = subprocess.run(command, check=True, capture_output=True, env=os.environ | {"PYTHONPATH": os.getcwd()})
    planned, measured = map(int, said.stdout.split())
    assert measured <= 1.2 * planned + (16 << 20)
    assert planned <= 1.5 * measured


def test_refused_by_one_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = partition(LENET, 2)
    need = compile_worker(cut, 0, 1).total_bytes + wire_bytes(compile_worker(cut, 0, 1)) + RESERVE
    monkeypatch.setattr(machine, "available_memory", lambda held, mapped: need - 1)
    with pytest.raises(
        MemoryRefused, match=rf"^worker 0: needs {need} bytes \(.*\) but may have {need - 1} \(.*cut the net"
    ):
        Ensemble(cut)
    monkeypatch.setattr(machine, "available_memory", lambda held, mapped: 2 * need)
    assert len(MemoryHub(2)) == len(Ensemble(cut).players)


def test_no_more_than_the_host_or_its_container_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meminfo, limit = tmp_path / "meminfo", tmp_path / "memory.max"
    monkeypatch.setattr(limits, "MEMINFO", meminfo)
    monkeypatch.setattr(limits, "CONTAINER", (limit,))
    monkeypatch.setattr(limits, "free_address_space", lambda: None)
    assert limits.available_memory() is None
    meminfo.write_text("MemTotal:  2048 kB\nMemFree: 1 kB\nSwapTotal: 1024 kB\nHugePages_Total: 0\n")
    assert limits.available_memory() == 3 << 20
    limit.write_text("max\n")
    assert limits.available_memory() == 3 << 20
    limit.write_text("1000\n")
    assert limits.available_memory() == limits.host_memory_limit() == 1000
    assert limits.available_memory(held=300) == 700
    assert limits.available_memory(held=1300) == 0
    assert limits.available_memory(mapped=300) == 1000
    monkeypatch.setattr(limits, "free_address_space", lambda: 900)
    assert limits.available_memory(mapped=300) == 600


def test_a_workspace_counts_with_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that was allocated and not touched is not seen by the host."""
    found = compile_worker(partition(LENET, 1), 0, 1)
    plan = found.total_bytes + wire_bytes(found) + RESERVE
    monkeypatch.setattr(limits, "free_address_space", lambda: None)
    monkeypatch.setattr(limits, "host_memory_limit", lambda: plan)
    with pytest.raises(MemoryRefused, match=rf"^worker 0: needs \d+ bytes \(.*\) but may have {plan} \("):
        Ensemble(partition(LENET, 1))
