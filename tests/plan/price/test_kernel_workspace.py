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
CAUSAL = """
name: "causal" train_steps: 1
train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.01 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 32 shape: 4 shape: 256 }
          synthetic_conf { classes: 4 } }
  layer { name: "conv1" type: kConvolution srclayers: "data"
          convolution_conf { spatial_axes: 1 num_filters: 32 kernel: 3 pad: 1 }
          param { name: "w1" } param { name: "b1" } }
  layer { name: "conv2" type: kConvolution srclayers: "conv1"
          convolution_conf { spatial_axes: 1 num_filters: 128 kernel: 3 GEOMETRY pad_end: 0 }
          param { name: "w2" } param { name: "b2" } }
  layer { name: "ip" type: kInnerProduct srclayers: "conv2" innerproduct_conf { num_output: 4 }
          param { name: "w3" } param { name: "b3" } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: ["ip", "data"] softmaxloss_conf { topk: 1 } }
}
"""
"""Its second convolution is left to the reference in bfloat16, or part of it."""
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


@pytest.mark.skipif(not has_bfloat16(), reason="expected a processor that multiplies bfloat16")
@pytest.mark.parametrize("geometry", ["pad: 2 groups: 2", "pad: 4 dilation: 2", "pad: 4 dilation: 2 groups: 4"])
def test_it_is_where_the_reference_computes_in_bfloat16(geometry: str, tmp_path: Path) -> None:
    path = tmp_path / "causal.conf"
    path.write_text(CAUSAL.replace("GEOMETRY", geometry), encoding="utf-8")
    job = read_job(path, ["precision=BFLOAT16"])
    cut = partition_by_scheme(job.proto, 1, job.folder, phases=("train",))
    rule = build_updater(job.proto.updater)
    program = compile_worker(cut, 0, len(rule.states), kernels=job_kernel_class(job.proto))
    player = Player(program, MemoryHub(1)[0], np, rule)
    assert workspace_bytes(program, job.proto) == player.machine.workspace_bytes
