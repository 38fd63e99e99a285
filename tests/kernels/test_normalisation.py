from __future__ import annotations

import numpy as np
import pytest

from netpart.kernels.arguments import NormaliseArguments, NormaliseGradientArguments
from tests.kernels.harness import K, close, derivative, normal, peak_bytes, play, rubbish

WHOLE = (slice(None),) * 3


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("own", [WHOLE, (slice(None), slice(1, 3), slice(None))])
def test_value_and_gradients(own: tuple[slice, ...], centred: bool) -> None:
    """Two blocks of two channels in each of three rows; perhaps only some of the channels are wanted."""
    x = normal(1, 3, 4, 5)
    unit = rubbish(3, 4, 5)
    rstd = rubbish(6, 1)
    shape = x[own].shape
    w = normal(2, 1, shape[1], 1)
    b = normal(3, 1, shape[1], 1)
    dy = normal(4, *shape)
    y = rubbish(*shape)
    op = K.normalise(NormaliseArguments(x, w, b, y, unit, rstd, 6, own, 0.1, centred))
    play(op)
    blocks = x.reshape(6, -1)
    moved = blocks - blocks.mean(axis=1, keepdims=True) * centred
    expected = moved / np.sqrt((moved**2).mean(axis=1, keepdims=True) + 0.1)
    close(y, expected.reshape(x.shape)[own] * w + b)
    dx = rubbish(*x.shape)
    dw = rubbish(*w.shape)
    db = rubbish(*b.shape)
    play(K.normalise_gradient(unit, rstd, w, dy, dx, own, centred))
    play(K.normalise_parameters(unit, dy, dw, db, own))

    def total() -> float:
        play(op)
        return float((y * dy).sum())

    for array, gradient in ((x, dx), (w, dw), (b, db)):
        close(gradient, derivative(total, array), 1e-7)
    at_once = [rubbish(*each.shape) for each in (dx, dw, db)]
    whole = NormaliseGradientArguments(unit, rstd, w, dy, at_once[0], at_once[1], at_once[2], own, centred)
    play(K.normalise_backward(whole))
    play(K.normalise_backward(NormaliseGradientArguments(unit, rstd, w, dy, dx, None, None, own, centred, add=True)))
    for found, wanted in zip(at_once, (dx / 2, dw, db), strict=True):
        close(found, wanted)


def test_without_scale_and_shift_the_blocks_have_mean_0_and_variance_1() -> None:
    x, y = 3 + 5 * normal(1, 4, 100, 1), rubbish(4, 100, 1)
    play(K.normalise(NormaliseArguments(x, None, None, y, rubbish(4, 100, 1), rubbish(4, 1), 4, WHOLE, 0.0, True)))
    close(y.mean(axis=1), np.zeros((4, 1)))
    close(y.var(axis=1), np.ones((4, 1)))


def test_allocates_nothing() -> None:
    x = normal(1, 20, 8, 30)
    unit = normal(2, 20, 8, 30)
    rstd = normal(3, 40, 1)
    w = normal(4, 1, 8, 1)
    y = rubbish(20, 8, 30)
    ops = [
        K.normalise_gradient(unit, rstd, w, y, np.empty_like(x), WHOLE, True),
        K.normalise_parameters(unit, y, np.empty_like(w), np.empty_like(w), WHOLE),
        K.normalise(NormaliseArguments(x, w, w, y, unit, rstd, 40, WHOLE, 0.1, True)),
    ]
    assert max(map(peak_bytes, ops)) < 4096
