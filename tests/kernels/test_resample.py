from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.harness import K, close, normal, peak_bytes, play, rubbish

LETTERS = {1: "bcx,ix->bci", 2: "bcxy,ix,jy->bcij", 3: "bcxyz,ix,jy,kz->bcijk"}


@pytest.mark.parametrize(("inputs", "outputs"), [((4,), (7,)), ((3, 1), (2, 5)), ((2, 3, 4), (4, 3, 1))])
def test_every_axis_is_multiplied_and_the_gradient_is_the_adjoint(
    inputs: tuple[int, ...], outputs: tuple[int, ...]
) -> None:
    x, dy = normal(1, 2, 3, *inputs), normal(2, 2, 3, *outputs)
    weights = [normal(3 + i, m, n) for i, (n, m) in enumerate(zip(inputs, outputs, strict=True))]
    y, dx = rubbish(*dy.shape), rubbish(*x.shape)
    play(K.resample(x, y, weights))
    play(K.resample(dx, dy, weights, transpose=True))
    close(y, np.einsum(LETTERS[len(inputs)], x, *weights))
    close(np.vdot(dx, x), np.vdot(dy, y))


def test_a_part_of_nothing_gives_no_gradient() -> None:
    dx = rubbish(2, 3, 4)
    play(K.resample(dx, normal(1, 2, 3, 0), [np.ones((0, 4))], transpose=True))
    assert not dx.any()


def test_allocates_nothing() -> None:
    x = normal(1, 5, 6, 7, 8)
    y = normal(2, 5, 6, 14, 16)
    weights = [normal(3, 14, 7), normal(4, 16, 8)]
    assert peak_bytes(K.resample(x, y, weights)) < 4096
    assert peak_bytes(K.resample(np.empty_like(x), y, weights, transpose=True)) < 4096
