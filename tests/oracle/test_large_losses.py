"""The loss of a net whose scores are far apart is exact, whole and cut on rows or classes, in both precisions."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.graph.partition import partition_job
from netpart.proto.reader import read_job_text
from netpart.verify.compare import verify_job
from netpart.worker.ensemble import Ensemble
from tests.kernels.surprise import exact

TEXT = """
seed: 3 train_steps: 1 dtype: %s
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 8 shape: 4 } synthetic_conf { classes: 5 } }
  layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 5 }
    param { init { type: kGaussian std: 100 } } param { init { type: kGaussian std: %g } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" softmaxloss_conf { %s } }
}
"""
CUTS = {"whole": (1, -1), "rows": (3, 0), "classes": (3, 1)}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("std", [1e3, 1e30])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT64"])
def test_the_loss_is_exact(dtype: str, std: float, cut: str) -> None:
    workers, axis = CUTS[cut]
    job = read_job_text(TEXT % (dtype, std, "topk: 2"), overrides=[f"loss.partition_dim={axis}"]).proto
    ensemble = Ensemble(partition_job(job, workers), keep=True)
    ensemble.initialise()
    found = ensemble.step("train", 0)
    x, label = (ensemble.activation("train", *which) for which in (("ip", 0), ("data", 1)))
    expected = exact(x, label.astype(int), 0.0) / len(x)
    assert expected > 700  # a logarithm of the smallest positive number would not be as large
    assert found["loss/loss"] == pytest.approx(expected, rel=8 * float(np.finfo(ensemble.dtype).eps))
    ranked = np.argsort(-x, axis=1, kind="stable")[:, :2]
    assert found["loss/accuracy"] == np.mean([wanted in row for wanted, row in zip(label, ranked, strict=True)])


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_a_cut_on_classes_agrees_with_the_whole(smoothing: float) -> None:
    """Of scores near 1e4 whose differences are a few units: those are what counts."""
    text = TEXT % ("FLOAT64", 1, f"label_smoothing: {smoothing}")
    job = read_job_text(text.replace("kGaussian std: 1 ", "kConstant value: 1e4 ").replace("std: 100", "std: 1")).proto
    job.neuralnet.layer[2].partition_dim = 1
    assert verify_job(job, 3, steps=1).holds
