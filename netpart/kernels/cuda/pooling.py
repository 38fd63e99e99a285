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

SLIDING = np.dtype([(name, "i4", 3) for name in ("inputs", "outputs", "kernel", "stride", "low")])
"""struct Sliding of pooling.cu."""
FILE = "pooling.cu"


class Pooling(reference.Pooling, CudaVerbs):
    """The verbs of the reference."""

    def pooling(self, x: Array, y: Array, arg: Array | None, window: Window, method: Method, area: int | Array) -> Op:
        """MAX: ties go to the first element. AVG: the window's sum divided by ``area``."""
        axes = len(window.kernel)
        tensors = x, spatial_places(x, axes), y, spatial_places(y, axes)
        sliding = _sliding_struct(x.shape, y.shape, window)
        if method == "AVG":
            return self._written(y, axes, "average", *tensors, *self._areas(area), sliding)
        kept = "uint8" if arg is None else str(arg.dtype)
        winners = arg, spatial_places(y if arg is None else arg, axes)
        return self._written(y, axes, f"maximum_{kept}", *tensors, *winners, sliding)

    def pooling_gradient(
        self, dy: Array, dx: Array, arg: Array | None, window: Window, method: Method, area: int | Array
    ) -> Op:
        """Overwrite dx. MAX needs the ``arg`` that pooling wrote; raise ValueError without it."""
        axes = len(window.kernel)
        tensors = dy, spatial_places(dy, axes), dx, spatial_places(dx, axes)
        sliding = _sliding_struct(dx.shape, dy.shape, window)
        if method == "AVG":
            return self._written(dx, axes, "average_gradient", *tensors, *self._areas(area), sliding)
        if arg is None:
            raise ValueError("pooling_gradient: expected the arg array of the forward pass for MAX, got None")
        winners = arg, spatial_places(arg, axes)
        return self._written(dx, axes, f"maximum_gradient_{arg.dtype}", *tensors, *winners, sliding)

    def _written(self, target: Array, axes: int, name: str, *args: Any) -> Op:
        """A kernel that writes ``target``, which has ``axes`` spatial axes."""
        check_kernel_size(target.size, "elements of a pooled tensor")
        channels = int(target.shape[1]) if target.ndim == axes + 2 else 1
        threads = target.size if channels % FEW else target.size // FEW
        return self.launch(FILE, name, threads, *args, channels, int(target.size))

    def _areas(self, area: int | Array) -> tuple[Array | None, float]:
        """The divisors of all windows as an array, or None and their common divisor."""
        if isinstance(area, int):
            return None, float(max(area, 1))
        return self.xp.ascontiguousarray(self.xp.maximum(area, 1).astype(self.dtype)), 1.0


def _sliding_struct(inputs: Shape, outputs: Shape, window: Window) -> Struct:
    """The geometry on three axes; missing axes have extent 1."""
    axes = len(window.kernel)
    found = np.ones((), SLIDING)
    for name, values in (
        ("inputs", inputs[-axes:]),
        ("outputs", outputs[-axes:]),
        ("kernel", window.kernel),
        ("stride", window.stride),
        ("low", [low for low, _ in window.pads]),
    ):
        found[name] = [*[0 if name == "low" else 1] * (3 - axes), *values]
    return found
