from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.arguments import LrnFactors
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.reference import Kernels
from tests.cuda.agreement import DTYPES, ORDERS, agree
from tests.kernels.harness import normal, rubbish

FACTORS = 0.7, 0.75, 1.3


@settings(max_examples=40, deadline=None)
@given(st.data(), st.lists(st.integers(0, 3), max_size=3), st.sampled_from([1, 3, 5]), ORDERS, DTYPES)
def test_agrees_with_the_reference(data: st.DataObject, space: list[int], size: int, order: str, dtype: str) -> None:
    channels = data.draw(st.integers(0, 9))
    first = data.draw(st.integers(0, channels))
    own = data.draw(st.integers(0, channels - first))
    x, dy = normal(1, 2, channels, *space), normal(2, 2, own, *space)

    def both(kernels: Kernels, x: Array, y: Array, scale: Array, dy: Array, dx: Array) -> Op:
        forward = kernels.lrn(x, y, scale, LrnFactors(first, size, *FACTORS))
        return chain_ops(forward, kernels.lrn_gradient(x, y, scale, dy, dx, LrnFactors(first, size, *FACTORS)))

    agree(both, x, rubbish(*dy.shape), rubbish(*dy.shape), dy, rubbish(*x.shape), dtype=dtype, order=order)
