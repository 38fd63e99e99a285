"""Every update rule against its formula, its interface and the values SINGA's own code gave."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

from netpart.errors import ConfigError
from netpart.families import UPDATERS
from netpart.kernels.op import Array, Clock, Op
from netpart.proto.updater_pb2 import UpdaterProto, UpdaterType
from netpart.updaters import ParameterScale, Updater, build_updater
from netpart.updaters.base import CACHE

RATE = "learning_rate { type: kFixed base_lr: 0.1 }"
PLAIN = {
    "kSGD": "",
    "kNesterov": "momentum: 0.9",
    "kAdaGrad": "",
    "kRMSProp": "rmsprop_conf { rho: 0.9 }",
    "kAdaDelta": "adadelta_conf { rho: 0.9 }",
    "kAdam": "",
    "kAdamMax": "",
    "kAdamW": "",
}
FIRST_STEP = {
    "kSGD": [0.05, 0.1, 0.15, 0.2],
    "kNesterov": [0.095, 0.19, 0.285, 0.38],
    "kAdaGrad": [0.1] * 4,
    "kRMSProp": [0.31623] * 4,
    "kAdaDelta": [3e-5] * 4,
    "kAdam": [0.31623] * 4,
    "kAdamMax": [0.01] * 4,
    "kAdamW": [0.1] * 4,
}
"""What SINGA 0.3 subtracts from w in its first step, for g = (.5, 1, 1.5, 2) and learning rate .1.

