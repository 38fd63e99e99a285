"""Pooling on channels-last tensors; ``arg`` holds the workspace of oneDNN's max pooling for the gradient."""

from __future__ import annotations

from math import prod

import numpy as np

from netpart.kernels import pooling as reference
from netpart.kernels.bfloat16 import is_bfloat16
from netpart.kernels.onednn.calls import Calls, OneDnnVerbs
from netpart.kernels.onednn.library import OneDnnRefused
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, dims_array
from netpart.kernels.onednn.names import Algorithm, Arg, PropKind
from netpart.kernels.onednn.primitive import PrimitiveDesc
from netpart.kernels.op import Array, Op, Window
from netpart.kernels.pooling import Method, element_counts, padding_windows
from netpart.spec import Shape

MOST_ELEMENTS = 256
"""The most elements of a window of a maximum in bfloat16: oneDNN counts them in bfloat16, exactly up to 256."""


class Pooling(reference.Pooling, OneDnnVerbs):
    """The verbs of the reference.

    ``arg`` has a format of oneDNN's own, so it does both verbs or neither: the decision depends on shapes alone.
    """

    def pooling(self, x: Array, y: Array, arg: Array | None, window: Window, method: Method, area: int | Array) -> Op:
        """MAX: ties go to the first element. AVG: the window's sum divided by ``area``."""

        def describe(calls: Calls) -> None:
            desc, _ = _pooling_descs(x, y, window, method, area)
            source, winners = (
                calls.ordered(DnnlMemory.of(x), desc.arg(Arg.SRC)),
                _winner_memory(calls, desc, arg, method),
            )
            calls.write(desc, {Arg.SRC: source, Arg.WORKSPACE: winners}, Arg.DST, DnnlMemory.of(y))

        return self.attempt(describe, super().pooling, x, y, arg, window, method, area)

    def pooling_gradient(
        self, dy: Array, dx: Array, arg: Array | None, window: Window, method: Method, area: int | Array
    ) -> Op:
        """Overwrite dx; MAX needs the ``arg`` that pooling kept."""

        def describe(calls: Calls) -> None:
            _, desc = _pooling_descs(dx, dy, window, method, area)
            above, winners = (
                calls.ordered(DnnlMemory.of(dy), desc.arg(Arg.DIFF_DST)),
                _winner_memory(calls, desc, arg, method),
            )
            calls.write(desc, {Arg.DIFF_DST: above, Arg.WORKSPACE: winners}, Arg.DIFF_SRC, DnnlMemory.of(dx))

        return self.attempt(describe, super().pooling_gradient, dy, dx, arg, window, method, area)


def _pooling_descs(
    x: Array, y: Array, window: Window, method: Method, area: int | Array
) -> tuple[PrimitiveDesc, PrimitiveDesc]:
    """The forward and the backward primitive. Raises OneDnnRefused unless oneDNN has both, with the same results."""
    axes = len(window.kernel)
    if x.ndim != axes + 2 or not y.size or padding_windows(x.shape[2:], y.shape[2:], window):
        raise OneDnnRefused(
            f"oneDNN: expected windows that hold elements of (batch, channels, ...), got {x.shape} and {window}"
        )
    if method == "MAX" and is_bfloat16(x) and prod(window.kernel) > MOST_ELEMENTS:
        most = f"at most {MOST_ELEMENTS} elements in a window of a maximum in bfloat16"
        raise OneDnnRefused(f"oneDNN: expected {most}, got {window.kernel}")
    kind = Algorithm.POOLING_MAX if method == "MAX" else _mean_algorithm(x.shape[2:], y.shape[2:], window, area)
    low, high = zip(*window.pads, strict=True)
    geometry = (
        dims_array(window.stride),
        dims_array(window.kernel),
        dims_array([0] * axes),
        dims_array(low),
        dims_array(high),
    )
    args = kind, *(MemoryDesc.last(a.shape, a.dtype.name) for a in (x, y)), *geometry
    forward = PrimitiveDesc("pooling_forward", PropKind.FORWARD_TRAINING, *args)
    return forward, PrimitiveDesc("pooling_backward", *args, forward)


def _mean_algorithm(inputs: Shape, outputs: Shape, window: Window, area: int | Array) -> Algorithm:
    """The mean that divides by ``area``. Raises OneDnnRefused if oneDNN has none."""
    if isinstance(area, int) and area == prod(window.kernel):
        return Algorithm.POOLING_AVG_INCLUDE_PADDING
    if isinstance(area, int) or not np.array_equal(area, element_counts(inputs, outputs, window)):
        raise OneDnnRefused("oneDNN: expected a mean over the whole window or over its elements, got another divisor")
    return Algorithm.POOLING_AVG_EXCLUDE_PADDING


def _winner_memory(calls: Calls, desc: PrimitiveDesc, arg: Array | None, method: Method) -> DnnlMemory | None:
    """The memory of max pooling's winners: ``arg``, or a temporary if the caller keeps no winners; None for AVG."""
    if method == "AVG":
        return None
    wanted = desc.arg(Arg.WORKSPACE)
    if arg is None:
        return calls.temporary(wanted)
    if arg.nbytes < wanted.nbytes:
        raise OneDnnRefused(f"oneDNN: expected {wanted.nbytes} bytes for the winners, got {arg.nbytes}")
    return DnnlMemory(wanted, arg)
