"""The geometry of convolutions for the engines: packed tensors with three axes of space, some with extent 1."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from netpart.kernels.op import Array, Window
from netpart.kernels.verbs import data_address
from netpart.spec import Shape

AXES = 3
ALIGNED = 16
"""The alignment in bytes that libraries require of their operands."""


class ConvolutionGeometry(NamedTuple):
    """A convolution of x (batch, channels, *space) to ``y`` by ``w``, everything with ``AXES`` axes of space.

    ``x`` is the tensor that engines read, with ``pad`` elements before and after each axis. Where this gives other
    windows, as with different padding before and after, or where a whole window is padding, ``x`` is a copy of exactly
    the elements that they read, without padding, which begins ``frame`` elements before the tensor. In these cases
    engines of cuDNN 9.19 for the gradient of the weights have wrong results.
    """

    x: Shape
    w: Shape
    y: Shape
    axes: int
    groups: int
    stride: Shape
    dilation: Shape
    pad: Shape
    frame: Shape | None

    @classmethod
    def of(cls, x: Array, w: Array, y: Array, window: Window, groups: int) -> ConvolutionGeometry:
        """The geometry of tensors with 1 to 3 axes of space."""
        pad = _fill_three_axes([before for before, _ in window.pads], 0)
        stride = _fill_three_axes(window.stride, 1)
        dilation = _fill_three_axes(window.dilation, 1)
        inner, kernel, out = (_fill_three_axes(a.shape[2:], 1) for a in (x, w, y))
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
        rest = [n + 2 * p - r for n, p, r in zip(inner, pad, reach, strict=True)]
        ending = all(n and r >= 0 and r // s + 1 == o for n, r, s, o in zip(inner, rest, stride, out, strict=True))
        exact = ending and all(p < r for p, r in zip(pad, reach, strict=True))
        frame = None if exact else pad
        if not exact:
            inner = tuple((o - 1) * s + r for o, s, r in zip(out, stride, reach, strict=True))
            pad = (0,) * AXES
        shapes = (*x.shape[:2], *inner), (*w.shape[:2], *kernel), (*y.shape[:2], *out)
        return cls(*shapes, x.ndim - 2, groups, stride, dilation, pad, frame)

    @property
    def taps(self) -> int:
        """Elements of the kernel."""
        return prod(self.w[2:])

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Elements of x, w and y."""
        return prod(self.x), prod(self.w), prod(self.y)

    @property
    def flops(self) -> int:
        """FLOPs of the convolution, and of each of its gradients."""
        return 2 * prod(self.y) * prod(self.w[1:])

    @property
    def trivial(self) -> bool:
        """True if each output depends on the input at its own position alone."""
        return self.taps == 1 and self.x[2:] == self.y[2:] and not any(self.pad) and set(self.stride) == {1}


def _fill_three_axes(values: Shape | list[int], fill: int) -> Shape:
    """``values``, followed by ``fill`` up to three entries."""
    return (*values, *(fill for _ in range(AXES - len(values))))


def three_axes_view(a: Array) -> Array:
    """A view of a tensor (batch, channels, *space) with three axes of space."""
    return a[(..., *(None for _ in range(AXES + 2 - a.ndim)))]


def is_packed(a: Array) -> bool:
    """True for a tensor that libraries can read or write in place: aligned, without gaps, channels last."""
    return bool(a.transpose(0, *range(2, a.ndim), 1).flags.c_contiguous) and data_address(a) % ALIGNED == 0


def channels_last_shape(shape: Shape) -> Shape:
    """(batch, *space, channels) of (batch, channels, *space)."""
    return (shape[0], *shape[2:], shape[1])
