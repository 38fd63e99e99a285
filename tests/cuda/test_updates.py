"""Updates by one kernel beside each rule's own, over steps whose rates change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.families import UPDATERS
from netpart.kernels.cuda.kernels import Kernels as Fast
from netpart.kernels.cuda.updates import CHUNK
from netpart.kernels.op import Array, Clock, Op, chain_ops
from netpart.kernels.reference import Kernels
from netpart.kernels.updates import StepNumbers
from netpart.updaters import AVERAGE, ParameterScale, Updater, build_updater
from netpart.worker.actions import RUN, Action
from netpart.worker.gpu.graph_capture import group_table_rows, make_group_call
from tests.cuda.agreement import DTYPES, ORDERS, TOLERANCE, agree, fast, lying, near, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal
from tests.updaters.test_updaters import OUTSIDE, PLAIN, configured

RATE = "learning_rate { type: kStep base_lr: 0.1 step_conf { gamma: 0.5 change_freq: 2 } }"
MORE = [
    "",
    "weight_decay: 0.25",
    "adam_conf { bias_correction: true } delta: 0.5",
    "clip_low: -0.5 clip_high: 0.75 clip_norm: 0.5 weight_decay: 0.5",
    "clip_norm: 1e6 ema_decay: 0.75 ema_warmup: true",
    "weight_decay: 0.01 ema_decay: 0.5 ema_eval: true",
]


def ruled(kind: str, more: str) -> Updater:
    return build_updater(configured(kind, more + (" momentum: 0.5" if kind == "kSGD" and more else ""), RATE))


class Pair:
    """One parameter on both sides, with its state."""

    def __init__(
        self, rule: Updater, shape: tuple[int, ...], dtype: str, orders: tuple[str, str], scale: ParameterScale
    ) -> None:
        self.dtype, self.clock = dtype, Clock()
        self.w, self.g = (normal(i, *shape).astype(dtype) for i in range(2))
        self.norm = np.ones(1) if rule.clip_norm else None
        self.state = [self.w.copy() if name == AVERAGE else np.zeros_like(self.w) for name in rule.states]
        order, other = orders
        # What is cropped is read and written where it is, whatever lies around it.
        self.device = [lying(self.w, order), lying(self.g, other), *(lying(s, order) for s in self.state)]
        self.device_norm = None if self.norm is None else lying(self.norm, "plain")
        arrays = self.w, self.g, self.state, scale, self.clock, self.norm
        self.host: Op = Kernels(np, dtype).update(rule, *arrays)
        w, g, *state = self.device
        self.op: Op = fast(dtype).update(rule, w, g, state, scale, self.clock, self.device_norm)

    def step(self, number: int) -> None:
        """Plays step ``number`` with a gradient of its own."""
        self.clock.step = number
        self.g[...] = normal(10 + number, *self.g.shape)
        self.put(self.device[1], self.g)
        if self.norm is not None:
            self.norm[0] = np.square(self.g.astype("float64")).sum()
            self.put(self.device_norm, self.norm)
        self.host.run(*[np.empty(shape, kind) for shape, kind in self.host.scratch])
        fast(self.dtype).device.write_step(number)
        play(self.op)

    @staticmethod
    def put(target: Array, values: Array) -> None:
        target[...] = lying(values, "plain")

    def check(self) -> None:
        for got, wanted in zip(self.device, [self.w, self.g, *self.state], strict=True):
            near(got.get(), wanted, 5 * TOLERANCE[self.dtype])


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("more", MORE)
def test_steps_are_those_of_the_rule(kind: str, more: str) -> None:
    pair = Pair(ruled(kind, more), (3, 7), "float64", ("plain", "plain"), ParameterScale(lr=0.5, wd=2))
    for number in (0, 1, 2, 5):
        pair.step(number)
    pair.check()


@pytest.mark.parametrize("kind", OUTSIDE)
@pytest.mark.parametrize("more", ["weight_decay: 0.25", "adam_conf { bias_correction: true } delta: 0.5"])
def test_delta_is_outside_of_the_root(kind: str, more: str) -> None:
    test_steps_are_those_of_the_rule(kind, f"{more} delta_outside_root: true")


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(list(PLAIN)), st.sampled_from(MORE), st.lists(st.integers(0, 5), max_size=4), ORDERS, ORDERS, DTYPES
)
def test_of_any_shape_and_order(kind: str, more: str, shape: list[int], order: str, other: str, dtype: str) -> None:
    pair = Pair(ruled(kind, more), tuple(shape), dtype, (order, other), ParameterScale())
    pair.step(0)
    pair.step(3)
    pair.check()


def test_many_in_one_launch_are_each_what_they_are_alone() -> None:
    """Of any shape, also of several chunks, each with rates of its own; nothing and another rule come between."""
    rule, other = ruled("kAdam", "weight_decay: 0.25"), ruled("kAdaGrad", "")
    shapes: list[tuple[int, ...]] = [(3, 7), (), (0, 2), (2 * CHUNK + 5,), (5, 4)]
    scales = [ParameterScale(lr=1 + k, wd=k) for k in range(len(shapes))]
    pairs = [Pair(rule, s, "float64", ("crop", "last"), scale) for s, scale in zip(shapes, scales, strict=True)]
    pairs += [
        Pair(other, (3,), "float64", ("plain",) * 2, ParameterScale()),
        Pair(rule, (2,), "float64", ("plain",) * 2, ParameterScale()),
    ]
    calls = [
        make_group_call(group) for group in group_table_rows([Action(RUN, "update", run=pair.op.run) for pair in pairs])
    ]
    assert len(calls) == 5
    for number in (0, 3):
        for pair in pairs:
            pair.op = Op(lambda: None)
            pair.step(number)
        for run in calls:
            run()
    for pair in pairs:
        pair.check()


def test_every_rule_has_a_kernel() -> None:
    assert all(build_updater(configured(kind)).formula for kind in UPDATERS.names() if kind in PLAIN)


def test_a_rule_without_a_kernel_computes_for_itself_and_is_not_captured() -> None:
    class Signs(Updater):
        types = ("kSigns",)

        def update(self, xp: Any, step: Any, w: Array, g: Array, state: Any, t: Any) -> None:
            xp.sign(g, out=t[0])
            xp.multiply(t[0], step.lr, out=t[0])
            xp.subtract(w, t[0], out=w)

    pair = Pair(Signs(configured("kSGD", "", RATE)), (5,), "float64", ("plain", "plain"), ParameterScale())
    assert not pair.op.captured
    pair.step(4)
    pair.check()


def test_what_is_not_a_number_is_not_hidden() -> None:
    pair = Pair(
        build_updater(configured("kSGD", "clip_low: -1 clip_high: 1 clip_norm: 1")),
        (2,),
        "float64",
        ("plain",) * 2,
        ParameterScale(),
    )
    pair.put(pair.device[1], np.array([np.nan, 1.0]))
    pair.put(pair.device_norm, np.array([np.nan]))
    fast("float64").device.write_step(0)
    play(pair.op)
    assert np.isnan(pair.device[0].get()).all()


def test_a_captured_graph_follows_the_rate() -> None:
    pair = Pair(
        build_updater(configured("kAdam", "adam_conf { bias_correction: true }", RATE)),
        (4,),
        "float64",
        ("plain",) * 2,
        ParameterScale(),
    )
    kernels = fast("float64")
    pair.step(0)
    stream = cupy().cuda.get_current_stream()
    stream.begin_capture()
    pair.op.run()
    graph = stream.end_capture()
    pair.op = Op(graph.launch)
    for number in (1, 2, 6):
        pair.step(number)
    pair.check()
    assert kernels.device.slots.written_step == 6


def test_numbers_are_computed_once_in_a_step_for_each_rule_and_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, kernels, numbers = list[tuple[int, ParameterScale]](), Fast(cupy(), "float64"), Updater.numbers

    def noted(rule: Updater, step: int, scale: ParameterScale) -> StepNumbers:
        asked.append((step, scale))
        return numbers(rule, step, scale)

    monkeypatch.setattr(Updater, "numbers", noted)
    rule = ruled("kAdamW", "weight_decay: 0.25")
    scales = ParameterScale(), ParameterScale(lr=2), ParameterScale(lr=2, wd=0)
    for scale in scales * 3:
        w, g, *state = (lying(normal(i, 5), "plain") for i in range(4))
        kernels.update(rule, w, g, state, ParameterScale(scale.lr, scale.wd), Clock())
    kernels.device.slot(float)
    for step in (0, 0, 1):
        kernels.device.write_step(step)
    assert asked == [(step, scale) for step in (0, 1) for scale in scales]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 20), DTYPES, st.sampled_from([0.0, 0.75, 1.0]), st.integers(1, 9), st.booleans())
def test_running_statistics(channels: int, dtype: str, keep: float, count: int, delayed: bool) -> None:
    def bind(kernels: Kernels, mean: Array, variance: Array, first: Array, second: Array, *before: Array) -> Op:
        newest = before if delayed else (None, None)
        return chain_ops(
            kernels.follow_variance(variance, second, first, keep, count, newest[1]),
            kernels.follow_mean(mean, first, keep, newest[0]),
        )

    arrays = [normal(i, channels) for i in range(6)]
    agree(bind, *arrays, dtype=dtype)
