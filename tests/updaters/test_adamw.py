"""AdamW step by step against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import text_format

from netpart.kernels.op import Clock
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters import ParameterScale, build_updater

CONF = """
type: kAdamW weight_decay: 0.25 clip_norm: 1.5 adamw_conf { beta1: 0.75 beta2: 0.875 } delta: 0.0009765625
learning_rate { type: kFixed base_lr: 0.125 }
"""


@pytest.mark.peers
def test_ten_steps_are_those_of_pytorch() -> None:
    import torch

    rule = build_updater(text_format.Parse(CONF, UpdaterProto()))
    random = np.random.default_rng(1)
    clock = Clock()
    w = random.normal(size=(4, 3))
    g = np.zeros((4, 3))
    norm = np.zeros(1)
    other = torch.nn.Parameter(torch.from_numpy(w.copy()))
    theirs = torch.optim.AdamW([other], lr=0.125, betas=(0.75, 0.875), eps=2**-10, weight_decay=0.25)
    op = rule.bind(np, w, g, [np.zeros_like(w) for _ in rule.states], ParameterScale(), clock, norm)
    scratch = [np.full(shape, np.nan, dtype) for shape, dtype in op.scratch]
    for clock.step in range(10):
        g[...] = random.normal(size=g.shape)
        norm[0] = (g**2).sum()
        op.run(*scratch)
        other.grad = torch.from_numpy(g.copy())
        torch.nn.utils.clip_grad_norm_([other], 1.5)
        theirs.step()
        np.testing.assert_allclose(w, other.detach().numpy(), rtol=1e-5)  # PyTorch adds 1e-6 to the norm
