"""Nothing travels twice: a region reaches a worker once, however many readers it has there (house.md)."""

from __future__ import annotations

import numpy as np

from netpart.graph.partition import partition_job
from netpart.proto.reader import read_job_text
from netpart.worker.ensemble import Ensemble

JOB = """
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
train_steps: 1 dtype: FLOAT64
neuralnet {
  layer { name: "data" type: kSyntheticInput location: 0
          store_conf { batchsize: 6 shape: 4 } synthetic_conf { classes: 5 } }
  layer { name: "below" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 5 } location: 0
          param { init { type: kGaussian } } param { init { type: kConstant value: 0 } } }
  layer { name: "all" type: kReLU srclayers: "below" location: 1 }
  layer { name: "half" type: kSigmoid srclayers: "below" partition_dim: 0 location: 0 location: 1 }
  layer { name: "add" type: kAdd srclayers: "all" srclayers: "half" location: 1 }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "add" srclayers: "data" location: 1 }
}
"""


def test_a_box_inside_another_comes_over_the_same_bridge() -> None:
    job = read_job_text(JOB).proto
    graph = partition_job(job, 2).graph
    from_below = [b for b in graph.bridges() if b.source.node == graph.net.by_name["below"].index]
    assert [(b.source.region, b.target.worker) for b in from_below] == [(((0, 6), (0, 5)), 1)]
    readers = [p.name for p in graph.parts if any(f.part is from_below[0].target for f in p.feeds)]
    assert readers == ["all", "half-01"]


def test_its_gradients_come_back_together() -> None:
    job = read_job_text(JOB).proto
    cut, whole = Ensemble(partition_job(job, 2), poison=True), Ensemble(partition_job(job, 1, uncut=True))
    for ensemble in (cut, whole):
        ensemble.initialise()
        ensemble.step("train", 0)
    for p in whole.partition.parameters:
        np.testing.assert_allclose(cut.parameter(p.name), whole.parameter(p.name), rtol=1e-13)
