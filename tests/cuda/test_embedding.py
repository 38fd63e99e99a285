from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, afresh, agree, complains, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish


@given(
    st.sampled_from([(0, 3), (1, 1), (3, 5), (4, 30)]), st.sampled_from([0, 1, 5, 40, 600]), st.integers(0, 9), DTYPES
)
def test_rows_of_a_part_of_the_table(shape: tuple[int, int], width: int, seed: int, dtype: str) -> None:
    random = np.random.default_rng(seed)
    tokens = random.integers(0, 12, shape, "int32")
    first = int(random.integers(0, 8))
    rows = int(random.integers(1, 5))

    def both(kernels: Any, tokens: Array, w: Array, y: Array, dw: Array) -> Op:
        forward = kernels.embedding(tokens, w, y, first, 12)
        return chain_ops(forward, kernels.embedding_gradient(tokens, y, dw, first))

    agree(both, tokens, normal(1, rows, width), rubbish(*shape, width), rubbish(rows, width), dtype=dtype)


def test_the_row_of_a_token_that_is_in_no_part_is_no_number_and_is_complained_about() -> None:
    tokens = np.array([1, 12, -1, 9], "int32")
    w = normal(1, 4, 3)
    y = cupy().zeros((4, 3))
    kernels = afresh()
    play(kernels.embedding(cupy().asarray(tokens), cupy().asarray(w), y, 0, 12))
    assert np.isnan(y.get()).all(axis=1).tolist() == [False, True, True, False]
    assert np.array_equal(y.get()[0], w[1])
    assert not y.get()[3].any()
    with complains("token: expected 0 to 11, got "):
        kernels.device.complaints.check()
