"""Bound memory: the forecast is near what oneDNN and Python allocate when a worker binds its Programs."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from netpart.kernels.onednn.library import missing_onednn
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.bound_memory import CODE, HANDLE, INSTRUCTION, bound_bytes
from netpart.plan.price.kernel_workspace import call_memory, count_calls
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.program import WorkerProgram
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job
from netpart.updaters import build_updater
from tests.house.tree import ROOT

ALLOCATED = """
import ctypes, gc, sys
import numpy as np
from netpart.transport.memory import MemoryHub
from netpart.updaters import build_updater
from netpart.worker.player import Player
from tests.plan.price.test_bound_memory import compiled

class Allocated(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena a b c mapped d e used f g".split()]

mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = Allocated

def used():
    gc.collect()
    found = mallinfo2()
    return found.mapped + found.used

players, taken = [], []
for name in ("alexnet", sys.argv[1]):  # the first one loads the library, and what is imported late
    job, program = compiled(name)
    before = used()
    players.append(Player(program, MemoryHub(1)[0], np, build_updater(job.updater)))
    taken.append(used() - before - program.total_bytes - players[-1].machine.workspace_bytes)
print(taken[-1])
"""
JOBS = {"alexnet": "alexnet/alexnet-small", "vit": "vit/vit-b16-small", "resnet": "resnet/resnet18-small"}


def compiled(name: str) -> tuple[JobProto, WorkerProgram]:
    """A job of JOBS and the Program of its only worker."""
    job = read_job(Path(ROOT / f"graphs/{JOBS[name]}.conf"))
    cut = partition_by_scheme(job.proto, 1, job.folder, phases=("train",))
    slots = len(build_updater(job.proto.updater).states)
    return job.proto, compile_worker(cut, 0, slots, kernels=job_kernel_class(job.proto))


@pytest.mark.skipif(bool(missing_onednn()), reason="expected oneDNN")
@pytest.mark.parametrize("name", ["vit", "resnet"])
def test_it_is_near_what_is_allocated(name: str) -> None:
    """Without Python's objects and the code that oneDNN generates, which malloc does not see."""
    found = subprocess.run(
        [sys.executable, "-c", ALLOCATED, name], check=True, capture_output=True, cwd=ROOT, text=True
    )
    job, program = compiled(name)
    instructions = INSTRUCTION * len(program.phases["train"].instructions)
    forecast = bound_bytes(program, count_calls(program, job)) - instructions
    assert 0.6 * forecast < int(found.stdout) < 1.3 * forecast


@pytest.mark.skipif(bool(missing_onednn()), reason="expected oneDNN")
def test_code_is_made_once_and_handles_are_made_for_each_call() -> None:
    job, program = compiled("vit")
    calls = count_calls(program, job)
    once, twice = (bound_bytes(program, Counter({key: n * times for key, times in calls.items()})) for n in (1, 2))
    handles = sum(times * len(call_memory(key).primitives) for key, times in calls.items())
    assert twice - once == HANDLE * handles
    assert handles > len(calls)
    assert once >= CODE * sum(len(call_memory(key).primitives) for key in calls) + HANDLE * handles
