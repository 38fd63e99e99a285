"""Fault jobs: the small jobs that tools.elastic_faults runs, in float64, and what they end with when nothing fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.checkpoint.steps import step_file
from netpart.proto.job_pb2 import Remainder
from netpart.proto.reader import Job, read_job, read_job_text
from netpart.spec import whole_region

GRAPHS = Path(__file__).parent.parent / "graphs"
LENET = """
name: "lenet" seed: 1
updater { type: kSGD momentum: 0.9 weight_decay: 0.0005 learning_rate { type: kFixed base_lr: 0.01 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 24 shape: [1, 20, 20] }
    synthetic_conf { classes: 10 noise: 0.5 } }
  layer { name: "conv1" type: kCConvolution srclayers: "data" convolution_conf { num_filters: 8 kernel: 5 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } } }
  layer { name: "pool1" type: kCPooling srclayers: "conv1" pooling_conf { pool: MAX kernel: 2 stride: 2 } }
  layer { name: "conv2" type: kCConvolution srclayers: "pool1" convolution_conf { num_filters: 12 kernel: 5 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } } }
  layer { name: "pool2" type: kCPooling srclayers: "conv2" pooling_conf { pool: MAX kernel: 2 stride: 2 } }
  layer { name: "ip1" type: kInnerProduct srclayers: "pool2" innerproduct_conf { num_output: 60 } partition_dim: 1
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } } }
  layer { name: "relu1" type: kReLU srclayers: "ip1" }
  layer { name: "drop1" type: kDropout srclayers: "relu1" dropout_conf { dropout_ratio: 0.5 } }
  layer { name: "ip2" type: kInnerProduct srclayers: "drop1" innerproduct_conf { num_output: 10 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip2" srclayers: "data" }
}
"""
MOST = 5
COMMON = ("dtype=FLOAT64", "disp_freq=7", "checkpoint_freq=25", "checkpoint_keep=2", "deadline=8")


SGD = ("updater.type=kSGD", "updater.momentum=0.9", "updater.learning_rate.base_lr=0.02")
"""Adam divides by the size of a gradient. So it makes steps of one size of what is rounding alone, such as the gradient
of a bias before a norm: no two cuts agree on these."""
ROUNDING = 1e-8
"""Tensors with a smaller norm are zero but for rounding."""


class FaultJob(NamedTuple):
    """A job: its file under graphs/, "" for LENET; its steps, and what is changed in it."""

    conf: str
    steps: int
    changes: tuple[str, ...] = ()


JOBS = {
    "lenet": FaultJob("", 200, ("neuralnet.scheme=DATA",)),
    "resnet": FaultJob("resnet/resnet18-small.conf", 200, ("data.store_conf.batchsize=8",)),
    "gpt": FaultJob("gpt/gpt2-small.conf", 200, ("data.store_conf.batchsize=8", *SGD)),
    "unet": FaultJob("unet/unet3d-small.conf", 40, ("data.store_conf.batchsize=6", *SGD)),
}


def read_fault_job(name: str, changes: Sequence[str] = ()) -> Job:
    """The job ``name`` with ``changes``, with snapshots every 10 steps for 1 to 5 workers."""
    wanted = JOBS[name]
    changes = (*COMMON, *wanted.changes, f"train_steps={wanted.steps}", *changes)
    job = read_job(GRAPHS / wanted.conf, changes) if wanted.conf else read_job_text(LENET, overrides=changes)
    job.proto.neuralnet.remainder = Remainder.SPREAD
    job.proto.elastic.min_workers, job.proto.elastic.max_workers = 1, MOST
    return job


def final_values(name: str, workspace: Path) -> dict[str, NDArray[np.float64]]:
    """The parameters after the last step."""
    found = {}
    with open_checkpoint(step_file(workspace / "checkpoint", JOBS[name].steps)) as saved:
        for tensor, stored in saved.tensors.items():
            found[tensor] = np.empty(stored.shape, np.float64)
            saved.read_region(tensor, whole_region(stored.shape), found[tensor])
    return found


def largest_difference(found: dict[str, NDArray[np.float64]], expected: dict[str, NDArray[np.float64]]) -> float:
    """The largest relative difference of a tensor, as the norm of the difference over the norm; for tensors that are
    zero but for rounding, the norm of the difference."""
    assert found.keys() == expected.keys(), f"expected {sorted(expected)}, got {sorted(found)}"
    norms = {name: float(np.linalg.norm(values)) for name, values in expected.items()}
    return max(
        float(np.linalg.norm(found[name] - values)) / (norms[name] if norms[name] > ROUNDING else 1.0)
        for name, values in expected.items()
    )
