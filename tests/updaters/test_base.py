"""What all update rules share beyond their formula: the clipped norm, and moving averages."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import text_format

from netpart.kernels.op import Array, Clock
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters import ParameterScale, Updater, build_updater

SGD = "type: kSGD learning_rate { type: kFixed base_lr: 1 }"


def rule(more: str, start: str = SGD) -> Updater:
    return build_updater(text_format.Parse(f"{start} {more}", UpdaterProto()))


def updated(
    found: Updater, w: Array, g: Array, norm: float | None, state: list[Array] | None = None, step: int = 0
) -> Array:
    """``w`` after one update of a copy of it; ``norm`` is the squared norm of all gradients, if they are clipped."""
    after, clock = w.copy(), Clock(step)
    squared = None if norm is None else np.array([norm])
    op = found.bind(np, after, g, state or [], ParameterScale(), clock, squared)
    op.run(*(np.full(shape, np.nan, dtype) for shape, dtype in op.scratch))
    return after


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gradient_that_is_too_long_is_shortened(dtype: type) -> None:
    w: Array = np.zeros(2, dtype)
    g: Array = np.array([3, 4], dtype)
    np.testing.assert_allclose(updated(rule("clip_norm: 5"), w, g, 100.0), [-1.5, -2])


@pytest.mark.parametrize("norm", [0.0, 24.0, 25.0])
def test_one_that_is_not_keeps_its_bits(norm: float) -> None:
    w, g = np.zeros(3, np.float32), np.array([0.1, 1e-30, -0.7], np.float32)
    assert np.array_equal(updated(rule("clip_norm: 5"), w, g, norm), -g)


def test_squares_beyond_float32_are_no_trouble() -> None:
    w, g = np.zeros(1, np.float32), np.array([1e30], np.float32)
    np.testing.assert_allclose(updated(rule("clip_norm: 2"), w, g, 1e60), [-2], rtol=1e-6)


def test_the_norm_comes_before_the_bounds_and_both_before_weight_decay() -> None:
    w, g = np.array([10.0, 10.0]), np.array([30.0, 40.0])
    found = updated(rule("clip_norm: 10 clip_low: -7 clip_high: 7 weight_decay: 0.5"), w, g, 2500.0)
    np.testing.assert_allclose(found, [10 - 6 - 5, 10 - 7 - 5])


def test_decoupled_decay_is_not_clipped_and_does_not_enter_the_moments() -> None:
    start = "type: kAdamW learning_rate { type: kFixed base_lr: 0.5 }"
    state = [np.zeros(1), np.zeros(1)]
    found = updated(rule("weight_decay: 0.5", start), np.array([8.0]), np.zeros(1), None, state)
    assert found == 8 * (1 - 0.5 * 0.5)
    assert state == [0, 0]


def test_an_average_begins_where_its_parameter_is() -> None:
    found = rule("momentum: 0.5 ema_decay: 0.75")
    assert (found.slots, found.states) == (("momentum",), ("momentum", "average"))
    w, state = np.array([1.0, 2.0]), [np.zeros(2), np.zeros(2)]
    found.begin(w, state)
    assert [s.tolist() for s in state] == [[0, 0], [1, 2]]


@pytest.mark.parametrize(("more", "keep"), [("", [0.5] * 12), ("ema_warmup: true", [0.1, 2 / 11, 3 / 12, 4 / 13])])
def test_an_average_follows_its_parameter(more: str, keep: list[float]) -> None:
    found = rule(f"ema_decay: 0.5 {more}")
    w, mean = np.array([4.0]), np.array([4.0])
    expected = mean.copy()
    for step, kept in enumerate(keep):
        w = updated(found, w, np.array([0.25]), None, [mean], step)
        expected = kept * expected + (1 - kept) * w
        np.testing.assert_allclose(mean, expected, rtol=1e-14)
    assert found.kept(10**6) == 0.5
