from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.pooling import Method
from netpart.kernels.reference import Kernels
from tests.cuda.agreement import DTYPES, ORDERS, agree, fast, lying
from tests.kernels.harness import normal, rubbish


def both(method: Method, area: int, kernels: Kernels, x: Array, y: Array, arg: Array, dy: Array, dx: Array) -> Op:
    forward = kernels.global_pooling(x, y, arg, method, area)
    return chain_ops(forward, kernels.global_pooling_gradient(dy, dx, arg, method, area))


def compared(method: Method, x: Array, dtype: str, order: str) -> None:
    ones = tuple(1 for _ in x.shape[2:])
    dy = normal(2, *x.shape[:2], *ones)
    arg = rubbish(x.shape[0] * x.shape[1], dtype="int64") if method == "MAX" else None

    def bind(kernels: Kernels, *arrays: Array) -> Op:
        return both(method, 7, kernels, *arrays)

    agree(bind, x, rubbish(*dy.shape), arg, dy, rubbish(*x.shape), dtype=dtype, order=order)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 3), st.integers(0, 40), st.lists(st.integers(1, 5), min_size=1, max_size=3), ORDERS, DTYPES,
    st.sampled_from(["MAX", "AVG"]), st.booleans(),
)  # fmt: skip
def test_agrees_with_the_reference(
    rows: int, channels: int, space: list[int], order: str, dtype: str, method: Method, ties: bool
) -> None:
    x = normal(1, rows, channels, *space)
    compared(method, np.round(x) if ties else x, dtype, order)


@pytest.mark.parametrize("method", ["MAX", "AVG"])
def test_many_places_are_shared_out(method: Method) -> None:
    compared(method, normal(1, 1, 3, 60, 160), "float64", "last")


def test_the_mean_of_nothing_is_0() -> None:
    compared("AVG", normal(1, 2, 3, 0), "float64", "plain")


def test_the_gradient_of_a_maximum_needs_its_place() -> None:
    a = lying(rubbish(1, 1, 1), "plain")
    with pytest.raises(ValueError, match="expected the arg array"):
        fast("float64").global_pooling_gradient(a, a, None, "MAX", 3)
