"""Max and average pooling over 1 to 3 spatial axes: one strided pass per kernel offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from types import EllipsisType
from typing import Literal

import numpy as np

from netpart.kernels.op import Array, Op, Window
from netpart.kernels.verbs import NOTHING, Verbs
from netpart.spec import Shape

Method = Literal["MAX", "AVG"]
Box = tuple[slice | EllipsisType, ...]
"""Slices of windows or elements: an ellipsis, then one slice per spatial axis."""


def winner_dtype(kernel: Sequence[int]) -> str:
    """The dtype of ``arg``, an index into a window: uint8 if the kernel has at most 256 elements, else int32."""
    return "uint8" if prod(kernel) <= 256 else "int32"


@dataclass(frozen=True)
class Tap:
    """One kernel offset: the windows whose element ``index`` is not padding, and the slices of x that it reads."""

    index: int
    inputs: Box
    outputs: Box


def window_taps(inputs: Shape, outputs: Shape, window: Window) -> list[Tap]:
    """The offsets of a window in row-major order, except those that read only padding."""
    axes = [
        [_tap_slices(o, n, m, s, pads[0]) for o in range(k)]
        for n, m, k, s, pads in zip(inputs, outputs, window.kernel, window.stride, window.pads, strict=True)
    ]
    found = []
    for index, sides in enumerate(product(*axes)):
        if all(m.start < m.stop for _, m in sides):
            found.append(Tap(index, (..., *(n for n, _ in sides)), (..., *(m for _, m in sides))))
    return found


def _tap_slices(offset: int, inputs: int, outputs: int, stride: int, low: int) -> tuple[slice, slice]:
    """Input and output slices of the windows i with 0 <= i·stride + offset - low < inputs."""
    first = max(0, -(-(low - offset) // stride))
    last = min(outputs - 1, (inputs - 1 + low - offset) // stride)
    start = first * stride + offset - low
    return slice(start, last * stride + offset - low + 1, stride), slice(first, last + 1)


def padding_windows(inputs: Shape, outputs: Shape, window: Window) -> list[Box]:
    """Boxes of the windows that hold only padding."""
    boxes = list[Box]()
    for axis, (n, m, k, s) in enumerate(zip(inputs, outputs, window.kernel, window.stride, strict=True)):
        low = window.pads[axis][0]
        first = min(m, max(0, (low - k) // s + 1)) if n else m
        stop = max(first, min(m, -(-(n + low) // s)))
        rest = [slice(None)] * (len(inputs) - axis - 1)
        boxes += [(..., side, *rest) for side in (slice(0, first), slice(stop, m)) if side.start < side.stop]
    return boxes


def element_counts(inputs: Shape, outputs: Shape, window: Window) -> Array:
    """For each window, the number of its elements that are not padding: an array of shape ``outputs``."""
    found = np.zeros(outputs, np.int64)
    for tap in window_taps(inputs, outputs, window):
        found[tap.outputs] += 1
    return found


class Pooling(Verbs):
    """x (B, C, *in), y (B, C, *out); ``arg``: y's shape, the winner's index within its window."""

    def pooling(self, x: Array, y: Array, arg: Array | None, window: Window, method: Method, area: int | Array) -> Op:
        """Overwrite y, and arg for MAX.

        MAX: padding never wins, ties go to the first element, a window of padding gives 0. AVG: the window's sum
        divided by ``area`` (a number, or an array that broadcasts to the spatial shape of y).
        """
        if not y.size:
            return NOTHING
        return self._average(x, y, window, area) if method == "AVG" else self._maximum(x, y, arg, window)

    def pooling_gradient(
        self, dy: Array, dx: Array, arg: Array | None, window: Window, method: Method, area: int | Array
    ) -> Op:
        """Overwrite dx; gradients of overlapping windows add up.

        MAX needs the ``arg`` that pooling wrote; raises ValueError without it.
        """
        if not dx.size or not dy.size:
            return Op(lambda: dx.fill(0))
        if method == "AVG":
            return self._average_gradient(dy, dx, window, area)
        if arg is None:
            raise ValueError("pooling_gradient: expected the arg array of the forward pass for MAX, got None")
        return self._maximum_gradient(dy, dx, arg, window)

    def _maximum(self, x: Array, y: Array, arg: Array | None, window: Window) -> Op:
        xp = self.xp
        spatial = len(window.kernel)
        shapes = x.shape[-spatial:], y.shape[-spatial:]
        # In reverse order and with >=, so that of equal elements the first one is written last.
        steps = [(tap, x[tap.inputs], y[tap.outputs]) for tap in reversed(window_taps(*shapes, window))]
        empty = [y[box] for box in padding_windows(*shapes, window)]
        # Arrays, as cupy casts no signed number to an unsigned one.
        numbers = [] if arg is None else xp.arange(prod(window.kernel), dtype=arg.dtype).reshape(-1, 1)

        def run(wins: Array | None = None) -> None:
            y.fill(-xp.inf)
            for tap, x_tap, y_tap in steps:
                if arg is not None and wins is not None:
                    better = wins[tap.outputs]
                    xp.greater_equal(x_tap, y_tap, out=better)
                    xp.copyto(arg[tap.outputs], numbers[tap.index], where=better)
                xp.maximum(x_tap, y_tap, out=y_tap)
            for view in empty:
                view.fill(0)

        return Op(run, [] if arg is None else [(y.shape, bool)])

    def _maximum_gradient(self, dy: Array, dx: Array, arg: Array, window: Window) -> Op:
        xp = self.xp
        spatial = len(window.kernel)
        found = window_taps(dx.shape[-spatial:], dy.shape[-spatial:], window)
        steps = [(tap, dx[tap.inputs], dy[tap.outputs], arg[tap.outputs]) for tap in found]

        def run(wins: Array, part: Array) -> None:
            dx.fill(0)
            for tap, dx_tap, dy_tap, arg_tap in steps:
                won = wins[tap.outputs]
                share = part[tap.outputs]
                xp.equal(arg_tap, tap.index, out=won)
                share.fill(0)
                xp.copyto(share, dy_tap, where=won)
                xp.add(dx_tap, share, out=dx_tap)

        return Op(run, [(dy.shape, bool), (dy.shape, self.dtype)])

    def _average(self, x: Array, y: Array, window: Window, area: int | Array) -> Op:
        xp = self.xp
        spatial = len(window.kernel)
        divisor = self._divisor(area)
        found = window_taps(x.shape[-spatial:], y.shape[-spatial:], window)
        steps = [(x[tap.inputs], y[tap.outputs]) for tap in found]

        def run() -> None:
            y.fill(0)
            for x_tap, y_tap in steps:
                xp.add(y_tap, x_tap, out=y_tap)
            xp.divide(y, divisor, out=y)

        return Op(run)

    def _average_gradient(self, dy: Array, dx: Array, window: Window, area: int | Array) -> Op:
        xp = self.xp
        spatial = len(window.kernel)
        divisor = self._divisor(area)
        found = window_taps(dx.shape[-spatial:], dy.shape[-spatial:], window)
        steps = [(tap.outputs, dx[tap.inputs]) for tap in found]

        def run(share: Array) -> None:
            dx.fill(0)
            xp.divide(dy, divisor, out=share)
            for outputs, dx_tap in steps:
                xp.add(dx_tap, share[outputs], out=dx_tap)

        return Op(run, [(dy.shape, self.dtype)])

    def _divisor(self, area: int | Array) -> float | Array:
        """``area`` in the compute dtype; an empty window divides by 1, its sum is 0."""
        if isinstance(area, int):
            return float(max(area, 1))
        return self.xp.maximum(self.xp.asarray(area, dtype=self.dtype), 1)
