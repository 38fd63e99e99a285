"""Layer norm in float32 or bfloat16. What it keeps has the type of its tensors; statistics and sums are float32.

forward     x ──▶ unit ──▶ y = unit · w + b
backward    (unit, dy) ──▶ dx / rstd ──▶ dx, and the sums dw and db
"""

from __future__ import annotations

import numpy as np

from netpart.kernels.arguments import NormaliseArguments
from netpart.kernels.onednn.activation_calls import add_binary, post_op_argument
from netpart.kernels.onednn.calls import Args, Calls
from netpart.kernels.onednn.library import OneDnnRefused
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Algorithm, Arg, NormFlag, PropKind
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array, Box

AFFINE = NormFlag.SCALE | NormFlag.SHIFT


class RowNorm:
    """The calls for contiguous tensors like ``unit`` that consist of ``blocks`` blocks.

    Raises OneDnnRefused unless the blocks are whole, their mean is subtracted, and each scale and shift in ``affine``
    has a number for each element of a block.
    """

    def __init__(self, calls: Calls, unit: Array, own: Box, blocks: int, centred: bool, *affine: Array | None) -> None:
        self.width = unit.size // max(1, blocks)
        fits = spans_blocks(unit, blocks, *affine)
        if not centred or not unit.size or unit[own].shape != unit.shape or not fits:
            raise OneDnnRefused(f"oneDNN: expected whole blocks with a mean and {self.width} scales, got {unit.shape}")
        self.calls = calls
        self.blocks = blocks
        self.dtype = unit.dtype.name

    def normalise(self, a: NormaliseArguments) -> None:
        """Append unit, the variance in the place of rstd, rstd, and y."""
        unit = self._rows(a.unit)
        moments: Args = {Arg.MEAN: self.calls.temporary(self._moment), Arg.VARIANCE: DnnlMemory.of(a.rstd.reshape(-1))}
        self.calls.add(self._forward(a.epsilon, 0), {Arg.SRC: self._rows(a.x), Arg.DST: unit, **moments})
        self.calls.then(lambda: _invert_deviation(a.rstd, a.epsilon))
        shift = self._row(a.b, 0.0, 2)
        post = Attributes().binary(Algorithm.BINARY_ADD, shift.desc)
        other: Args = {post_op_argument(0): shift}
        add_binary(self.calls, Algorithm.BINARY_MUL, unit, self._row(a.w, 1.0, 2), self._rows(a.y), post, other)

    def gradient(
        self, unit: Array, rstd: Array, w: Array | None, dy: Array, dx: Array, dw: Array | None = None,
        db: Array | None = None, add: bool = False,
    ) -> None:  # fmt: skip
        """Append dx, or dx += it, and dw and db; the sums, a by-product, are discarded where they are None."""
        made, target = self.calls.temporary(self._tensor) if add else self._rows(dx), self._rows(dx)
        self._backward(unit, dy, w, made, dw, db)
        post = Attributes().sum() if add else None
        add_binary(self.calls, Algorithm.BINARY_MUL, made, DnnlMemory.of(rstd), target, post)

    def parameters(self, unit: Array, dy: Array, dw: Array | None, db: Array | None) -> None:
        """Append dw and db; the gradient of x, a by-product, is discarded."""
        self._backward(unit, dy, None, self.calls.temporary(self._tensor), dw, db)

    def _backward(
        self, unit: Array, dy: Array, w: Array | None, target: DnnlMemory, dw: Array | None, db: Array | None
    ) -> None:
        """Append the gradients of layer norm at ``unit``, which has mean 0 and variance 1, scaled by ``w``."""
        mean, variance = (DnnlMemory.of(np.full(self.blocks, value, np.float32)) for value in (0, 1))
        described = self._tensor, self._tensor, self._tensor, self._moment, 0.0, AFFINE, self._forward(0.0, AFFINE)
        desc = PrimitiveDesc("layer_normalization_backward", PropKind.BACKWARD, *described)
        scale, scales, shifts = (self._row(a, 1.0) for a in (w, dw, db))
        # oneDNN wants a shift as well, although no gradient depends on it.
        given: Args = {Arg.MEAN: mean, Arg.VARIANCE: variance, Arg.SCALE: scale, Arg.SHIFT: scale}
        made: Args = {Arg.DIFF_SRC: target, Arg.DIFF_SCALE: scales, Arg.DIFF_SHIFT: shifts}
        self.calls.add(desc, {**given, Arg.SRC: self._rows(unit), Arg.DIFF_DST: self._rows(dy), **made})

    def _forward(self, epsilon: float, flags: int) -> PrimitiveDesc:
        described = PropKind.FORWARD_TRAINING, self._tensor, self._tensor, self._moment, epsilon, flags
        return PrimitiveDesc("layer_normalization_forward", *described)

    @property
    def _tensor(self) -> MemoryDesc:
        return MemoryDesc.strided((self.blocks, self.width), (self.width, 1), self.dtype)

    @property
    def _moment(self) -> MemoryDesc:
        return MemoryDesc.strided((self.blocks,), (1,))

    def _rows(self, array: Array) -> DnnlMemory:
        """A contiguous tensor with a row for each block."""
        return DnnlMemory.of(array.reshape(self.blocks, -1))

    def _row(self, values: Array | None, otherwise: float, axes: int = 1) -> DnnlMemory:
        """Scales or shifts, as a row of a matrix if ``axes`` is 2; None: an array of the number ``otherwise``."""
        found: Array = np.full(self.width, otherwise, np.float32) if values is None else values
        return DnnlMemory.of(found.reshape((1, -1)[-axes:]))


def spans_blocks(x: Array, blocks: int, *affine: Array | None) -> bool:
    """True if each scale and shift in ``affine`` has a number for each element of a block of ``x``: its last axes are
    those of ``x``. One number for each channel is as many where a block has as many elements as there are channels."""
    given = [a for a in affine if a is not None]
    return all(a.size * blocks == x.size and x.shape[_leading(a) :] == a.shape[_leading(a) :] for a in given)


def _leading(a: Array) -> int:
    """The number of axes of extent 1 before all others."""
    return next((axis for axis, count in enumerate(a.shape) if count > 1), a.ndim)


def _invert_deviation(rstd: Array, epsilon: float) -> None:
    """Replace variances by 1 / sqrt(variance + epsilon)."""
    np.add(rstd, epsilon, out=rstd)
    np.sqrt(rstd, out=rstd)
    np.divide(1, rstd, out=rstd)
