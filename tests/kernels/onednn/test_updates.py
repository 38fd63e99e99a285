from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import text_format

from netpart.kernels.onednn import updates
from netpart.kernels.op import Array, Clock
from netpart.kernels.reference import Kernels
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters import ParameterScale, Updater, build_updater
from tests.kernels.harness import play
from tests.kernels.onednn_kernels import REFERENCE, fast, lying, near, needed

pytestmark = needed

RULES = {
    "sgd": "type: kSGD",
    "decayed": "type: kSGD weight_decay: 0.3",
    "momentum": "type: kSGD momentum: 0.9 weight_decay: 0.3",
    "clipped": "type: kSGD momentum: 0.9 clip_norm: 2",
    "clipped and decayed": "type: kSGD momentum: 0.5 clip_norm: 2 weight_decay: 0.3",
    "adam": "type: kAdam delta: 1e-3",
    "adam as in PyTorch": "type: kAdam delta: 1e-3 delta_outside_root: true weight_decay: 0.3 "
    "adam_conf { bias_correction: true }",
    "adamw": "type: kAdamW delta: 1e-3",
    "decoupled": "type: kAdamW delta: 1e-3 weight_decay: 0.3 clip_norm: 2",
    "averaged": "type: kSGD momentum: 0.9 ema_decay: 0.9 ema_warmup: true",
}


@pytest.fixture(autouse=True)
def small_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "LEAST", 0)
    monkeypatch.setattr(updates, "STRIP", 50)  # several strips, the last of them shorter


def built(text: str) -> Updater:
    return build_updater(text_format.Parse(text + " learning_rate { type: kFixed base_lr: 0.1 }", UpdaterProto()))


def updated(kernels: Kernels, updater: Updater, start: list[Array], width: int | None = None) -> list[Array]:
    """Parameter, gradient and states, up to ``width`` of their last axis, after three updates and a fourth with another
    learning rate."""
    w, g, *state = (array.copy(order="K")[..., :width] for array in start)
    clock = Clock()
    norm = np.array([float(np.sum(g.astype(float) ** 2))]) if updater.clip_norm else None
    op = kernels.update(updater, w, g, state, ParameterScale(0.5, 2.0), clock, norm)
    for clock.step in range(3):
        play(op)
    updater.change_base_lr(0.02)
    clock.step = 3
    play(op)
    return [w, g, *state]


@pytest.mark.parametrize("order", ["plain", "last"])
@pytest.mark.parametrize("rule", RULES)
def test_updates_are_those_of_the_reference(rule: str, order: str) -> None:
    random = np.random.default_rng(3)
    slots = len(built(RULES[rule]).states)
    start = [lying(order, random.uniform(0.1, 1, (4, 5, 3, 2))) for _ in range(2 + slots)]
    kernels = fast()
    got = updated(kernels, built(RULES[rule]), start)
    assert kernels.refusals == []
    for found, wanted in zip(got, updated(REFERENCE, built(RULES[rule]), start), strict=True):
        near(found, wanted, 1e-6)


def test_other_rules_and_parts_of_parameters_are_left_to_the_reference() -> None:
    random = np.random.default_rng(4)
    whole = [random.uniform(0.1, 1, (6, 8)).astype("float32") for _ in range(3)]
    for text, width in (
        ("type: kNesterov momentum: 0.9", 8),
        ("type: kSGD momentum: 0.9 clip_low: -0.2 clip_high: 0.2", 8),
        ("type: kSGD momentum: 0.9", 5),
    ):
        kernels = fast()
        got = updated(kernels, built(text), whole, width)
        assert len(kernels.refusals) == 1
        for found, wanted in zip(got, updated(REFERENCE, built(text), whole, width), strict=True):
            assert np.array_equal(found, wanted)


def test_a_part_of_a_parameter_gets_the_bits_of_the_whole() -> None:
    """Workers that each update a part of a parameter must end with what one worker has."""
    random = np.random.default_rng(5)
    whole = [random.uniform(0.1, 1, 1000).astype("float32") for _ in range(4)]
    rule = RULES["decoupled"].replace("clip_norm: 2", "")
    for found, wanted in zip(
        updated(fast(), built(rule), [array[37:900] for array in whole]), updated(fast(), built(rule), whole),
        strict=True,
    ):  # fmt: skip
        assert np.array_equal(found, wanted[37:900])
