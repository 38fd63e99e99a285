"""Sums over many places keep their digits: the error against float64 does not grow with the tensor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from netpart.kernels import reference
from netpart.kernels.arguments import (
    BatchNormArguments,
    BatchNormGradientArguments,
    MomentNormArguments,
    MomentNormGradientArguments,
)
from netpart.kernels.onednn.portions import MOST, count_places, cut_portions
from netpart.kernels.op import Array, Window
from netpart.kernels.reference import Kernels
from tests.kernels.harness import play
from tests.kernels.onednn_kernels import fast, lying, needed

pytestmark = needed

EXACT = reference.Kernels(np, "float64")
EPSILON = 1e-5
ROUNDINGS = 16
SHAPES = [(2, 16, 39, 31, 29), (3, 5, 157, 149)]


def tensors(shape: tuple[int, ...]) -> tuple[Array, Array]:
    """x, three standard deviations off 0, and dy, with a mean of 0.5: neither adds up to next to nothing."""
    random = np.random.default_rng(1)
    return (random.normal(3, 1, shape).astype("float32"), random.uniform(-0.5, 1.5, shape).astype("float32"))


def close(found: Array, exact: Array) -> None:
    """Asserts that no element is more than a few eps of the largest off."""
    assert np.abs(found - exact).max() <= ROUNDINGS * np.finfo(np.float32).eps * np.abs(exact).max()


def whole(kernels: Kernels, dtype: str, x: Array, dy: Array) -> dict[str, Array]:
    """All that a batch norm that is not cut leaves."""
    c, own = x.shape[1], tuple(slice(None) for _ in x.shape)
    x, dy = (lying("last", a).astype(dtype) for a in (x, dy))
    y, dx = (np.empty_like(x) for _ in range(2))
    s, b, mean, variance, rstd, dw, db = np.zeros((7, c), dtype)
    w = np.full(c, 2, dtype)
    m = np.zeros((1, c, 2), dtype)
    dm = np.zeros((1, c, 2), dtype)
    play(kernels.batch_norm(BatchNormArguments(x, s, m, mean, variance, w, b, y, rstd, own, EPSILON)))
    play(
        kernels.batch_norm_gradient(
            BatchNormGradientArguments(x, s, m, mean, variance, w, rstd, dy, dm, dw, db, dx, own, EPSILON)
        )
    )
    return {"m": m, "mean": mean, "variance": variance, "y": y, "db": db, "dx": dx}


def in_parts(kernels: Kernels, dtype: str, x: Array, dy: Array) -> dict[str, Array]:
    """The same of one that is, but for what its moments get, which is what is left of sums that cancel."""
    c, n = x.shape[1], count_places(x.shape)
    x, dy = (lying("last", a).astype(dtype) for a in (x, dy))
    y, dx = (np.empty_like(x) for _ in range(2))
    s, b, mean, variance, rstd, dw, db = np.zeros((7, c), dtype)
    w, m = np.full(c, 2, dtype), np.zeros((1, c, 2), dtype)
    play(kernels.moments(x, s, m, n))
    play(kernels.moment_norm(MomentNormArguments(x, s, m, mean, variance, w, b, y, rstd, EPSILON)))
    play(
        kernels.moment_norm_gradient(
            MomentNormGradientArguments(x, m, mean, variance, w, rstd, dy, None, dw, db, dx, EPSILON)
        )
    )
    return {"m": m, "mean": mean, "db": db}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("of", [whole, in_parts])
def test_a_batch_norm_of_many_places(of: Callable[..., dict[str, Array]], shape: tuple[int, ...]) -> None:
    kernels, arrays = fast(), tensors(shape)
    found, exact = of(kernels, "float32", *arrays), of(EXACT, "float64", *arrays)
    assert not kernels.refusals
    for name, right in exact.items():
        close(found[name], right)


@pytest.mark.parametrize("shape", [*SHAPES, (2, 1, 39, 31, 29)])
def test_gradients_of_a_convolution_of_many_places(shape: tuple[int, ...]) -> None:
    x, dy = tensors(shape)
    c = shape[1]
    axes = len(shape) - 2
    kernels = fast()
    window = Window((1,) * axes, (1,) * axes, ((0, 0),) * axes)
    dw, db = np.empty((c, c, *window.kernel), "float32"), np.empty(c, "float32")
    play(kernels.convolution_weights(lying("last", x), lying("last", dy), dw, db, window))
    assert not kernels.refusals
    close(db, dy.astype("float64").sum(axis=(0, *range(2, dy.ndim))))
    rows = (np.moveaxis(a, 1, 0).reshape(c, -1).astype("float64") for a in (dy, x))
    close(dw.reshape(c, c), np.inner(*rows))


@pytest.mark.parametrize("shape", [(1, 3, 1), (1, 3, MOST), (2, 3, MOST), (5, 3, MOST, 2), (3, 3, MOST - 1)])
def test_portions_are_all_places(shape: tuple[int, ...]) -> None:
    assert sum(size * times for size, times in cut_portions(shape)) == count_places(shape)
