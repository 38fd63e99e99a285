"""Kernel workspace: the forecast is what a worker allots when it binds its Programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.kernels.choose import has_bfloat16
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.kernel_workspace import workspace_bytes
from netpart.program.compile import compile_worker
from netpart.program.instructions import Update
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.passes import strip_gradients
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


@pytest.mark.parametrize("precision", ["FLOAT32", "BFLOAT16"])
@pytest.mark.parametrize("name", ["alexnet/alexnet-small", "mlp/column-row"])
def test_it_is_with_gradients_in_strips(name: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if precision == "BFLOAT16" and not has_bfloat16():
        pytest.skip("expected a processor that multiplies bfloat16")
    monkeypatch.setattr(strip_gradients, "LEAST", 1)
    monkeypatch.setattr(strip_gradients, "STRIP", 1 << 14)
    job = read_job(Path(ROOT / f"graphs/{name}.conf"), [f"precision={precision}"])
    cut = partition_by_scheme(job.proto, 1, job.folder, phases=("train",))
    rule = build_updater(job.proto.updater)
    program = compile_worker(cut, 0, len(rule.states), kernels=job_kernel_class(job.proto))
    assert any(isinstance(each, Update) and each.rows for each in program.phases["train"].instructions)
    player = Player(program, MemoryHub(1)[0], np, rule)
    assert workspace_bytes(program, job.proto) == player.machine.workspace_bytes
