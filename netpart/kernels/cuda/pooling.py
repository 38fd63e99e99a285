"""Max and average pooling: a thread for a few channels of the output, so that no element is written twice."""

from __future__ import annotations

from typing import Any

import numpy as np

from netpart.kernels import pooling as reference
from netpart.kernels.cuda.column_kernels import FEW, Struct, spatial_places
from netpart.kernels.cuda.launch import CudaVerbs, check_kernel_size
from netpart.kernels.op import Array, Op, Window
from netpart.kernels.pooling import Method
from netpart.spec import Shape

DIVISOR = np.dtype([(name, "u4") for name in ("value", "magic", "first", "rest")])
"""struct Divisor of pooling.cu."""
SLIDING = np.dtype(
    [("inputs", DIVISOR, 3), ("outputs", DIVISOR, 3), ("channels", DIVISOR), ("packs", DIVISOR)]
    + [(name, "i4", 3) for name in ("kernel", "stride", "low")]
)
"""struct Sliding of pooling.cu."""
COMMON = 2, 3
"""Extents of windows for which kernels of their own are compiled, with strides up to the extent."""
FILE = "pooling.cu"


class Pooling(reference.Pooling, CudaVerbs):
    """The verbs of the reference."""

    def pooling(self, x: Array, y: Array, arg: Array | None, window: Window, method: Method, area: int | Array) -> Op:
        """MAX: ties go to the first element. AVG: the window's sum divided by ``area``."""
        axes = len(window.kernel)
        tensors = x, spatial_places(x, axes), y, spatial_places(y, axes)
        sliding = _sliding_struct(x.shape, y.shape, window, _channel_count(y, axes))
        if method == "AVG":
            return self._written(y, window, "average", *tensors, *self._areas(area), sliding)
        kept = "uint8" if arg is None else str(arg.dtype)
        winners = arg, spatial_places(y if arg is None else arg, axes)
        return self._written(y, window, f"maximum_{kept}", *tensors, *winners, sliding)

    def pooling_gradient(
        self, dy: Array, dx: Array, arg: Array | None, window: Window, method: Method, area: int | Array
    ) -> Op:
        """Overwrite dx. MAX needs the ``arg`` that pooling wrote; raise ValueError without it."""
        axes = len(window.kernel)
        tensors = dy, spatial_places(dy, axes), dx, spatial_places(dx, axes)
        sliding = _sliding_struct(dx.shape, dy.shape, window, _channel_count(dx, axes))
        if method == "AVG":
            return self._written(dx, window, "average_gradient", *tensors, *self._areas(area), sliding)
        if arg is None:
            raise ValueError("pooling_gradient: expected the arg array of the forward pass for MAX, got None")
        winners = arg, spatial_places(arg, axes)
        return self._written(dx, window, f"maximum_gradient_{arg.dtype}", *tensors, *winners, sliding)

    def _written(self, target: Array, window: Window, name: str, *args: Any) -> Op:
        """A kernel that writes ``target``."""
        check_kernel_size(target.size, "elements of a pooled tensor")
        threads = target.size if _channel_count(target, len(window.kernel)) % FEW else target.size // FEW
        defines = _window_defines(window)
        return self.launches(self.bound(FILE, name, threads, *args, int(target.size), defines=defines))

    def _areas(self, area: int | Array) -> tuple[Array | None, float]:
        """The divisors of all windows as an array, or None and their common divisor."""
        if isinstance(area, int):
            return None, float(max(area, 1))
        divisors = self.xp.maximum(self.xp.asarray(area, dtype=self.dtype), 1)
        return self.xp.ascontiguousarray(divisors), 1.0


def _channel_count(tensor: Array, axes: int) -> int:
    """The channels of a tensor with so many axes of space; 1 without an axis of channels."""
    return int(tensor.shape[1]) if tensor.ndim == axes + 2 else 1


def _window_defines(window: Window) -> tuple[str, ...]:
    """The definitions for a common window; none for others."""
    (kernel, *kernels), (stride, *strides) = window.kernel, window.stride
    same = {*kernels} <= {kernel} and {*strides} <= {stride}
    if not same or kernel not in COMMON or stride > kernel:
        return ()
    return f"AXES={len(window.kernel)}", f"KERNEL={kernel}", f"STRIDE={stride}"


def _sliding_struct(inputs: Shape, outputs: Shape, window: Window, channels: int) -> Struct:
    """The geometry on three axes; missing axes have extent 1."""
    axes = len(window.kernel)
    ones = [1] * (3 - axes)
    found = np.zeros((), SLIDING)
    found["inputs"] = [_divisor_struct(n) for n in (*ones, *inputs[-axes:])]
    found["outputs"] = [_divisor_struct(n) for n in (*ones, *outputs[-axes:])]
    found["channels"] = _divisor_struct(channels)
    found["packs"] = _divisor_struct(max(1, channels // FEW))
    found["kernel"] = [*ones, *window.kernel]
    found["stride"] = [*ones, *window.stride]
    found["low"] = [*[0] * (3 - axes), *(low for low, _ in window.pads)]
    return found


def _divisor_struct(value: int) -> tuple[int, int, int, int]:
    """The constants to divide by ``value``, which is 1 to 2³² - 1 (Granlund and Montgomery, 1994, figure 4.1)."""
    bits = (max(value, 1) - 1).bit_length()
    magic = ((1 << 32) * ((1 << bits) - max(value, 1)) // max(value, 1)) + 1
    return value, magic, min(bits, 1), max(bits - 1, 0)
