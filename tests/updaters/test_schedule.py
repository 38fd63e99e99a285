"""Learning rates as pure functions of the step."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

from netpart.errors import ConfigError
from netpart.families import RATES
from netpart.proto.updater_pb2 import LRGenProto
from netpart.updaters.schedule import learning_rate_schedule

TABLE = {
    "type: kFixed": {0: 0.01, 10**9: 0.01},
    "type: kFixed base_lr: 0.5": {0: 0.5, 7: 0.5},
    "type: kLinear base_lr: 1 linear_conf { change_freq: 100 final_lr: 0.5 }": {0: 1, 50: 0.75, 100: 0.5, 200: 0},
    "type: kExponential base_lr: 1 exponential_conf { change_freq: 10 }": {0: 1, 5: 0.5**0.5, 10: 0.5, 10**6: 0},
    "type: kInverseT base_lr: 1 inverset_conf { final_lr: 100 }": {0: 1, 100: 0.5, 300: 0.25},
    "type: kInverse base_lr: 1 inverse_conf { gamma: 0.5 pow: 2 }": {0: 1, 2: 0.25, 6: 0.0625},
    "type: kInverse base_lr: 0.5 inverse_conf { }": {0: 0.5, 9: 0.5},
    "type: kStep base_lr: 1 step_conf { gamma: 0.5 change_freq: 10 }": {0: 1, 9: 1, 10: 0.5, 19: 0.5, 20: 0.25},
    "type: kFixedStep fixedstep_conf { step: 0 step: 10 step: 11 step_lr: 1 step_lr: 0.5 step_lr: 0.25 }": {
        0: 1,
        9: 1,
        10: 0.5,
        11: 0.25,
        999: 0.25,
    },
    "type: kCosine base_lr: 1 cosine_conf { change_freq: 10 }": {0: 1, 5: 0.5, 10: 0, 15: 0},
    "type: kCosine base_lr: 1 cosine_conf { change_freq: 4 final_lr: 0.5 restart: true }": {2: 0.75, 4: 1, 6: 0.75},
    "type: kCosine base_lr: 1 cosine_conf { change_freq: 4 restart: true growth: 2 }": {4: 1, 8: 0.5, 12: 1, 20: 0.5},
    "type: kOneCycle base_lr: 0.5 onecycle_conf { change_freq: 11 max_lr: 1 rise: 0.28 final_lr: 0.25 }": {
        0: 0.5,
        10: 0.25,
        99: 0.25,
    },
    "type: kFixed base_lr: 1 warmup_steps: 4 warmup_factor: 0.5": {0: 0.5, 1: 0.625, 3: 0.875, 4: 1, 9: 1},
    "type: kStep base_lr: 1 step_conf { gamma: 0.5 change_freq: 2 } warmup_steps: 2": {0: 0.1, 1: 0.55, 2: 1, 4: 0.5},
    "type: kPlateau base_lr: 0.5 plateau_conf { patience: 3 }": {0: 0.5, 999: 0.5},
    "type: kFixedStep fixedstep_conf { step: 5 step_lr: 0.5 }": {0: 0.5, 5: 0.5, 6: 0.5},
}


def parsed(text: str) -> LRGenProto:
    return text_format.Parse(text, LRGenProto())


def test_every_method_is_tried() -> None:
    assert {text.split()[1] for text in TABLE} == set(RATES.names())


@pytest.mark.parametrize("text", TABLE)
def test_values(text: str) -> None:
    rate = learning_rate_schedule(parsed(text))
    for step, value in TABLE[text].items():
        assert rate(step) == pytest.approx(value, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("text", TABLE)
def test_the_order_of_calls_does_not_matter(text: str) -> None:
    rate, steps = learning_rate_schedule(parsed(text)), [0, 3, 9, 10, 11, 40, 999]
    forward = [rate(step) for step in steps]
    assert [rate(step) for step in reversed(steps)] == forward[::-1]
    assert all(isinstance(value, float) for value in forward)


@pytest.mark.parametrize(
    ("text", "who", "says"),
    [
        ("type: kUserChange", "type", "all 10: kCosine"),
        ("type: kUserChange user_type: 'cyclic'", "type", "'cyclic'"),
        ("type: kFixed base_lr: -1", "base_lr", "got -1.0"),
        ("type: kFixed base_lr: inf", "base_lr", "got inf"),
        ("type: kLinear", "linear_conf", "add linear_conf {"),
        ("type: kExponential", "exponential_conf", "add exponential_conf {"),
        ("type: kInverseT", "inverset_conf", "add inverset_conf {"),
        ("type: kInverse", "inverse_conf", "add inverse_conf {"),
        ("type: kStep", "step_conf", "add step_conf {"),
        ("type: kFixedStep", "fixedstep_conf", "add fixedstep_conf {"),
        ("type: kLinear linear_conf { change_freq: 0 final_lr: 1 }", "linear_conf.change_freq", "got 0"),
        ("type: kExponential exponential_conf { change_freq: -2 }", "exponential_conf.change_freq", "got -2"),
        ("type: kStep step_conf { change_freq: 0 }", "step_conf.change_freq", "counts steps"),
        ("type: kStep step_conf { change_freq: 1 gamma: 0 }", "step_conf.gamma", "above 0"),
        ("type: kInverseT inverset_conf { final_lr: 0 }", "inverset_conf.final_lr", "halved"),
        ("type: kInverse inverse_conf { gamma: -1 }", "inverse_conf.gamma", "got -1.0"),
        ("type: kCosine", "cosine_conf", "add cosine_conf {"),
        ("type: kCosine cosine_conf { change_freq: 0 }", "cosine_conf.change_freq", "counts steps"),
        ("type: kCosine cosine_conf { change_freq: 9 final_lr: -1 }", "cosine_conf.final_lr", "got -1.0"),
        ("type: kCosine cosine_conf { change_freq: 9 growth: 0 }", "cosine_conf.growth", "at least 1"),
        ("type: kOneCycle", "onecycle_conf", "add onecycle_conf {"),
        ("type: kOneCycle onecycle_conf { change_freq: 0 max_lr: 1 }", "onecycle_conf.change_freq", "counts steps"),
        ("type: kOneCycle onecycle_conf { change_freq: 9 max_lr: inf }", "onecycle_conf.max_lr", "got inf"),
        (
            "type: kOneCycle base_lr: 2 onecycle_conf { change_freq: 9 max_lr: 1 }",
            "onecycle_conf.max_lr",
            "base_lr: 2.0",
        ),
        ("type: kOneCycle onecycle_conf { change_freq: 9 max_lr: 1 final_lr: -1 }", "onecycle_conf.final_lr", "got -1"),
        ("type: kOneCycle onecycle_conf { change_freq: 9 max_lr: 1 rise: 1 }", "onecycle_conf.rise", "below 1"),
        ("type: kOneCycle onecycle_conf { change_freq: 9 max_lr: 1 rise: 0.1 }", "onecycle_conf.rise", "one step"),
        ("type: kFixed warmup_steps: -1", "warmup_steps", "got -1"),
        ("type: kFixed warmup_factor: 2", "warmup_factor", "[0, 1]"),
        ("type: kFixedStep fixedstep_conf { }", "fixedstep_conf", "0 step and 0 step_lr"),
        ("type: kFixedStep fixedstep_conf { step: 1 step: 2 step_lr: 1 }", "fixedstep_conf", "2 step and 1 step_lr"),
        (
            "type: kFixedStep fixedstep_conf { step: 9 step: 1 step_lr: 1 step_lr: 2 }",
            "fixedstep_conf.step",
            "sort step and step_lr by step: [1, 9]",
        ),
        (
            "type: kFixedStep fixedstep_conf { step: 1 step: 1 step_lr: 1 step_lr: 2 }",
            "fixedstep_conf.step",
            "[1, 1]",
        ),
        ("type: kFixedStep fixedstep_conf { step: 0 step_lr: -1 }", "fixedstep_conf.step_lr", "got -1.0"),
    ],
)
def test_errors_name_the_field_and_the_next_step(text: str, who: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        learning_rate_schedule(parsed(text))
    assert caught.value.who == f"updater.learning_rate.{who}"
    assert caught.value.at is not None
    assert caught.value.at[:2] == ("updater", "learning_rate")
    assert says in str(caught.value)


PYTORCH = {
    "type: kCosine base_lr: 0.5 cosine_conf { change_freq: 24 final_lr: 0.125 }": lambda o, s: s.CosineAnnealingLR(
        o, T_max=24, eta_min=0.125
    ),
    "type: kCosine base_lr: 0.5 cosine_conf { change_freq: 3 restart: true }": (
        lambda o, s: s.CosineAnnealingWarmRestarts(o, T_0=3)
    ),
    "type: kCosine base_lr: 0.5 cosine_conf { change_freq: 2 final_lr: 0.125 restart: true growth: 3 }": (
        lambda o, s: s.CosineAnnealingWarmRestarts(o, T_0=2, T_mult=3, eta_min=0.125)
    ),
    "type: kOneCycle base_lr: 0.5 onecycle_conf { change_freq: 25 max_lr: 4 rise: 0.25 final_lr: 0.0625 }": (
        lambda o, s: s.OneCycleLR(o, max_lr=4, total_steps=25, pct_start=0.25, div_factor=8, final_div_factor=8)
    ),
    "type: kFixed base_lr: 0.5 warmup_steps: 8 warmup_factor: 0.25": lambda o, s: s.LinearLR(o, 0.25, total_iters=8),
    "type: kStep base_lr: 0.5 step_conf { gamma: 0.5 change_freq: 7 } warmup_steps: 5 warmup_factor: 0.25": (
        lambda o, s: s.SequentialLR(o, [s.LinearLR(o, 0.25, total_iters=5), s.StepLR(o, 7, 0.5)], milestones=[5])
    ),
    "type: kCosine base_lr: 0.5 cosine_conf { change_freq: 20 } warmup_steps: 5 warmup_factor: 0.125": (
        lambda o, s: s.SequentialLR(o, [s.LinearLR(o, 0.125, total_iters=5), s.CosineAnnealingLR(o, 20)], [5])
    ),
}  # fmt: skip
"""Makes PyTorch's scheduler of an optimiser, from its module of schedulers."""


@pytest.mark.parametrize("text", PYTORCH)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.peers
def test_rates_are_those_of_pytorch(text: str) -> None:
    import torch

    rate = learning_rate_schedule(parsed(text))
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    scheduler = PYTORCH[text](optimiser, torch.optim.lr_scheduler)
    for step in range(24):
        assert rate(step) == pytest.approx(optimiser.param_groups[0]["lr"], rel=1e-12, abs=1e-15)
        optimiser.step()
        scheduler.step()
