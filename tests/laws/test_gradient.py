"""Law 3: backward is the derivative of forward, by central differences in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.layers.layer import Layer
from tests.laws.cases import ALL, NO_GRADIENT, OBJECTIVES
from tests.laws.harness import Data, make_data, play

STEP = 1e-6


def objective(layer: Layer, name: str, data: Data) -> float:
    """What backward differentiates: the loss, or else the output projected on ``data.dy``."""
    played = play(layer, data, backward=False)
    if layer.is_loss:
        return OBJECTIVES[name] * float(played.metrics[0]) / layer.output.shape[0]
    return float((played.y * data.dy).sum())


@pytest.mark.parametrize("name", [name for name in ALL if name not in NO_GRADIENT])
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_backward_is_the_derivative_of_forward(name: str, data: st.DataObject, seed: int) -> None:
    layer = data.draw(ALL[name]).layer()
    arrays, rng = make_data(layer, seed), np.random.default_rng(seed)
    played = play(layer, arrays)
    running = [spec.running is not None for spec in layer.params]
    gradients = [None if moves else dw for moves, dw in zip(running, played.dw, strict=True)]
    for array, gradient in zip(arrays.x + arrays.w, played.dx + gradients, strict=True):
        if gradient is None:
            continue
        direction = rng.uniform(-1, 1, array.shape)
        array += STEP * direction
        above = objective(layer, name, arrays)
        array -= 2 * STEP * direction
        below = objective(layer, name, arrays)
        array += STEP * direction
        expected = (above - below) / (2 * STEP)
        assert abs(float((gradient * direction).sum()) - expected) <= 1e-6 * (1 + abs(expected))
