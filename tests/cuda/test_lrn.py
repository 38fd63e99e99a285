from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.arguments import LrnFactors
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.reference import Kernels
from tests.cuda.agreement import DTYPES, ORDERS, agree
from tests.kernels.harness import normal, rubbish

ALPHA, KNORM = 0.7, 1.3
WINDOWS = {1: 0.75, 3: 0.5, 5: 0.75, 7: 1.0, 9: 0.6, 11: 0.75, 13: 0.9}
"""Windows, in registers and wider, each with its exponent: every pair is a compilation."""


def check_agreement(x: Array, dy: Array, factors: LrnFactors, order: str, dtype: str) -> None:
    """Both kernels normalise x to the channels of dy, and make the gradient of x."""

    def both(kernels: Kernels, x: Array, y: Array, dy: Array, dx: Array) -> Op:
        scale = kernels.xp.full(kernels.lrn_keeps(y.shape, factors.local_size), 77, dtype)
        return chain_ops(kernels.lrn(x, y, scale, factors), kernels.lrn_gradient(x, y, scale, dy, dx, factors))

    agree(both, x, rubbish(*dy.shape), dy, rubbish(*x.shape), dtype=dtype, order=order)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(st.integers(0, 3), max_size=3), st.sampled_from(list(WINDOWS)), ORDERS, DTYPES)
def test_agrees_with_the_reference(data: st.DataObject, space: list[int], size: int, order: str, dtype: str) -> None:
    channels = data.draw(st.integers(0, 17))
    first = data.draw(st.integers(0, channels))
    own = data.draw(st.integers(0, channels - first))
    x, dy = normal(1, 2, channels, *space), normal(2, 2, own, *space)
    check_agreement(x, dy, LrnFactors(first, size, ALPHA, WINDOWS[size], KNORM), order, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", ["plain", "last", "crop"])
@pytest.mark.parametrize("channels", [1, 3, 96, 256])
def test_agrees_for_the_channels_of_images_and_convolutions(channels: int, order: str, dtype: str) -> None:
    x, dy = normal(1, 2, channels, 5, 7), normal(2, 2, channels, 5, 7)
    check_agreement(x, dy, LrnFactors(0, 5, ALPHA, 0.75, KNORM), order, dtype)


@pytest.mark.parametrize("order", ["plain", "last"])
@pytest.mark.parametrize("beta", [0.5, 0.75, 1.0, 0.6, 2.0, 0.0])
def test_agrees_for_every_exponent(beta: float, order: str) -> None:
    for size in (5, 11):
        for scale in (1e-3, 1, 1e3):
            x, dy = scale * normal(1, 2, 16, 9), normal(2, 2, 16, 9)
            check_agreement(x, dy, LrnFactors(0, size, ALPHA, beta, KNORM), order, "float32")


@pytest.mark.parametrize("order", ["plain", "last"])
@pytest.mark.parametrize("offset", [2, 4])
def test_agrees_for_a_part_with_the_channels_around_it(offset: int, order: str) -> None:
    """Offsets of 4 keep the alignment of what a thread reads at once, others do not."""
    x, dy = normal(1, 2, 24, 6), normal(2, 2, 16, 6)
    check_agreement(x, dy, LrnFactors(offset, 5, ALPHA, 0.75, KNORM), order, "float32")


def test_narrow_windows_keep_nothing() -> None:
    from netpart.kernels.cuda.kernels import Kernels as Cuda

    assert Cuda.lrn_keeps((2, 96, 55, 55), 9) == (0,)
    assert Cuda.lrn_keeps((2, 96, 55, 55), 11) == (2, 96, 55, 55)
