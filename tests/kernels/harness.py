"""Runs an Op as a worker does, watches what it allocates, and differentiates numerically."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from netpart.kernels.op import Array, Op, Window
from netpart.kernels.reference import Kernels
from netpart.spec import Shape

K = Kernels(np, "float64")

GUARD = 1 << 14
"""Bytes before and after an array that nothing may write to."""
UNTOUCHED, GARBAGE = 0xA5, 0xFF
"""The bytes of guards, and those of arrays whose contents must not matter: NaN in every type of floats."""


class Guards:
    """Arrays between guards, filled with garbage."""

    def __init__(self) -> None:
        self.found: list[tuple[Array, int, int]] = []

    def array(self, shape: Shape, dtype: Any) -> Array:
        """A row-major array."""
        nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        whole = np.full(nbytes + 2 * GUARD + 64, UNTOUCHED, np.uint8)
        begin = GUARD + -whole.ctypes.data % 64
        whole[begin : begin + nbytes] = GARBAGE
        self.found.append((whole, begin, begin + nbytes))
        return whole[begin : begin + nbytes].view(dtype).reshape(shape)

    def last(self, shape: Shape, dtype: Any) -> Array:
        """An array whose channels are innermost."""
        return np.moveaxis(self.array((shape[0], *shape[2:], shape[1]), dtype), -1, 1)

    def check(self) -> None:
        """Fail if a guard was written to."""
        for whole, begin, end in self.found:
            assert (whole[:begin] == UNTOUCHED).all(), "nothing is written before an array"
            assert (whole[end:] == UNTOUCHED).all(), "nothing is written after an array"


def scratch_of(op: Op) -> list[Array]:
    """The Op's temporaries, filled with rubbish: what they hold on entry must not matter."""
    arrays = [np.empty(shape, dtype) for shape, dtype in op.scratch]
    for array in arrays:
        array.fill(np.nan if array.dtype.kind == "f" else 1)
    return arrays


def play(op: Op) -> None:
    """Runs the Op once, and asserts that it writes nothing outside of its temporaries, whose contents do not matter."""
    memory = Guards()
    op.run(*(memory.array(shape, dtype) for shape, dtype in op.scratch))
    memory.check()


def peak_bytes(op: Op) -> int:
    """The most memory that a second run holds at once.

    numpy reserves up to ``np.getbufsize()`` elements per operand while a ufunc walks strided arrays,
    used or not; a small setting takes this constant out of the measurement.
    """
    scratch, usual = scratch_of(op), np.setbufsize(16)
    tracemalloc.start()
    try:
        op.run(*scratch)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        op.run(*scratch)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
        np.setbufsize(usual)


def normal(seed: int, *shape: int) -> Array:
    """Reproducible test data, float64."""
    return np.random.default_rng(seed).standard_normal(shape)


def rubbish(*shape: int, dtype: Any = "float64") -> Array:
    """An output that a kernel must overwrite."""
    return np.full(shape, 77, dtype)


def derivative(f: Callable[[], float], x: Array, step: float = 1e-5) -> Array:
    """df/dx by central differences; f reads x, which is changed and restored element by element."""
    slope = np.empty_like(x)
    for i in np.ndindex(x.shape):
        kept = x[i]
        x[i] = kept + step
        high = f()
        x[i] = kept - step
        low = f()
        x[i] = kept
        slope[i] = (high - low) / (2 * step)
    return slope


def close(got: Array, wanted: Array, tolerance: float = 1e-11) -> None:
    """Asserts equality to rounding, relative to the size of the wanted values."""
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def across(position: tuple[int, ...]) -> Any:
    """The index of one spatial position in all images and channels."""
    return (slice(None), slice(None), *position)


@st.composite
def windows(draw: st.DrawFn, axes: int, longest: int = 6) -> tuple[tuple[int, ...], tuple[int, ...], Window]:
    """Input extents, output extents and a window with uneven pads; extents of 0 and windows of padding occur."""
    sizes = []
    outs = []
    kernel = []
    stride = []
    pads = []
    for _ in range(axes):
        k, s = draw(st.integers(1, 3)), draw(st.integers(1, 4))
        lo = draw(st.integers(0, 4))
        hi = draw(st.integers(0, 4))
        n = draw(st.integers(0, longest))
        kernel.append(k)
        stride.append(s)
        pads.append((lo, hi))
        sizes.append(n)
        outs.append(max(0, (n + lo + hi - k) // s + 1))
    return tuple(sizes), tuple(outs), Window(tuple(kernel), tuple(stride), tuple(pads))


def window_boxes(
    sizes: Sequence[int], outs: Sequence[int], window: Window
) -> list[tuple[tuple[int, ...], list[tuple[tuple[int, ...], tuple[int, ...]]]]]:
    """For each output position its (offset in the window, input position) pairs that are not padding."""
    found, dilation = [], window.dilation or (1,) * len(sizes)
    for at in np.ndindex(*outs):
        inside = []
        for offset in np.ndindex(*window.kernel):
            where = tuple(
                i * s - lo + o * d
                for i, s, (lo, _), o, d in zip(at, window.stride, window.pads, offset, dilation, strict=True)
            )
            if all(0 <= p < n for p, n in zip(where, sizes, strict=True)):
                inside.append((offset, where))
        found.append((at, inside))
    return found
