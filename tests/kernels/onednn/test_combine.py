from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.choose import has_bfloat16
from netpart.kernels.onednn.combine import LARGE
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


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "uint16", "int32"])
def test_large_parts_are_copied_by_all_threads(threads: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    src = np.moveaxis(np.arange(LARGE // np.dtype(dtype).itemsize).reshape(2, 16, -1, 64).astype(dtype), -1, 1)
    whole = np.moveaxis(np.zeros((2, 16, src.shape[-1], 96), dtype), -1, 1)
    kernels = fast()
    play(kernels.copy(whole[:, 32:], src))
    assert (whole[:, 32:] == src).all()
    assert not whole[:, :32].any()
    fast_copies = threads - 1 if dtype != "uint16" or has_bfloat16() else 0
    assert [kind for kind, _ in kernels.implementations] == ["reorder"] * fast_copies
    assert not kernels.refusals


def test_small_and_repeated_parts_are_copied_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    whole, kernels = np.empty((2, LARGE // 4), "float32"), fast()
    play(kernels.copy(whole[:, 1:8], whole[:, 8:15]))
    play(kernels.copy(whole, np.broadcast_to(np.array([[1], [2]], "float32"), whole.shape)))
    play(kernels.copy(whole, whole))
    assert (whole == [[1], [2]]).all()
    assert not kernels.implementations
