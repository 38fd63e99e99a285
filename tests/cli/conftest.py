"""Runs the command as a person does, in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from netpart.cli.main import main

JOB = """name: "small"
train_steps: 2
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer {
    name: "data"
    type: kSyntheticInput
    partition_dim: -1
    store_conf { batchsize: 8 shape: 3 shape: 8 shape: 8 }
    synthetic_conf { classes: 5 }
  }
  layer {
    name: "conv"
    type: kConvolution
    srclayers: "data"
    convolution_conf { num_filters: 4 kernel: 3 }
    param { name: "w" init { type: kUniform } }
    param { name: "b" init { type: kConstant value: 0 } }
  }
  layer {
    name: "ip"
    type: kInnerProduct
    srclayers: "conv"
    innerproduct_conf { num_output: 5 }
    param { name: "w" init { type: kUniform } }
    param { name: "b" init { type: kConstant value: 0 } }
  }
  layer {
    name: "loss"
    type: kSoftmaxLoss
    srclayers: "ip"
    srclayers: "data"
  }
}
"""
"""A net that trains, as it is written, on any number of workers up to 8."""


@dataclass(frozen=True)
class Answer:
    """What a command left behind."""

    code: int
    out: str
    err: str


Netpart = Callable[..., Answer]


@pytest.fixture
def netpart(capsys: pytest.CaptureFixture[str]) -> Netpart:
    """Runs ``netpart ARGUMENTS``."""

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The file of JOB, in a folder of its own."""
    path = tmp_path / "job.conf"
    path.write_text(JOB)
    return path
