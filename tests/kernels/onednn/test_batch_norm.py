from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.arguments import (
    BatchNormArguments,
    BatchNormGradientArguments,
    MomentNormArguments,
    MomentNormGradientArguments,
)
from netpart.kernels.op import Array
from netpart.kernels.reference import Kernels
from tests.kernels.harness import normal, play, rubbish
from tests.kernels.onednn_kernels import ORDERS, REFERENCE, fast, lying, near, needed

pytestmark = needed

EPSILON = 1e-3


def played(kernels: Kernels, order: str, x: Array, dy: Array, affine: int, wanted: bool) -> list[Array | None]:
    """y, m, dx, dw and db with the tensors lying in ``order``."""
    c, own = x.shape[1], tuple(slice(None) for _ in x.shape)
    x_, upper, y, dx = (lying(order, a) for a in (x, dy, *(rubbish(*x.shape) for _ in range(2))))
    s, w, b = (normal(i, c).astype("float32") for i in range(3))
    m, dm = (lying("plain", rubbish(1, c, 2)) for _ in range(2))
    mean, variance, rstd, dw, db = (lying("plain", rubbish(1, c)).reshape(c) for _ in range(5))
    w_, b_, dw_, db_ = (a if affine > i else None for i, a in ((0, w), (1, b), (0, dw), (1, db)))
    play(kernels.batch_norm(BatchNormArguments(x_, s, m, mean, variance, w_, b_, y, rstd, own, EPSILON)))
    out = dx if wanted else None
    play(
        kernels.batch_norm_gradient(
            BatchNormGradientArguments(x_, s, m, mean, variance, w_, rstd, upper, dm, dw_, db_, out, own, EPSILON)
        )
    )
    return [y, m, out, dw_, db_]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 6), max_size=3), st.integers(1, 4), st.integers(0, 20), ORDERS, st.integers(0, 2),
    st.booleans(),
)  # fmt: skip
def test_agrees_with_the_reference(
    space: list[int], rows: int, channels: int, order: str, affine: int, wanted: bool
) -> None:
    x, dy = 2 + normal(1, rows, channels, *space), normal(2, rows, channels, *space)
    expected = played(REFERENCE, "plain", x, dy, affine, wanted)
    for got, right in zip(played(fast(), order, x, dy, affine, wanted), expected, strict=True):
        if right is not None:
            near(got, right, 2e-4)


def played_in_parts(kernels: Kernels, order: str, x: Array, dy: Array, affine: int) -> list[Array | None]:
    """The same of a tensor that is one of two: the pieces around an exchange of moments."""
    c, count = x.shape[1], 2 * max(1, x[:, :1].size)
    x_, upper, y, dx, through = (lying(order, a) for a in (x, dy, *(rubbish(*x.shape) for _ in range(3))))
    s, w, b = (normal(i, c).astype("float32") for i in range(3))
    m, dm = (lying("plain", rubbish(1, c, 2)) for _ in range(2))
    mean, variance, rstd, dw, db = (lying("plain", rubbish(1, c)).reshape(c) for _ in range(5))
    w_, b_, dw_, db_ = (a if affine > i else None for i, a in ((0, w), (1, b), (0, dw), (1, db)))
    play(kernels.moments(x_, s, m, count))
    m[..., 1] += 1 + m[..., 0] ** 2
    play(kernels.moment_norm(MomentNormArguments(x_, s, m, mean, variance, w_, b_, y, rstd, EPSILON)))
    play(
        kernels.moment_norm_gradient(
            MomentNormGradientArguments(x_, m, mean, variance, w_, rstd, upper, dm, dw_, db_, dx, EPSILON)
        )
    )
    play(kernels.moments_gradient(x_, s, dm, through, count))
    beside = lying(order, np.asarray(dx).copy())
    play(kernels.moments_gradient(x_, s, dm, beside, count, add=True))
    return [m, y, dx, dm, dw_, db_, through, beside]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 6), max_size=3), st.integers(1, 4), st.integers(0, 20), ORDERS, st.integers(0, 2)
)  # fmt: skip
def test_parts_agree_with_the_reference(space: list[int], rows: int, channels: int, order: str, affine: int) -> None:
    x, dy = 2 + normal(1, rows, channels, *space), normal(2, rows, channels, *space)
    expected = played_in_parts(REFERENCE, "plain", x, dy, affine)
    for got, right in zip(played_in_parts(fast(), order, x, dy, affine), expected, strict=True):
        if right is not None:
            near(got, right, 2e-4)


def test_channels_last_is_done_by_onednn() -> None:
    x = normal(1, 2, 16, 5, 5)
    dy = normal(2, 2, 16, 5, 5)
    kernels = fast()
    played(kernels, "last", x, dy, 2, True)
    played_in_parts(kernels, "last", x, dy, 2)
    assert not kernels.refusals
