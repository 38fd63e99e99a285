"""The rate of kPlateau is that of torch.optim.lr_scheduler.ReduceLROnPlateau, whose patience is one less."""

from __future__ import annotations

from random import Random

import pytest
from google.protobuf import text_format

from netpart.graph.judged_metrics import RATE, JudgedMetric
from netpart.launch.coordinator.judge import MetricJudge
from netpart.proto.updater_pb2 import LRGenProto
from netpart.updaters.plateau import plateau_rate_after


@pytest.mark.peers
@pytest.mark.parametrize("seed", range(60))
def test_rates_are_those_of_torch(seed: int) -> None:
    import torch

    random = Random(seed)
    larger, least = random.random() < 0.5, random.choice([0.0, 0.05])
    patience, cooldown, factor = random.randint(1, 4), random.randint(0, 3), random.choice([0.1, 0.5, 0.9])
    least_lr = random.choice([0.0, 0.01])
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.3)
    expected = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="max" if larger else "min", factor=factor, patience=patience - 1, threshold=least,
        threshold_mode="abs", cooldown=cooldown, min_lr=least_lr, eps=0.0,
    )  # fmt: skip
    text = f"base_lr: 0.3 plateau_conf {{ factor: {factor} least_lr: {least_lr} }}"
    conf = text_format.Parse(text, LRGenProto())
    judge = MetricJudge(JudgedMetric(RATE, "val", "loss/loss", larger, least, patience, cooldown))
    for step in range(100):
        value = float("nan") if random.random() < 0.05 else random.choice([round(random.random(), 2), random.random()])
        expected.step(value)
        judge.judge(step, value)
        if judge.exhausted:
            judge.restart()
        assert plateau_rate_after(conf, judge.changes) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
