from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.op import Array, Op, chain
from netpart.kernels.reference import Kernels
from tests.cuda.agreement import DTYPES, agree, fast, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish

WANTED = st.sampled_from([(True, True, True), (True, False, False), (False, True, False), (False, False, True)])


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.integers(0, 5)] * 4), st.sampled_from([None, 0, 2]), WANTED, DTYPES)
def test_agrees_with_the_reference(
    extents: tuple[int, int, int, int], first: int | None, wanted: tuple[bool, bool, bool], dtype: str
) -> None:
    queries, keys, width, values = extents
    keys = max(1, keys)
    q, k, v = normal(1, 2, 3, queries, width), normal(2, 2, 3, keys, width), normal(3, 2, 3, keys, values)
    dq, dk, dv = (rubbish(*x.shape) if w else None for x, w in zip((q, k, v), wanted, strict=True))

    def both(kernels: Kernels, *arrays: Array) -> Op:
        q, k, v, y, p, dy, dq, dk, dv = arrays
        forward = kernels.attention(q, k, v, y, p, 0.7, first)
        return chain(forward, kernels.attention_gradient(q, k, v, p, dy, dq, dk, dv, 0.7, first))

    y, p, dy = rubbish(2, 3, queries, values), np.zeros((2, 3, queries, keys)), normal(4, 2, 3, queries, values)
    agree(both, q, k, v, y, p, dy, dq, dk, dv, dtype=dtype)


def test_rows_longer_than_a_warp_and_large_scores() -> None:
    q, k, v = 100 * normal(1, 1, 40, 8), 100 * normal(2, 1, 70, 8), normal(3, 1, 70, 4)

    def forward(kernels: Kernels, *arrays: Array) -> Op:
        q, k, v, y, p = arrays
        return kernels.attention(q, k, v, y, p, 1.0, 30)

    agree(forward, q, k, v, rubbish(1, 40, 4), rubbish(1, 40, 70))


def test_a_captured_gradient_is_replayed_with_its_scratch() -> None:
    xp, kernels = cupy(), fast("float64")
    q, k, v, p, dy = (xp.asarray(normal(i, 2, 4, 4)) for i in range(5))
    gradients = [xp.asarray(rubbish(2, 4, 4)) for _ in range(3)]
    op = kernels.attention_gradient(q, k, v, p, dy, gradients[0], gradients[1], gradients[2], 0.5)
    scratch = [xp.empty(shape, dtype) for shape, dtype in op.scratch]
    op.run(*scratch)
    kernels.device.stream.begin_capture()
    op.run(*scratch)
    graph = kernels.device.stream.end_capture()
    dy.set(normal(9, 2, 4, 4))
    graph.launch()
    found = [g.get() for g in gradients]
    play(op)
    assert all(np.array_equal(a, b.get()) for a, b in zip(found, gradients, strict=True))
