from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.arguments import LrnFactors
from netpart.kernels.op import Array
from netpart.kernels.reference import Kernels
from tests.kernels.harness import normal, play, rubbish
from tests.kernels.onednn_kernels import ORDERS, REFERENCE, fast, lying, near, needed

pytestmark = needed


def played(
    kernels: Kernels, order: str, x: Array, dy: Array, offset: int, local_size: int, beta: float
) -> tuple[Array, Array]:
    """y and dx with all tensors lying in ``order``."""
    source, upper, dx = (lying(order, a) for a in (x, dy, rubbish(*x.shape)))
    y, scale = (lying(order, rubbish(*dy.shape)) for _ in range(2))
    play(kernels.lrn(source, y, scale, LrnFactors(offset, local_size, 0.5, beta, 1.5)))
    play(kernels.lrn_gradient(source, y, scale, upper, dx, LrnFactors(offset, local_size, 0.5, beta, 1.5)))
    return y, dx


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 5), max_size=3), st.integers(0, 20), st.integers(0, 2), st.sampled_from([1, 3, 5, 9]),
    st.sampled_from([0.75, 0.75, 0.6]), ORDERS,
)  # fmt: skip
def test_agrees_with_the_reference(
    space: list[int], channels: int, halo: int, local_size: int, beta: float, order: str
) -> None:
    x, dy = 2 * normal(1, 2, channels + 2 * halo, *space), normal(2, 2, channels, *space)
    wanted = played(REFERENCE, "plain", x, dy, halo, local_size, beta)
    for got, expected in zip(played(fast(), order, x, dy, halo, local_size, beta), wanted, strict=True):
        near(got, expected)


def test_channels_last_is_done_by_onednn() -> None:
    kernels = fast()
    played(kernels, "last", normal(1, 2, 32, 5, 5), normal(2, 2, 32, 5, 5), 0, 5, 0.75)
    assert not kernels.refusals
