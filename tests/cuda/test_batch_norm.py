from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.activation import Kind
from netpart.kernels.arguments import (
    BatchNormaliseArguments,
    BatchNormArguments,
    BatchNormGradientArguments,
    MomentNormArguments,
    MomentNormGradientArguments,
)
from netpart.kernels.cuda.column_kernels import ColumnTile
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.reference import Kernels
from tests.cuda.agreement import DTYPES, ORDERS, TOLERANCE, agree, fast, lying, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish

EPSILON = 1e-3
SPACE = st.lists(st.integers(0, 5), max_size=3)
KINDS = st.sampled_from([None, "relu", "relu6", "sigmoid", "tanh", "stanh", "softplus"])


def statistics(channels: int) -> list[Array]:
    """mean, variance, rstd, dw, db, m and dm."""
    return [*(rubbish(channels) for _ in range(5)), rubbish(1, channels, 2), rubbish(1, channels, 2)]


def vectors(channels: int, affine: int) -> list[Array | None]:
    """s, w and b, of which ``affine`` are there."""
    return [normal(i, channels) if i < 1 + affine else None for i in range(3)]


@settings(max_examples=50, deadline=None)
@given(
    SPACE, st.integers(0, 4), st.integers(0, 40), ORDERS, DTYPES, st.integers(0, 2), KINDS, st.booleans(),
    st.sampled_from([None, "relu"]), st.data(),
)  # fmt: skip
def test_all_at_once(
    space: list[int], rows: int, channels: int, order: str, dtype: str, affine: int, kind: Kind | None, wanted: bool,
    through: Kind | None, data: st.DataObject,
) -> None:  # fmt: skip
    x = 1 + normal(1, rows, channels, *space)
    whole = tuple(slice(0, n) for n in x.shape)
    own = data.draw(st.sampled_from([whole, (slice(rows // 2, rows), *whole[1:])]))
    y, dy = rubbish(*x[own].shape), normal(2, *x[own].shape)
    through = through if x.size > channels else None  # of one element y is 0, but for rounding

    def bind(
        kernels: Kernels, x: Array, y: Array, dy: Array, dx: Array, s: Array, w: Array | None, b: Array | None,
        *kept: Array,
    ) -> Op:  # fmt: skip
        mean, variance, rstd, dw, db, m, dm = kept
        gradients = dw if affine > 0 else None, db if affine > 1 else None, dx if wanted else None
        forward = kernels.batch_norm(BatchNormArguments(x, s, m, mean, variance, w, b, y, rstd, own, EPSILON, kind))
        arrays = x, s, m, mean, variance, w, rstd, dy, dm
        gradient = kernels.batch_norm_gradient(
            BatchNormGradientArguments(*arrays, *gradients, own, EPSILON, b, through)
        )
        return chain_ops(forward, gradient, kernels.zero(dy))  # which may have been overwritten

    arrays = x, y, dy, rubbish(*x.shape), *vectors(channels, affine), *statistics(channels)
    if y.size:  # of nothing nobody says what the statistics are
        agree(bind, *arrays, dtype=dtype, order=order, tolerance=1e-11 if dtype == "float64" else 2e-4)


@settings(max_examples=50, deadline=None)
@given(SPACE, st.integers(0, 4), st.integers(0, 40), ORDERS, DTYPES, st.integers(0, 2), st.booleans(), st.booleans())
def test_pieces_around_an_exchange(
    space: list[int], rows: int, channels: int, order: str, dtype: str, affine: int, through: bool, add: bool
) -> None:
    x, dy = 1 + normal(1, rows, channels, *space), normal(2, rows, channels, *space)
    other = np.stack([normal(3, channels), 5 + normal(4, channels) ** 2], -1)[None]

    def bind(
        kernels: Kernels, x: Array, y: Array, dy: Array, dx: Array, back: Array, s: Array, w: Array | None,
        b: Array | None, mean: Array, variance: Array, rstd: Array, dw: Array, db: Array, m: Array, dm: Array,
        other: Array, running: Array,
    ) -> Op:  # fmt: skip
        gradients = dw if affine > 0 else None, db if affine > 1 else None
        out = (dm if through else None), *gradients, (dx if not through else None)
        return chain_ops(
            kernels.moments(x, s, m, 2 * max(1, rows)),
            Op(lambda: kernels.xp.add(m, other, out=m)),
            kernels.moment_norm(MomentNormArguments(x, s, m, mean, variance, w, b, y, rstd, EPSILON)),
            kernels.moment_norm_gradient(MomentNormGradientArguments(x, m, mean, variance, w, rstd, dy, *out, EPSILON)),
            kernels.moments_gradient(x, s, other, back, 7),
            kernels.batch_normalise_gradient(rstd, w, dy, back, add=add),
            kernels.moments_share(m, 0.25, running, None),
        )

    arrays = x, rubbish(*x.shape), dy, rubbish(*x.shape), rubbish(*x.shape), *vectors(channels, affine)
    if x.size:
        kept = *statistics(channels), other, rubbish(channels)
        agree(bind, *arrays, *kept, dtype=dtype, order=order, tolerance=1e-11 if dtype == "float64" else 2e-4)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(1, 40), ORDERS, DTYPES)
def test_given_statistics(rows: int, channels: int, order: str, dtype: str) -> None:
    x, dy = normal(1, rows, channels, 3), normal(2, rows, channels, 3)
    mean, variance = normal(3, channels), abs(normal(4, channels))

    def bind(
        kernels: Kernels, x: Array, y: Array, dy: Array, mean: Array, variance: Array, rstd: Array, dw: Array, db: Array
    ) -> Op:
        return chain_ops(
            kernels.batch_normalise(BatchNormaliseArguments(x, mean, variance, None, None, y, rstd, EPSILON, "relu")),
            kernels.batch_norm_parameters(x, mean, rstd, dy, dw, db),
        )

    given = mean, variance, rubbish(channels), rubbish(channels), rubbish(channels)
    agree(bind, x, rubbish(*x.shape), dy, *given, dtype=dtype, order=order, tolerance=5 * TOLERANCE[dtype])


def test_a_variance_that_was_cut_off_does_not_move() -> None:
    x, dy = np.full((2, 3, 2), 4.0), normal(2, 2, 3, 2)

    def bind(
        kernels: Kernels, x: Array, dy: Array, m: Array, mean: Array, variance: Array, rstd: Array, dm: Array
    ) -> Op:
        return kernels.batch_normalise_moments(x, m, mean, variance, rstd, None, dy, dm)

    zero, mean = np.zeros(3), np.full(3, 3.0)
    agree(bind, x, dy, normal(3, 1, 3, 2), mean, zero, 1 + zero, rubbish(1, 3, 2))


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 0)])
def test_moments_and_gradients_of_nothing_are_0(shape: tuple[int, ...]) -> None:
    kernels, x = fast("float64"), lying(np.empty(shape), "plain")
    m, dm, dw, db = (lying(rubbish(*n), "plain") for n in ((1, 3, 2), (1, 3, 2), (3,), (3,)))
    nan = lying(np.full(3, np.nan), "plain")
    play(kernels.moments(x, nan, m, 5))
    play(
        kernels.moment_norm_gradient(
            MomentNormGradientArguments(x, dm, nan, nan, nan, nan, x, dm, dw, db, None, EPSILON)
        )
    )
    assert not any(a.get().any() for a in (m, dm, dw, db))


def test_a_large_mean_costs_no_digits() -> None:
    kernels, x = fast("float32"), (normal(3, 64, 1, 16) + 1000).astype("float32")
    m, s, mean, variance = (lying(np.full(shape, 1000, "float32"), "plain") for shape in ((1, 1, 2), 1, 1, 1))
    play(kernels.moments(lying(x, "last"), s, m, x.size))
    play(kernels.statistics(m, s, mean, variance))
    assert variance.get()[0] == pytest.approx(x.astype("float64").var(), rel=1e-5)


def test_many_rows_are_shared_out() -> None:
    x = normal(1, 3, 2, 60, 90)

    def bind(kernels: Kernels, x: Array, s: Array, m: Array) -> Op:
        return kernels.moments(x, s, m, x.size // 2)

    agree(bind, x, normal(2, 2), rubbish(1, 2, 2), order="last")


def test_more_rows_than_are_counted_are_refused() -> None:
    assert ColumnTile.of(2**32 - 1, 4).few == 4
    with pytest.raises(
        ValueError, match="expected fewer than 4294967296 rows of a tensor, got 4294967296; cut the layer"
    ):
        ColumnTile.of(2**30, 4, 4)


@pytest.mark.parametrize("channels", [6, 8, 36])
def test_the_order_of_sums_is_that_of_the_shape_however_a_tensor_lies(channels: int) -> None:
    x, xp = normal(1, 30, channels, 3, 4).astype("float32"), cupy()
    found = []
    for order in ("plain", "last", "crop"):
        s, m = xp.zeros(channels, "float32"), xp.zeros((1, channels, 2), "float32")
        play(fast("float32").moments(lying(x, order), s, m, 360))
        found.append(m.get())
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
