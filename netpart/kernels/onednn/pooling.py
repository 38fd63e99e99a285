"""Pooling on channels-last tensors; ``arg`` keeps what oneDNN's max pooling writes down for its gradient."""

from __future__ import annotations

from math import prod

from netpart.kernels import pooling as reference
from netpart.kernels.onednn.calls import Calls, Fast
from netpart.kernels.onednn.library import Refused
from netpart.kernels.onednn.memory import Desc, Memory, dims
from netpart.kernels.onednn.names import Algorithm, Arg, Prop
from netpart.kernels.onednn.primitive import PrimitiveDesc
from netpart.kernels.op import Array, Op, Window
from netpart.kernels.pooling import Method, padding_only
from netpart.spec import Shape


class Pooling(reference.Pooling, Fast):
    """The verbs of the reference. Whether oneDNN does both or none depends on shapes alone: ``arg`` is its own."""

    def pooling(self, x: Array, y: Array, arg: Array | None, window: Window, method: Method, area: int | Array) -> Op:
        """MAX: ties go to the first element. AVG: the window's sum divided by ``area``."""

        def describe(calls: Calls) -> None:
            desc, _ = _described(x.shape, y.shape, window, method, area)
            source, winners = calls.ordered(Memory.of(x), desc.arg(Arg.SRC)), _winners(calls, desc, arg, method)
            calls.write(desc, {Arg.SRC: source, Arg.WORKSPACE: winners}, Arg.DST, Memory.of(y))

        return self.attempt(describe, lambda: super(Pooling, self).pooling(x, y, arg, window, method, area))

    def pooling_gradient(
        self, dy: Array, dx: Array, arg: Array | None, window: Window, method: Method, area: int | Array
    ) -> Op:
        """Overwrites dx; MAX needs the ``arg`` that pooling kept."""

        def describe(calls: Calls) -> None:
            _, desc = _described(dx.shape, dy.shape, window, method, area)
            above, winners = calls.ordered(Memory.of(dy), desc.arg(Arg.DIFF_DST)), _winners(calls, desc, arg, method)
            calls.write(desc, {Arg.DIFF_DST: above, Arg.WORKSPACE: winners}, Arg.DIFF_SRC, Memory.of(dx))

        return self.attempt(describe, lambda: super(Pooling, self).pooling_gradient(dy, dx, arg, window, method, area))


def _described(
    x: Shape, y: Shape, window: Window, method: Method, area: int | Array
) -> tuple[PrimitiveDesc, PrimitiveDesc]:
    """Forward and backward. Raises Refused if one of them is, or where oneDNN computes something else."""
    axes = len(window.kernel)
    if len(x) != axes + 2 or not all(y) or padding_only(x[2:], y[2:], window):
        raise Refused(f"oneDNN: expected windows that hold elements of (batch, channels, ...), got {x} and {window}")
    if method == "AVG" and not (isinstance(area, int) and area == prod(window.kernel)):
        raise Refused("oneDNN: expected a mean over the whole window, got another divisor")
    kind = Algorithm.POOLING_MAX if method == "MAX" else Algorithm.POOLING_AVG_INCLUDE_PADDING
    low, high = zip(*window.pads, strict=True)
    geometry = dims(window.stride), dims(window.kernel), dims([0] * axes), dims(low), dims(high)
    args = kind, Desc.last(x), Desc.last(y), *geometry
    forward = PrimitiveDesc("pooling_forward", Prop.FORWARD_TRAINING, *args)
    return forward, PrimitiveDesc("pooling_backward", *args, forward)


def _winners(calls: Calls, desc: PrimitiveDesc, arg: Array | None, method: Method) -> Memory | None:
    """Where max pooling notes the winners: in ``arg``, or, if nobody wants them, somewhere."""
    if method == "AVG":
        return None
    wanted = desc.arg(Arg.WORKSPACE)
    if arg is None:
        return calls.temporary(wanted)
    if arg.nbytes < wanted.nbytes:
        raise Refused(f"oneDNN: expected {wanted.nbytes} bytes for the winners, got {arg.nbytes}")
    return Memory(wanted, arg)
