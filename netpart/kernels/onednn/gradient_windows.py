"""Windows for which oneDNN's compiled kernels compute the right gradients of a convolution.

For others the kernels of oneDNN 3.2 (jit:avx512_core, jit_bf16:avx512_core_bf16, jit_bf16_1x1:avx512_core_bf16,
jit_1x1:avx2) return wrong gradients of weights, or write outside of their arrays; forward is right. What follows is
measured, with thousands of random convolutions on arrays between guards;
``tests/kernels/onednn/test_random_convolutions.py`` tries others.

    the first of 3 axes        no padding before the input, or none after it, or an input of at least the window and
                               the padding before it, less one
    in bfloat16, all axes      at most half a window of padding, and no element of the kernel reads padding alone
    but the first of several
    in bfloat16, a kernel of   equal strides
    one element
    without AVX-512, a kernel  groups, strides of 1, or channels of x that fill vectors of 8
    of one element

Causal convolutions in bfloat16 are thus refused, whatever their length: all of their padding is before the input.
Other implementations of oneDNN (brgconv, gemm) are right, but which one it takes is known only when it has
described a primitive.
"""

from __future__ import annotations

from typing import NamedTuple

from netpart.kernels.bfloat16 import is_bfloat16
from netpart.kernels.onednn.library import load_onednn
from netpart.kernels.op import Array, Window

VECTOR = 8
"""The numbers of a vector of AVX2."""


class WindowAxis(NamedTuple):
    """A window along one axis: the extents of x and y, the kernel's elements, and the padding before x."""

    inputs: int
    outputs: int
    kernel: int
    stride: int
    low: int
    dilation: int

    @property
    def reach(self) -> int:
        """The extent of the window."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def high(self) -> int:
        """How far the last window ends after x; negative if it ends before."""
        return (self.outputs - 1) * self.stride - self.low + self.reach - self.inputs

    @property
    def is_clear(self) -> bool:
        """True without padding on one of the sides, or if x is long compared with a window."""
        return self.low == 0 or self.high <= 0 or self.inputs >= self.reach - 1 + self.low

    @property
    def is_usual(self) -> bool:
        """True if the padding is at most half a window, and every element of the kernel reads x somewhere."""
        return max(self.low, self.high) <= self.reach // 2 and all(map(self.reads_input, range(self.kernel)))

    def reads_input(self, element: int) -> bool:
        """True if an element of the kernel reads x for some output."""
        first = element * self.dilation - self.low
        return any(0 <= first + output * self.stride < self.inputs for output in range(self.outputs))


def has_right_gradients(x: Array, y: Array, window: Window, groups: int = 1) -> bool:
    """True if oneDNN's compiled kernels compute the gradients of a convolution of x (B, C, ...) to y (B, F, ...)."""
    if not x.size or not y.size:
        return True
    low = (before for before, _ in window.pads)
    dilation = window.dilation or (1,) * len(window.kernel)
    sides = zip(x.shape[2:], y.shape[2:], window.kernel, window.stride, low, dilation, strict=True)
    axes = [WindowAxis(*side) for side in sides]
    if len(axes) == 3 and not axes[0].is_clear:
        return False
    if not is_bfloat16(x):
        return load_onednn().has_avx512 or groups > 1 or not _skips_points(window) or x.shape[1] % VECTOR == 0
    return _are_strides_equal(window) and all(axis.is_usual for axis in axes[1:] or axes)


def _skips_points(window: Window) -> bool:
    """True for a kernel of one element that does not read all of x."""
    return max(window.kernel) == 1 < max(window.stride)


def _are_strides_equal(window: Window) -> bool:
    """True unless a kernel of one element has different strides."""
    return max(window.kernel) > 1 or len(set(window.stride)) == 1
