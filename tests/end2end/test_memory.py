"""Where the uncut net does not fit, one worker is refused with the bytes it would need, and three workers train it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.end2end.running import Run

LIMIT = 576 << 20
"""Bytes of address space that each process may have, of which the interpreter and its libraries take about 270 MiB. The
38 M parameters of the uncut net need 450 MB, with gradients and momentum; a third of that fits."""

WIDE = """
name: "wide" train_steps: 6 disp_freq: 1 seed: 5
train_one_batch { alg: kBP }
updater { type: kSGD momentum: 0.9 learning_rate { type: kFixed base_lr: 0.02 } }
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


def test_three_workers_train_what_one_may_not(tmp_path: Path) -> None:
    conf = tmp_path / "wide.conf"
    conf.write_text(WIDE)
    with Run(conf, 1, tmp_path / "one", limit=LIMIT) as run:
        assert run.end() == 1
        (failed,) = run.of("failed")
        assert failed["error"] == "MemoryRefused"
        said = r"worker 0: before step 0, allocating memory: needs (\d+) bytes .* may have (\d+) "
        found = re.match(said, run.failure())
        assert found
        assert int(found[1]) > 3 * 4 * 6144 * 6144 > int(found[2])
        run.check_nothing_is_left()
    with Run(conf, 3, tmp_path / "three", limit=LIMIT) as run:
        assert run.end() == 0, run.failure()
        losses = [told["metrics"]["loss/loss"] for told in run.of("Measured")]
        assert losses[-1] < losses[0]
        (summary,) = run.of("Summary")
        assert summary["bytes_counted"] == summary["bytes_predicted"]
