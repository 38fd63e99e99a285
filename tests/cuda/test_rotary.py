from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, agree
from tests.kernels.harness import normal, rubbish


@given(st.lists(st.integers(0, 3), max_size=2), st.integers(0, 4), st.integers(1, 5), DTYPES)
def test_there_and_back(outer: list[int], length: int, pairs: int, dtype: str) -> None:
    shape = *outer, length, 2 * pairs

    def both(kernels: Any, x: Array, y: Array, angles: Array, back: Array) -> Op:
        return chain_ops(kernels.rotate(x, y, angles), kernels.rotate(y, back, angles, -1))

    agree(both, normal(1, *shape), rubbish(*shape), normal(2, length, pairs), rubbish(*shape), dtype=dtype)
