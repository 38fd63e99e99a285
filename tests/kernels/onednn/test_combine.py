from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.harness import normal, play, rubbish
from tests.kernels.onednn_kernels import ORDERS, fast, lying, near, needed

pytestmark = needed


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 7), min_size=2, max_size=5), ORDERS, ORDERS, st.integers(0, 4))
def test_sums_and_products(shape: list[int], first: str, second: str, count: int) -> None:
    plain = [normal(i, *shape) for i in range(count)]
    srcs = [lying(first, a) for a in plain]
    kernels = fast()
    y = lying(second, rubbish(*shape))
    play(kernels.total(y, srcs))
    near(y, np.sum(plain, axis=0) if plain else np.zeros(shape))
    for src in srcs:
        play(kernels.add(y, src))
    near(y, 2 * np.sum(plain, axis=0) if plain else np.zeros(shape))
    if srcs:
        play(kernels.multiply(y, srcs))
        near(y, np.prod(plain, axis=0))


@pytest.mark.parametrize("count", [2, 3])
def test_arrays_that_lie_alike_are_summed_by_onednn(count: int) -> None:
    srcs, kernels = [lying("last", normal(i, 2, 16, 4, 4)) for i in range(count)], fast()
    play(kernels.total(np.empty_like(srcs[0]), srcs))
    assert [kind for kind, _ in kernels.implementations] == ["binary"]