Known to about five digits, AdaDelta's to one. SINGA has no AdamW: its first step is as long as the learning rate.
"""


OUTSIDE = "kAdaGrad", "kAdam", "kAdamW", "kRMSProp"
"""Rules that may add delta outside of the root."""


def configured(kind: str, more: str = "", rate: str = RATE) -> UpdaterProto:
    return text_format.Parse(f"type: {kind} {PLAIN.get(kind, '')} {rate} {more}", UpdaterProto())


def bound(
    rule: Updater, w: Array, g: Array, scale: ParameterScale, clock: Clock
) -> tuple[Callable[[], None], list[Array]]:
    """The update with its scratch, which is full of NaN so that nobody relies on it, and its state."""
    state = [np.zeros_like(w) for _ in rule.states]
    op = rule.bind(np, w, g, state, scale, clock)
    return partial(op.run, *scratch_of(op)), state


def scratch_of(op: Op) -> list[Array]:
    return [np.full(shape, np.nan, dtype=dtype) for shape, dtype in op.scratch]


def divisor(conf: UpdaterProto, h: Array) -> Array:
    """The root of ``h``, with delta inside or outside."""
    return np.sqrt(h) + conf.delta if conf.delta_outside_root else np.sqrt(h + conf.delta)


def oracle(conf: UpdaterProto, lr: float, decay: float) -> Iterator[Callable[[Array, Array], Array]]:
    """Yields, step after step, the function from (w, g) to the new w: the formulas, line by line."""
    h: Any = 0.0
    u: Any = 0.0
    for t in count(1):

        def step(w: Array, g: Array, t: int = t) -> Array:
            nonlocal h, u
            if conf.clip_high > conf.clip_low:
                g = np.minimum(np.maximum(g, conf.clip_low), conf.clip_high)
            g = g if conf.type == UpdaterType.kAdamW else g + decay * w
            match PLAIN_NAME[conf.type]:
                case "kSGD":
                    h = conf.momentum * h - lr * g
                    return w + h
                case "kNesterov":
                    before, h = h, conf.momentum * h + lr * g
                    return w - (h * (1 + conf.momentum) - conf.momentum * before)
                case "kAdaGrad":
                    h = h + g**2
                    return w - lr * g / divisor(conf, h)
                case "kRMSProp":
                    rho = conf.rmsprop_conf.rho
                    h = rho * h + (1 - rho) * g**2
                    return w - lr * g / divisor(conf, h)
                case "kAdaDelta":
                    rho = conf.adadelta_conf.rho
                    h = rho * h + (1 - rho) * g**2
                    change = g * np.sqrt(u + conf.delta) / np.sqrt(h + conf.delta)
                    u = rho * u + (1 - rho) * change**2
                    return w - lr * change
                case "kAdam":
                    h = conf.adam_conf.beta1 * h + (1 - conf.adam_conf.beta1) * g
                    u = conf.adam_conf.beta2 * u + (1 - conf.adam_conf.beta2) * g**2
                    if not conf.adam_conf.bias_correction:
                        return w - lr * h / divisor(conf, u)
                    first, second = 1 - conf.adam_conf.beta1**t, 1 - conf.adam_conf.beta2**t
                    return w - lr * (h / first) / divisor(conf, u / second)
                case "kAdamW":
                    h = conf.adamw_conf.beta1 * h + (1 - conf.adamw_conf.beta1) * g
                    u = conf.adamw_conf.beta2 * u + (1 - conf.adamw_conf.beta2) * g**2
                    first, second = 1 - conf.adamw_conf.beta1**t, 1 - conf.adamw_conf.beta2**t
                    return w - lr * decay * w - lr * (h / first) / (np.sqrt(u / second) + conf.delta)
                case "kAdamMax":
                    h = conf.adammax_conf.beta1 * h + (1 - conf.adammax_conf.beta1) * g
                    u = np.maximum(conf.adammax_conf.beta2 * u, abs(g)) + conf.delta
                    return w - lr * h / u
                case other:
                    raise AssertionError(other)

        yield step


PLAIN_NAME = {configured(kind).type: kind for kind in PLAIN}


@pytest.fixture(params=PLAIN)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_updater_is_tried() -> None:
    assert set(PLAIN) == set(FIRST_STEP) == set(UPDATERS.names())
    for name in PLAIN:
        assert isinstance(build_updater(configured(name)), UPDATERS.get(name))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_step_is_singas(kind: str, dtype: type) -> None:
    w: Array = np.zeros(4, dtype)
    g: Array = np.array([0.5, 1, 1.5, 2], dtype)
    run, _ = bound(build_updater(configured(kind)), w, g, ParameterScale(), Clock())
    run()
    np.testing.assert_allclose(-w, FIRST_STEP[kind], rtol=0.06 if kind == "kAdaDelta" else 5e-5)


@pytest.mark.parametrize(
    ("more", "scale"),
    [
        ("", ParameterScale()),
        ("weight_decay: 0.25", ParameterScale(lr=2, wd=0.5)),
        ("adam_conf { bias_correction: true } delta: 0.5", ParameterScale()),
        (
            "weight_decay: 0.5 adam_conf { beta1: 0.5 bias_correction: true } adamw_conf { beta2: 0.9 }",
            ParameterScale(wd=2),
        ),
        ("clip_low: -0.5 clip_high: 0.75", ParameterScale()),
        ("weight_decay: 0.25 clip_low: -0.5 clip_high: 0.75", ParameterScale(lr=0.5, wd=2)),
    ],
)
def test_steps_follow_the_formula(kind: str, more: str, scale: ParameterScale) -> None:
    conf = configured(kind, more + (" momentum: 0.5" if kind == "kSGD" else ""))
    random = np.random.default_rng(1)
    w, g = random.normal(size=(5, 3)), np.empty((5, 3))
    expected, clock = w.copy(), Clock()
    lr, decay = conf.learning_rate.base_lr * scale.lr, conf.weight_decay * scale.wd
    run, _ = bound(build_updater(conf), w, g, scale, clock)
    for clock.step, step in zip(range(6), oracle(conf, lr, decay), strict=False):
        g[...] = random.normal(size=g.shape)
        expected = step(expected, g)
        run()
        np.testing.assert_allclose(w, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", OUTSIDE)
@pytest.mark.parametrize("more", ["", "weight_decay: 0.25 adam_conf { beta1: 0.5 bias_correction: true }"])
def test_steps_follow_the_formula_with_delta_outside(kind: str, more: str) -> None:
    test_steps_follow_the_formula(kind, f"{more} delta: 0.5 delta_outside_root: true", ParameterScale(lr=2, wd=0.5))


def test_clipping_comes_before_weight_decay() -> None:
    w, g = np.array([10.0]), np.array([5.0])
    run, _ = bound(
        build_updater(configured("kSGD", "weight_decay: 1 clip_low: -1 clip_high: 1")), w, g, ParameterScale(), Clock()
    )
    run()
    np.testing.assert_allclose(w, 10 - 0.1 * (1 + 10), rtol=1e-7)


def test_the_learning_rate_is_that_of_the_clocks_step() -> None:
    rate = "learning_rate { type: kStep base_lr: 0.5 step_conf { gamma: 0.5 change_freq: 10 } }"
    w, clock = np.zeros(1), Clock()
    run, _ = bound(build_updater(configured("kSGD", rate=rate)), w, np.ones(1), ParameterScale(lr=2), clock)
    changes = []
    for clock.step in (0, 9, 10, 25, 3):
        w[...] = 0
        run()
        changes.append(-w[0])
    assert changes == [1, 1, 0.5, 0.25, 1]


@pytest.mark.parametrize("more", ["", "weight_decay: 0.25 clip_low: -1 clip_high: 1"])
def test_the_gradient_is_kept_and_float32_stays(kind: str, more: str) -> None:
    w, g = np.ones(7, np.float32), np.linspace(-2, 2, 7, dtype=np.float32)
    before = g.copy()
    rule = build_updater(configured(kind, more))
    op = rule.bind(np, w, g, [np.zeros_like(w) for _ in rule.states], ParameterScale(), Clock())
    op.run(*scratch_of(op))
    assert {dtype for _, dtype in op.scratch} == {np.dtype(np.float32)}
    assert np.array_equal(g, before)
    assert not np.array_equal(w, np.ones(7))


def test_blocks_and_strided_views_change_nothing(kind: str) -> None:
    random, shape = np.random.default_rng(2), (4, CACHE // 2 + 3)
    start, g = random.normal(size=shape), random.normal(size=shape)
    results = []
    for w, grad in (
        (start.reshape(-1).copy(), g.reshape(-1)),
        (start.copy(), g),
        (np.array(start, order="F"), g),
        (np.repeat(start, 2, axis=1)[:, ::2], g),
    ):
        run, _ = bound(build_updater(configured(kind, "weight_decay: 0.5")), w, grad, ParameterScale(), Clock())
        run()
        run()
        results.append(w.reshape(shape))
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
def test_parameters_of_one_element_or_none(kind: str, shape: tuple[int, ...]) -> None:
    w, g = np.zeros(shape), np.ones(shape)
    run, state = bound(build_updater(configured(kind)), w, g, ParameterScale(), Clock())
    run()
    assert np.all(w < 0)
    assert all(np.all(s > 0) for s in state)


def test_a_step_allocates_no_array(kind: str) -> None:
    n = CACHE + 5
    w, g = np.ones(n, np.float32), np.ones(n, np.float32)
    rule = build_updater(configured(kind, "weight_decay: 0.5 clip_low: -1 clip_high: 1 clip_norm: 1 ema_decay: 0.5"))
    op = rule.bind(np, w, g, [np.zeros_like(w) for _ in rule.states], ParameterScale(), Clock(), np.ones(1))
    run = partial(op.run, *scratch_of(op))
    run()
    tracemalloc.start()
    try:
        run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4096


def test_scratch_does_not_grow_with_the_parameter(kind: str) -> None:
    rule = build_updater(configured(kind))
    arrays = [np.zeros(2 * CACHE, np.float32) for _ in range(2 + len(rule.states))]
    op = rule.bind(np, arrays[0], arrays[1], arrays[2:], ParameterScale(), Clock())
    assert op.scratch
    assert all(len(arrays) * shape[0] <= CACHE for shape, _ in op.scratch)


def test_momentum_costs_memory_only_where_there_is_some() -> None:
    assert build_updater(configured("kSGD")).slots == ()
    assert build_updater(configured("kSGD", "momentum: 0.9")).slots == ("momentum",)


@pytest.mark.parametrize(
    ("text", "who", "says"),
    [
        (RATE, "updater", "add updater { type: kSGD"),
        (f"type: kUserUpdater {RATE}", "updater.type", "all 8: kAdaDelta, kAdaGrad"),
        (f"type: kUserUpdater user_type: 'kSDG' {RATE}", "updater.type", "did you mean kSGD"),
        ("type: kSGD", "updater.learning_rate", "add type: kFixed"),
        (f"type: kSGD momentum: 1 {RATE}", "updater.momentum", "got 1.0"),
        (f"type: kNesterov momentum: -0.5 {RATE}", "updater.momentum", "[0, 1)"),
        (f"type: kSGD weight_decay: -1 {RATE}", "updater.weight_decay", "got -1.0"),
        (f"type: kSGD clip_low: 1 clip_high: -1 {RATE}", "updater.clip_low", "swap them"),
        (f"type: kAdaGrad delta: 0 {RATE}", "updater.delta", "above 0"),
        (f"type: kAdam delta: nan {RATE}", "updater.delta", "got nan"),
        (f"type: kRMSProp {RATE}", "updater.rmsprop_conf", "add rmsprop_conf { rho: 0.9 }"),
        (f"type: kRMSProp rmsprop_conf {{ rho: 1.5 }} {RATE}", "updater.rmsprop_conf.rho", "got 1.5"),
        (f"type: kAdaDelta adadelta_conf {{ rho: 1 }} {RATE}", "updater.adadelta_conf.rho", "got 1.0"),
        (f"type: kAdam adam_conf {{ beta1: 1 }} {RATE}", "updater.adam_conf.beta1", "got 1.0"),
        (f"type: kAdam adam_conf {{ beta2: 2 }} {RATE}", "updater.adam_conf.beta2", "got 2.0"),
        (f"type: kAdamW adamw_conf {{ beta1: -1 }} {RATE}", "updater.adamw_conf.beta1", "got -1.0"),
        (f"type: kAdamW adamw_conf {{ beta2: 1 }} {RATE}", "updater.adamw_conf.beta2", "got 1.0"),
        (f"type: kAdamW delta: 0 {RATE}", "updater.delta", "above 0"),
        (f"type: kSGD clip_norm: -1 {RATE}", "updater.clip_norm", "0 clips nothing"),
        (f"type: kSGD clip_norm: inf {RATE}", "updater.clip_norm", "got inf"),
        (f"type: kSGD ema_decay: 1 {RATE}", "updater.ema_decay", "got 1.0"),
        (f"type: kSGD ema_eval: true {RATE}", "updater.ema_eval", "add ema_decay: 0.999"),
        (f"type: kSGD ema_warmup: true {RATE}", "updater.ema_warmup", "add ema_decay: 0.999"),
        (
            f"type: kAdaDelta delta_outside_root: true {RATE}",
            "updater.delta_outside_root",
            "false for kAdaDelta, got true",
        ),
        (
            f"type: kAdamMax delta_outside_root: true {RATE}",
            "updater.delta_outside_root",
            "kAdam and kRMSProp have both",
        ),
        (f"type: kSGD delta_outside_root: true {RATE}", "updater.delta_outside_root", "remove the line"),
        (f"type: kAdamW delta_outside_root: false {RATE}", "updater.delta_outside_root", "true for kAdamW, got false"),
        (f"type: kAdamMax adammax_conf {{ beta2: -1 }} {RATE}", "updater.adammax_conf.beta2", "got -1.0"),
    ],
)
def test_errors_name_the_field_and_the_next_step(text: str, who: str, says: str) -> None:
    conf = text_format.Parse(text, UpdaterProto())
    with pytest.raises(ConfigError) as caught:
        build_updater(conf)
    assert caught.value.who == who
    assert says in str(caught.value)
    assert caught.value.at is not None
    assert ".".join(map(str, caught.value.at)) in (who, who.rpartition(".")[0])


def test_an_unset_required_field_is_named() -> None:
    conf = configured("kSGD")
    conf.type = 3  # type: ignore[assignment]
    conf.rmsprop_conf.SetInParent()
    with pytest.raises(ConfigError, match=r"updater\.rmsprop_conf\.rho: expected a value, got none; add rho: 0\.9"):
        build_updater(conf)
