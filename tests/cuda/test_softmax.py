from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, agree
from tests.kernels.harness import normal, rubbish


def both(groups: int) -> Any:
    """Softmax and its gradient."""

    def bind(kernels: Any, x: Array, y: Array, dy: Array, dx: Array) -> Op:
        return chain_ops(kernels.softmax(x, y, groups), kernels.softmax_gradient(y, dy, dx, groups))

    return bind


@given(st.integers(0, 4), st.sampled_from([0, 1, 2, 31, 33, 700]), st.integers(1, 3), DTYPES)
def test_value_and_gradient(rows: int, columns: int, groups: int, dtype: str) -> None:
    shape = rows, groups, columns
    agree(both(groups), normal(1, *shape) * 9, rubbish(*shape), normal(2, *shape), rubbish(*shape), dtype=dtype)


@given(st.integers(0, 4), st.sampled_from([1, 2, 33]), st.sampled_from([1, 3, 40]), st.integers(1, 2), DTYPES)
def test_along_an_axis(rows: int, columns: int, inner: int, axis: int, dtype: str) -> None:
    shape = rows, columns, inner

    def bind(kernels: Any, x: Array, y: Array, dy: Array, dx: Array) -> Op:
        return chain_ops(kernels.softmax_along(x, y, axis), kernels.softmax_along_gradient(y, dy, dx, axis))

    agree(bind, normal(1, *shape) * 9, rubbish(*shape), normal(2, *shape), rubbish(*shape), dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_masked_is_0_and_what_is_all_masked_is_no_number(dtype: str) -> None:
    x = normal(1, 4, 70)
    x[0, :69] = -np.inf
    x[1] = -np.inf
    x[2, 5] = np.nan
    agree(both(1), x, rubbish(4, 70), normal(2, 4, 70), rubbish(4, 70), dtype=dtype)
