from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, ORDERS, agree
from tests.kernels.harness import normal, rubbish


@st.composite
def matrices(draw: st.DrawFn) -> list[Array]:
    """Weights (out, in) of up to three axes, many of them 0, some in a row or column without any other."""
    found = []
    for axis in range(draw(st.integers(1, 3))):
        w = normal(axis, draw(st.integers(0, 5)), draw(st.integers(0, 5)))
        found.append(np.where(np.abs(w) < draw(st.sampled_from([0.0, 0.7, 9.0])), 0, w))
    return found


@given(matrices(), st.integers(0, 2), st.integers(1, 3), ORDERS, DTYPES)
def test_there_and_back(weights: list[Array], batch: int, channels: int, order: str, dtype: str) -> None:
    x = normal(7, batch, channels, *(w.shape[1] for w in weights))
    y = rubbish(batch, channels, *(len(w) for w in weights))

    def both(kernels: Any, x: Array, y: Array, dx: Array, *weights: Array) -> Op:
        if kernels.xp is np:  # the reference takes no strides
            return chain_ops(kernels.resample(x, y, weights), kernels.resample(dx, y, weights, transpose=True))
        return chain_ops(kernels.resample(x, y, weights), kernels.resample(dx, y, weights, True))

    agree(both, x, y, rubbish(*x.shape), *weights, dtype=dtype, order=order)
