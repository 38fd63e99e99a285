"""Convolutions of any window agree with the definition in both precisions, and write nothing outside of their arrays.

oneDNN's own gradients are wrong for some windows (netpart/kernels/onednn/gradient_windows.py). Nets have them where the
last images are no larger than the kernel, or where a cut leaves a part few lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netpart.kernels.bfloat16 import is_bfloat16, rounded, widened
from netpart.kernels.choose import has_avx512, has_bfloat16
from netpart.kernels.onednn import turned_products, winograd
from netpart.kernels.onednn.kernels import Kernels
from netpart.kernels.onednn.turned_products import LEAST_WEIGHTS
from netpart.kernels.onednn.winograd import RATE
from netpart.kernels.op import Array, Window
from netpart.spec import Shape
from tests.kernels.harness import Guards, normal, play
from tests.kernels.onednn_kernels import REFERENCE, lying, needed
from tests.thorough import example_count

pytestmark = needed
PRECISIONS = [
    "float32",
    pytest.param("bfloat16", marks=pytest.mark.skipif(not has_bfloat16(), reason="no processor with bfloat16")),
]


class Convolution(NamedTuple):
    """The shapes of x, w and y, and the window between them."""

    x: Shape
    w: Shape
    y: Shape
    window: Window
    groups: int = 1


def convolution(
    batch: int, channels: int, filters: int, sizes: Shape, kernel: Shape, stride: Shape, pads: tuple[Shape, ...],
    groups: int = 1, dilation: Shape = (),
) -> Convolution:  # fmt: skip
    """The convolution with so many channels and filters."""
    steps = dilation or (1,) * len(sizes)
    padded = [n + sum(pad) for n, pad in zip(sizes, pads, strict=True)]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, steps, strict=True)]
    outs = tuple(max(0, (n - r) // s + 1) for n, r, s in zip(padded, reach, stride, strict=True))
    window = Window(kernel, stride, tuple((low, high) for low, high in pads), dilation)
    shapes = (batch, channels, *sizes), (filters, channels // groups, *kernel), (batch, filters, *outs)
    return Convolution(*shapes, window, groups)


@contextmanager
def guards() -> Iterator[Guards]:
    found = Guards()
    yield found
    found.check()


@st.composite
def convolutions(draw: st.DrawFn) -> Convolution:
    axes = draw(st.integers(1, 3))
    several = draw(st.booleans())
    groups = draw(st.sampled_from([2, 4, 16])) if several else 1
    channels = draw(st.sampled_from([1, 2, 8] if several else [1, 3, 8, 16, 32, 48])) * groups
    filters = draw(st.sampled_from([1, 2, 4] if several else [1, 4, 16, 32, 64])) * groups
    dilated = draw(st.booleans()) and draw(st.booleans())
    sizes, kernel, stride, pads, dilation = [], [], [], [], []
    for _ in range(axes):
        sizes.append(draw(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 9, 12])))
        kernel.append(draw(st.sampled_from([1, 2, 3, 4, 5, 7])))
        stride.append(draw(st.sampled_from([1, 1, 2, 3, 4])))
        dilation.append(draw(st.integers(1, 2)))
        same = draw(st.booleans())
        half = (kernel[-1] - 1) // 2
        pads.append((half, half) if same else tuple(draw(st.integers(0, kernel[-1] - 1)) for _ in range(2)))
    batch = draw(st.sampled_from([1, 2, 5, 16]))
    shapes = tuple(sizes), tuple(kernel), tuple(stride), tuple(pads)
    return convolution(batch, channels, filters, *shapes, groups, tuple(dilation) if dilated else ())


def gradients_and_output(kernels: Any, case: Convolution, narrow: bool, memory: Guards) -> list[Array]:
    """dw, db, dx and y, in float32; all numbers that are read are exact in bfloat16. Weights in bfloat16 lie
    channels-last, as in a program."""
    dtype = rounded(np.zeros(1, np.float32)).dtype if narrow else np.dtype(np.float32)
    x, dy, dx, y = (memory.last(shape, dtype) for shape in (case.x, case.y, case.x, case.y))
    w = memory.last(case.w, dtype) if narrow else memory.array(case.w, np.float32)
    dw = memory.array(case.w, np.float32)
    db = memory.array(case.w[:1], np.float32)
    for seed, array in enumerate((x, dy, w)):
        drawn = rounded(normal(seed, *array.shape).astype(np.float32))
        array[...] = drawn if is_bfloat16(array) else widened(drawn)
    play(kernels.convolution_weights(x, dy, dw, db, case.window, case.groups))
    play(kernels.convolution_data(dy, w, dx, case.window, case.groups))
    play(kernels.convolution(x, w, None, y, case.window, case.groups))
    return [dw, db, *(widened(each) if narrow else each for each in (dx, y))]


DEEP = convolution(16, 64, 64, (2, 2, 2), (3, 3, 3), (1, 1, 1), ((1, 1),) * 3)
"""The last stage of 3D-ResAttNet18 on small scans: its gradients were of 1e33 in bfloat16."""
FLAT = convolution(16, 48, 1, (5, 9, 6), (7, 1, 5), (2, 2, 2), ((3, 3), (0, 0), (2, 2)))
"""Wrong in float32, and written outside of its array."""
UNEVEN = convolution(5, 3, 4, (6, 9), (1, 1), (2, 1), ((0, 0), (0, 0)))
"""Written outside of its workspace in bfloat16, and in float32 with AVX2."""
EVEN = convolution(9, 3, 25, (10, 12), (1, 1), (2, 2), ((0, 0), (0, 0)))
"""The same in float32 with equal strides."""
WIDE = convolution(16, 48, 16, (5, 9, 6), (7, 1, 5), (2, 2, 2), ((3, 3), (0, 0), (2, 2)))
"""The same with several filters: of one, all orders of memory are equal."""
CAUSAL = convolution(16, 32, 32, (3,), (3,), (4,), ((2, 2),))
BORDER = convolution(2, 32, 16, (2, 9, 9), (3, 3, 3), (1, 1, 1), ((1, 0), (1, 1), (1, 1)))
GROUPED = convolution(8, 16, 16, (40,), (3,), (1,), ((2, 0),), 2)
"""Its gradient is left to the reference in bfloat16, and has groups, so that it is no product."""
DILATED = convolution(2, 8, 64, (3, 4, 6), (5, 3, 5), (2, 1, 1), ((3, 4), (0, 1), (4, 4)), 1, (1, 1, 2))


@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=example_count(1200), deadline=None)
@given(case=convolutions(), least=st.sampled_from([1, LEAST_WEIGHTS]), rate=st.sampled_from([0, RATE]))
@example(case=DEEP, least=1, rate=0)
@example(case=FLAT, least=1, rate=0)
@example(case=UNEVEN, least=1, rate=0)
@example(case=EVEN, least=1, rate=0)
@example(case=CAUSAL, least=1, rate=0)
@example(case=BORDER, least=1, rate=0)
@example(case=DILATED, least=1, rate=0)
@example(case=GROUPED, least=1, rate=0)
def test_any_convolution_agrees_with_the_reference(
    precision: str, case: Convolution, least: int, rate: int
) -> None:  # fmt: skip
    """Products of few places are made turned for ``least`` weights and more; at a ``rate`` of 0 all tiles pay."""
    narrow = precision == "bfloat16"
    turned, tiled = patch.object(turned_products, "LEAST_WEIGHTS", least), patch.object(winograd, "RATE", rate)
    with guards() as memory, turned, tiled:
        wanted = gradients_and_output(REFERENCE, case, False, memory)
        found = gradients_and_output(Kernels(np, "float32", *["bfloat16"] * narrow), case, narrow, memory)
    for right, ours in zip(wanted, found, strict=True):
        assert np.linalg.norm(right - ours) <= (0.02 if narrow else 1e-4) * np.linalg.norm(right) + 1e-6


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("case", [DEEP, FLAT, CAUSAL], ids=["deep", "flat", "causal"])
def test_a_wrong_gradient_is_made_by_a_product(precision: str, case: Convolution) -> None:
    narrow = precision == "bfloat16"
    kernels = Kernels(np, "float32", *["bfloat16"] * narrow)
    with guards() as memory:
        gradients_and_output(kernels, case, narrow, memory)
    kinds = {kind for kind, _ in kernels.implementations}
    right = len(case.window.kernel) < 3 and not narrow
    assert ("matmul" in kinds) != right
    assert ("convolution_backward_weights" in kinds) == right
    assert not kernels.refusals


@pytest.mark.parametrize("order", ["plain", "last"])
def test_orders_of_memory_do_not_matter(order: str) -> None:
    """What is lowered lies in the usual order; otherwise the reference computes it, or, without AVX-512, oneDNN by a
    kernel that is right."""
    x, dy = (lying("last", normal(seed, *shape)) for seed, shape in enumerate((WIDE.x, WIDE.y)))
    wanted = np.empty(WIDE.w, np.float32)
    play(REFERENCE.convolution_weights(x, dy, wanted, None, WIDE.window))
    kernels = Kernels(np, "float32")
    with guards() as memory:
        dw = memory.array(WIDE.w, np.float32)
        play(kernels.convolution_weights(x, lying(order, dy), dw, None, WIDE.window))
    assert np.linalg.norm(dw - wanted) <= 1e-5 * np.linalg.norm(wanted)
    found = dict(kernels.implementations)
    assert ("matmul" in found) == (order == "last")
    assert bool(kernels.refusals) == (order == "plain" and has_avx512())
    assert found.get("convolution_backward_weights", "x64:gemm:jit") == "x64:gemm:jit"
