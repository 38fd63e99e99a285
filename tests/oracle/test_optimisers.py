"""Updaters with delta outside of the root follow PyTorch's optimisers for 20 steps, on one worker and on three."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netpart.graph.partition import partition_job
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.worker.ensemble import Ensemble

pytestmark = pytest.mark.peers

STEPS = 20
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "type: kAdaGrad": ("Adagrad", {}),
    "type: kRMSProp rmsprop_conf { rho: 0.9 }": ("RMSprop", {"alpha": 0.9}),
    "type: kAdam adam_conf { beta1: 0.8 beta2: 0.95 bias_correction: true }": ("Adam", {"betas": (0.8, 0.95)}),
    "type: kAdamW adamw_conf { beta1: 0.8 beta2: 0.95 }": ("AdamW", {"betas": (0.8, 0.95)}),
}
"""By the updater of a job: PyTorch's class and its arguments."""
TEXT = """
seed: 4 dtype: FLOAT64 train_steps: 20 %(more)s
updater { %(rule)s delta: 0.01 delta_outside_root: true weight_decay: 0.1 ema_decay: 0.5
  learning_rate { type: kFixed base_lr: 0.02 } }
neuralnet { partition_dim: 0
  layer { name: "data" type: kSyntheticInput location: 0 store_conf { batchsize: 12 shape: 6 }
    synthetic_conf { classes: 3 noise: 1.5 } }
  layer { name: "fc" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 3 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant value: 0.1 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""


def job(rule: str, more: str) -> JobProto:
    return read_job_text(TEXT % {"rule": rule, "more": more}).proto


def tensors(ensemble: Ensemble, names: tuple[str, ...]) -> list[Any]:
    import torch

    return [torch.tensor(np.array(ensemble.parameter(name)), requires_grad=True) for name in names]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("workers", "more"), [(1, ""), (3, ""), (3, "shard_updates: YES")])
def test_pytorch_steps_the_same(rule: str, workers: int, more: str) -> None:
    import torch

    ensemble = Ensemble(partition_job(job(rule, more), workers), keep=True)
    ensemble.initialise()
    names = "fc/weight", "fc/bias"
    w, b = weights = tensors(ensemble, names)
    means = [value.detach().clone() for value in weights]
    name, arguments = RULES[rule]
    peer = getattr(torch.optim, name)(weights, lr=0.02, eps=0.01, weight_decay=0.1, **arguments)
    for step in range(STEPS):
        loss = ensemble.step("train", step)["loss/loss"]
        x, label = (torch.tensor(ensemble.activation("train", "data", output)) for output in (0, 1))
        peer.zero_grad()
        expected = torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, w, b), label.long())
        expected.backward()
        peer.step()
        means = [(mean + value.detach()) / 2 for mean, value in zip(means, weights, strict=True)]
        assert loss == pytest.approx(float(expected.detach()), rel=1e-10)
    for name, value, mean in zip(names, weights, means, strict=True):
        np.testing.assert_allclose(ensemble.parameter(name), value.detach().numpy(), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(ensemble.average(name), mean.numpy(), rtol=1e-10, atol=1e-12)
