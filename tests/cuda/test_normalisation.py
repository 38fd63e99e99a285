from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.arguments import NormaliseArguments
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.reference import Kernels
from tests.cuda.agreement import DTYPES, agree, fast, lying, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish

Shape = tuple[int, ...]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Shape, int, tuple[slice, ...], Shape]:
    """The shape of x, its blocks, the box that y is, and the shape of scale and shift: of layers or groups."""
    if draw(st.booleans()):
        outer, inner = (
            draw(st.lists(st.integers(0, 4), min_size=1, max_size=2)),
            draw(st.lists(st.integers(1, 40), min_size=1, max_size=2)),
        )
        shape, blocks = (*outer, *inner), int(np.prod(outer))
        return shape, blocks, (slice(None),) * len(shape), (*(1 for _ in outer), *inner)
    rows, groups, share, *space = (draw(st.integers(0 if i == 0 else 1, 4)) for i in range(draw(st.integers(3, 5))))
    channels = groups * share
    first = draw(st.integers(0, share - 1))
    own = (slice(None), slice(first, channels), *(slice(None) for _ in space))
    return (rows, channels, *space), rows * groups, own, (1, channels - first, *(1 for _ in space))


@settings(max_examples=60, deadline=None)
@given(cases(), DTYPES, st.booleans(), st.integers(0, 2))
def test_agrees_with_the_reference(
    case: tuple[Shape, int, tuple[slice, ...], Shape], dtype: str, centred: bool, affine: int
) -> None:
    shape, blocks, own, scale = case
    x = 1 + normal(1, *shape)
    w, b = (normal(i, *scale) if affine > i else None for i in range(2))

    def bind(
        kernels: Kernels, x: Array, w: Array | None, b: Array | None, y: Array, unit: Array, rstd: Array, dy: Array,
        dx: Array, dw: Array, db: Array,
    ) -> Op:  # fmt: skip
        forward = kernels.normalise(NormaliseArguments(x, w, b, y, unit, rstd, blocks, own, 1e-3, centred))
        gradients = dw if affine != 1 else None, db if affine else None
        if not blocks:
            return kernels.normalise_parameters(unit, dy, *gradients, own)
        return chain_ops(
            forward,
            kernels.normalise_gradient(unit, rstd, w, dy, dx, own, centred),
            kernels.normalise_parameters(unit, dy, *gradients, own),
        )

    upper = normal(5, *x[own].shape)
    kept = (
        rubbish(*upper.shape),
        rubbish(*shape),
        rubbish(blocks, 1),
        upper,
        rubbish(*shape),
        rubbish(*scale),
        rubbish(*scale),
    )
    agree(bind, x, w, b, *kept, dtype=dtype, tolerance=1e-11 if dtype == "float64" else 3e-4)


@pytest.mark.parametrize("centred", [False, True])
def test_a_gradient_is_added(centred: bool) -> None:
    unit, dy, dx = normal(1, 5, 70), normal(2, 5, 70), normal(3, 5, 70)
    rstd, w, whole = 1 + normal(4, 5, 1) ** 2, normal(5, 1, 70), (slice(None),) * 2

    def bind(kernels: Kernels, unit: Array, rstd: Array, w: Array, dy: Array, dx: Array) -> Op:
        return kernels.normalise_gradient(unit, rstd, w, dy, dx, whole, centred, True)

    agree(bind, unit, rstd, w, dy, dx, tolerance=1e-11)


def test_a_gradient_of_half_blocks_is_not_added() -> None:
    unit, dy, rstd = (cupy().asarray(normal(1, *shape)) for shape in ((2, 4, 3), (2, 2, 3), (2, 1)))
    own = slice(None), slice(0, 2), slice(None)
    with pytest.raises(ValueError, match="whole blocks to add to"):
        fast("float64").normalise_gradient(unit, rstd, None, dy, unit, own, True, True)


@pytest.mark.parametrize("shape", [(3, 5000), (600, 70)])
def test_long_and_many_rows(shape: Shape) -> None:
    x, dy = 1 + normal(1, *shape), normal(2, *shape)
    own, rows = (slice(None),) * 2, shape[0]

    def bind(
        kernels: Kernels, x: Array, y: Array, unit: Array, rstd: Array, dy: Array, dx: Array, dw: Array, db: Array
    ) -> Op:
        return chain_ops(
            kernels.normalise(NormaliseArguments(x, None, None, y, unit, rstd, rows, own, 1e-5, True)),
            kernels.normalise_gradient(unit, rstd, None, dy, dx, own, True),
            kernels.normalise_parameters(unit, dy, dw, db, own),
        )

    scale = rubbish(1, shape[1])
    agree(
        bind, x, rubbish(*shape), rubbish(*shape), rubbish(rows, 1), dy, rubbish(*shape), scale, scale, tolerance=1e-11
    )


def test_scale_and_shift_may_lie_on_different_axes() -> None:
    unit, dy = normal(1, 2, 3, 4), normal(2, 2, 3, 4)

    def bind(kernels: Kernels, unit: Array, dy: Array, dw: Array, db: Array) -> Op:
        return kernels.normalise_parameters(unit, dy, dw, db, (slice(None),) * 3)

    agree(bind, unit, dy, rubbish(2, 1, 4), rubbish(1, 3, 1))


def test_a_large_mean_costs_no_digits() -> None:
    x = (1000 + normal(1, 2, 900)).astype("float32")
    y, unit, rstd = (lying(rubbish(*n, dtype="float32"), "plain") for n in (x.shape, x.shape, (2, 1)))
    play(
        fast("float32").normalise(
            NormaliseArguments(lying(x, "plain"), None, None, y, unit, rstd, 2, (slice(None),) * 2, 0.0, True)
        )
    )
    wide = x.astype("float64")
    np.testing.assert_allclose(y.get(), (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True), atol=1e-6)
