"""Where the uncut net does not fit, one worker is refused with the bytes it would need, and several train it: what is
shared out are the parameters of a wide net, or the activations of a large volume."""

from __future__ import annotations

import re
from math import isfinite
from pathlib import Path

import pytest

from tests.end2end.running import Run
from tests.house.tree import ROOT

LIMIT = 576 << 20
"""Bytes of address space that each process may have, of which the interpreter and its libraries take about 270 MiB. The
38 M parameters of the uncut net need 450 MB, with Adam's two states; a third of that fits."""

ROOMIER = 640 << 20
"""Likewise. The uncut net of a volume of 128 x 128 x 128 voxels with 16 channels needs 413 MiB and a workspace; one of
four workers needs less than 200 MiB for its part, halos and messages."""

WIDE = """
name: "wide" train_steps: 6 disp_freq: 1 seed: 5
train_one_batch { alg: kBP }
updater { type: kAdam learning_rate { type: kFixed base_lr: 0.00002 } }
neuralnet {
  partition_dim: 1
  layer {
    name: "data" type: kSyntheticInput partition_dim: -1
    store_conf { shape: 64 batchsize: 32 } synthetic_conf { classes: 4 }
  }
  layer {
    name: "fc1" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 6144 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "relu1" type: kReLU srclayers: "fc1" }
  layer {
    name: "fc2" type: kInnerProduct srclayers: "relu1" innerproduct_conf { num_output: 6144 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "relu2" type: kReLU srclayers: "fc2" }
  layer {
    name: "fc3" type: kInnerProduct srclayers: "relu2" innerproduct_conf { num_output: 4 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc3" srclayers: "data" partition_dim: 0 }
}
"""


@pytest.mark.thorough
def test_three_workers_train_what_one_may_not(tmp_path: Path) -> None:
    conf = tmp_path / "wide.conf"
    conf.write_text(WIDE)
    needed, had = refused(conf, tmp_path / "one", LIMIT)
    assert needed > 3 * 4 * 6144 * 6144 > had
    losses = trained(conf, 3, tmp_path / "three", LIMIT)
    assert losses[-1] < losses[0]


def test_four_workers_train_on_a_volume_that_one_has_no_room_for(tmp_path: Path) -> None:
    conf = ROOT / "graphs" / "resattnet" / "resnet3d18-space.conf"
    needed, had = refused(conf, tmp_path / "one", ROOMIER)
    assert needed > 3 * 4 * 16 * 128**3 > had
    losses = trained(conf, 4, tmp_path / "four", ROOMIER)
    assert len(losses) == 4
    assert all(isfinite(loss) for loss in losses)
    assert len(set(losses)) == 4


def refused(conf: Path, workspace: Path, limit: int) -> tuple[int, int]:
    """Runs a job on one worker, which says how many bytes it needs and how many it may have, and ends."""
    with Run(conf, 1, workspace, limit=limit) as run:
        assert run.end() == 1
        (failed,) = run.of("failed")
        assert failed["error"] == "MemoryRefused"
        said = r"worker 0: before step 0, allocating memory: needs (\d+) bytes .* may have (\d+) "
        found = re.match(said, run.failure())
        assert found
        run.check_nothing_is_left()
    return int(found[1]), int(found[2])


def trained(conf: Path, workers: int, workspace: Path, limit: int) -> list[float]:
    """Runs a job on ``workers``; the losses that it tells, after as many bytes between workers as were predicted."""
    with Run(conf, workers, workspace, limit=limit) as run:
        assert run.end() == 0, run.failure()
        (summary,) = run.of("Summary")
        assert summary["bytes_counted"] == summary["bytes_predicted"]
    return [told["metrics"]["loss/loss"] for told in run.of("Measured")]
