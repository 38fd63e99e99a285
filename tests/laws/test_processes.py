"""Law 9 in real processes, in float32: over either transport and with either kernels, bit for bit.

What workers in turn compute, tests/laws/test_kernel_sets.py and test_workers.py hold against one worker.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from netpart.kernels.onednn.library import missing_onednn
from netpart.launch.run import run_job
from netpart.plan.partition import partition_by_scheme
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.job_pb2 import JobProto, KernelSet, Scheme
from netpart.proto.reader import Job
from netpart.worker.ensemble import Ensemble
from tests.laws.test_kernel_sets import STEPS, job_of
from tests.thorough import sampled

WORKERS, TRANSPORTS = 2, ("shm", "zeromq")
fast = pytest.param("ONEDNN", marks=pytest.mark.skipif(bool(missing_onednn()), reason=missing_onednn()))
either_kernels = pytest.mark.parametrize("kernels", [fast, "REFERENCE"])
Tensors = dict[str, NDArray[Any]]


def job(kernels: str, threads: int) -> JobProto:
    """A small residual net: convolutions, moments that are exchanged, buckets."""
    found = job_of("resnet/resnet18-small")
    found.kernels = KernelSet.Name.Value(kernels)  # type: ignore[assignment]
    found.num_openblas_threads = threads
    found.train_steps = STEPS
    found.test_steps = 0
    found.neuralnet.scheme = Scheme.DATA
    return found


def play(proto: JobProto, transport: str, workspace: Path) -> Tensors:
    """The parameters that processes have after the last step."""
    summary = run_job(Job(proto, None, "job", ""), WORKERS, launcher="local", workspace=workspace, transport=transport)
    assert summary.bytes_counted == summary.bytes_predicted
    return dict(load_file(summary.checkpoint))


def play_in_turn(proto: JobProto) -> Tensors:
    """The same of workers that take turns in one thread."""
    ensemble = Ensemble(partition_by_scheme(proto, WORKERS), kernels=job_kernel_class(proto))
    ensemble.initialise()
    for step in range(STEPS):
        ensemble.step("train", step)
    found = ensemble.partition.parameters
    return {p.name: ensemble.parameter(p.name).reshape(p.spec.saved or p.spec.shape) for p in found}


def same_bits(found: Tensors, expected: Tensors) -> None:
    assert found.keys() == expected.keys()
    differ = [name for name, value in expected.items() if not np.array_equal(found[name], value)]
    assert not differ


@either_kernels
@pytest.mark.parametrize("transport", sampled(TRANSPORTS, 2))
def test_processes_compute_what_workers_in_turn_do(kernels: str, transport: str, tmp_path: Path) -> None:
    proto = job(kernels, 1)
    same_bits(play(proto, transport, tmp_path), play_in_turn(proto))


@pytest.mark.parametrize("kernels", sampled([fast, "REFERENCE"], 2))
def test_two_threads_per_worker_give_the_same_bits_again(kernels: str, tmp_path: Path) -> None:
    proto = job(kernels, 2)
    first, again = (play(proto, transport, tmp_path / transport) for transport in TRANSPORTS)
    same_bits(again, first)
