"""Kernel workspace: the forecast is what a worker allots when it binds its Programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.kernel_workspace import workspace_bytes
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.reader import read_job
from netpart.transport.memory import MemoryHub
from netpart.updaters import build_updater
from netpart.worker.player import Player
from tests.house.tree import ROOT
from tests.thorough import sampled

NETS = (
    "halo/conv-rows", "unet/unet2d-small", "gpt/gpt2-small", "vit/vit-b16-small", "resnet/resnet18-small",
    "unet/unet3d-small", "alexnet/alexnet-small", "resattnet/resattnet18-small",
)  # fmt: skip
SCHEMES = ("as_written", "data", "gather_scatter")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", sampled(NETS, 2))
def test_it_is_what_a_worker_allots(name: str, scheme: str) -> None:
    job = read_job(Path(ROOT / f"graphs/{name}.conf"))
    cut = partition_by_scheme(job.proto, 2, job.folder, phases=("train",), scheme=scheme)
    rule = build_updater(job.proto.updater)
    hub = MemoryHub(cut.workers)
    for worker in range(cut.workers):
        program = compile_worker(cut, worker, len(rule.states), kernels=job_kernel_class(job.proto))
        player = Player(program, hub[worker], np, rule)
        assert workspace_bytes(program, job.proto) == player.machine.workspace_bytes
