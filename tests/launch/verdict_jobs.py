"""A small job that overfits: its validations become worse, so that everything that judges them has something to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from netpart.launch.report.events import Summary
from netpart.launch.run import run_job
from netpart.proto.reader import read_job

FIXED = "type: kFixed base_lr: 0.02"
PLATEAU = "type: kPlateau base_lr: 0.02 plateau_conf { patience: 2 factor: 0.5 least_lr: 0.004 cooldown: 1 }"

NET = """
name: "judged"
seed: 3 dtype: FLOAT64 disp_freq: 4 train_one_batch { alg: kBP }
train_steps: 40 checkpoint_freq: 6 SETTINGS
updater { type: kSGD momentum: 0.9 learning_rate { RATE } }
neuralnet {
  partition_dim: 0
  layer {
    name: "data" type: kSyntheticInput include: kTrain partition_dim: -1
    store_conf { shape: 8 batchsize: 12 } synthetic_conf { classes: 4 noise: 2 batches: 1 }
  }
  layer {
    name: "data" type: kSyntheticInput include: kVal include: kTest partition_dim: -1
    store_conf { shape: 8 batchsize: 6 } synthetic_conf { classes: 4 noise: 2 }
  }
  layer {
    name: "fc1" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 16 }
    param { name: "w1" init { type: kUniformSqrtFanIn } } param { name: "b1" init { type: kConstant } }
  }
  layer { name: "relu" type: kReLU srclayers: "fc1" }
  layer {
    name: "fc2" type: kInnerProduct srclayers: "relu" partition_dim: 1 innerproduct_conf { num_output: 4 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc2" srclayers: "data" }
}
"""
VALIDATED = "validate_freq: 2 validate_steps: 3"


def judged_job(folder: Path, settings: str, rate: str = FIXED) -> Path:
    """Write the job with ``settings`` and a learning ``rate``."""
    path = folder / "job.conf"
    path.write_text(NET.replace("SETTINGS", settings).replace("RATE", rate), encoding="utf-8")
    return path


def play(path: Path, workspace: Path, *settings: str, workers: int = 1, launcher: str = "threads") -> Summary:
    """Run the job at ``path`` with further ``settings``."""
    job = read_job(path, settings)
    with job.explaining():
        return run_job(job, workers, launcher=launcher, workspace=workspace)


def noted(workspace: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl."""
    return [json.loads(line) for line in (workspace / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def decisions(workspace: Path, decides: str = "") -> list[tuple[str, int]]:
    """What was decided at which step."""
    found = [(line["decides"], line["step"]) for line in noted(workspace) if "decides" in line]
    return [each for each in found if each[0] == (decides or each[0])]
