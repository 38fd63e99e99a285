from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.op import Array, Clock, Op, chain_ops
from netpart.kernels.philox import UniformDraws
from tests.cuda.agreement import DTYPES, ORDERS, agree, fast, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish

KEY = (0x9E3779B9, 0xFFFFFFFF)
STEP = (1 << 32) + 5
PHASE = 1


@st.composite
def boxes(draw: st.DrawFn) -> tuple[tuple[int, int], list[tuple[int, int]], list[int]]:
    """Rows, a region of the other axes and their uncut extents."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    low = [draw(st.integers(0, n)) for n in shape]
    box = [(lo, draw(st.integers(lo, n))) for lo, n in zip(low, shape, strict=True)]
    first = draw(st.integers(0, 100))
    return (first, first + draw(st.integers(0, 4))), box, shape


@given(boxes(), st.sampled_from([0.0, 0.3, 0.5, 0.999]), ORDERS, DTYPES)
def test_the_masks_are_those_of_the_cpu(
    part: tuple[tuple[int, int], list[tuple[int, int]], list[int]], ratio: float, order: str, dtype: str
) -> None:
    rows, box, shape = part
    extents = [hi - lo for lo, hi in (rows, *box)]

    def both(kernels: Any, x: Array, y: Array, mask: Array, dx: Array) -> Op:
        draw = UniformDraws(kernels.xp, KEY, rows, tuple(box), tuple(shape), PHASE)
        op = kernels.dropout(x, y, mask, draw, ratio, Clock(STEP))
        if kernels.xp is cupy():
            kernels.device.write_step(STEP)
        return chain_ops(op, kernels.dropout_gradient(y, mask, dx))

    agree(both, normal(1, *extents), *(rubbish(*extents) for _ in range(3)), dtype=dtype, order=order)


def test_each_step_draws_its_own_mask_with_the_same_op() -> None:
    kernels, shape = fast("float32"), (4, 33)
    x = cupy().asarray(np.ones(shape, "float32"))
    y = cupy().zeros(shape, "float32")
    mask = cupy().zeros(shape, "float32")
    op = kernels.dropout(x, y, mask, UniformDraws(cupy(), KEY, (0, 4), ((0, 33),), (33,), PHASE), 0.5, Clock())
    seen = []
    for step in (0, 1, 0):
        kernels.device.write_step(step)
        play(op)
        seen.append(mask.get())
    assert np.array_equal(seen[0], seen[2])
    assert not np.array_equal(seen[0], seen[1])
