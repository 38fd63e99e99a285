"""Normalisation of blocks of features; keeps the same arrays for the gradient as the reference."""

from __future__ import annotations

from netpart.kernels import normalisation as reference
from netpart.kernels.arguments import NormaliseArguments, NormaliseGradientArguments
from netpart.kernels.bfloat16 import is_bfloat16
from netpart.kernels.combine import stretched_axes
from netpart.kernels.onednn.calls import Args, Calls, OneDnnVerbs
from netpart.kernels.onednn.library import OneDnnRefused
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Arg, PropKind
from netpart.kernels.onednn.primitive import PrimitiveDesc
from netpart.kernels.onednn.row_norm import RowNorm, spans_blocks
from netpart.kernels.op import Array, Box, Op


class Normalisation(reference.Normalisation, OneDnnVerbs):
    """The verbs of the reference, for y of whole blocks whose mean is subtracted."""

    def normalise(self, a: NormaliseArguments) -> Op:
        """y = unit · w + b with unit = (x - mean) · rstd, rstd = 1 / sqrt(variance + epsilon)."""
        xp = self.xp
        rstd = a.rstd

        def describe(calls: Calls) -> None:
            if is_bfloat16(a.x) or spans_blocks(a.x, a.blocks, a.w, a.b):
                return RowNorm(calls, a.unit, a.own, a.blocks, a.centred, a.w, a.b).normalise(a)
            source = _block_rows(a.x, a.y, a.blocks, a.centred)
            unit_bn = _block_rows(a.unit, a.y, a.blocks, a.centred)
            mean = calls.temporary(MemoryDesc.strided((a.blocks,), (1,)))
            variance = DnnlMemory.of(rstd.reshape(a.blocks))
            given: Args = {Arg.SRC: source, Arg.DST: unit_bn, Arg.MEAN: mean, Arg.VARIANCE: variance}
            calls.add(_layer_norm_forward(source.desc, variance.desc, a.epsilon), given)
            calls.then(finish)

        def finish() -> None:
            xp.add(rstd, a.epsilon, out=rstd)
            xp.sqrt(rstd, out=rstd)
            xp.divide(1, rstd, out=rstd)
            xp.multiply(a.unit, 1 if a.w is None else a.w, out=a.y)
            if a.b is not None:
                xp.add(a.y, a.b, out=a.y)

        return self.attempt(describe, super().normalise, a)

    def normalise_backward(self, a: NormaliseGradientArguments) -> Op:
        """All gradients that are wanted, at once if dx is one of them."""
        blocks = len(a.rstd)
        apart = a.dx is None or (a.dw is None and a.db is None)
        if apart or not (is_bfloat16(a.dy) or spans_blocks(a.unit, blocks, a.w, a.dw, a.db)):
            return super().normalise_backward(a)

        def describe(calls: Calls) -> None:
            norm = RowNorm(calls, a.unit, a.own, blocks, a.centred, a.w, a.dw, a.db)
            norm.gradient(a.unit, a.rstd, a.w, a.dy, a.dx, a.dw, a.db, a.add)

        return self.attempt(describe, super().normalise_backward, a)

    def normalise_gradient(
        self, unit: Array, rstd: Array, w: Array | None, dy: Array, dx: Array, own: Box, centred: bool,
        add: bool = False,
    ) -> Op:  # fmt: skip
        """Overwrite dx = rstd · (g - mean g - unit · mean (g · unit)) with g = dy · w, or add it, as the reference."""
        xp, blocks = self.xp, len(rstd)
        rows = is_bfloat16(dy) or spans_blocks(unit, blocks, w)
        if add and not rows:
            return super().normalise_gradient(unit, rstd, w, dy, dx, own, centred, add)

        def describe(calls: Calls) -> None:
            if rows:
                return RowNorm(calls, unit, own, blocks, centred, w).gradient(unit, rstd, w, dy, dx, add=add)
            source = _block_rows(unit, dy, blocks, centred)
            target = _block_rows(dx, dy, blocks, centred)
            # What is normalised already has mean 0 and variance 1.
            mean, variance = (DnnlMemory.of(xp.full(blocks, value, self.dtype)) for value in (0, 1))
            described = target.desc, target.desc, source.desc, mean.desc, 0.0, 0
            forward = _layer_norm_forward(source.desc, mean.desc, 0.0)
            desc = PrimitiveDesc("layer_normalization_backward", PropKind.BACKWARD_DATA, *described, forward)
            given: Args = {Arg.SRC: source, Arg.MEAN: mean, Arg.VARIANCE: variance}
            calls.then(lambda: xp.multiply(dy, 1 if w is None else w, out=dx))
            calls.add(desc, {**given, Arg.DIFF_DST: target, Arg.DIFF_SRC: target})
            dx_bn = dx.reshape(blocks, -1)
            calls.then(lambda: xp.multiply(dx_bn, rstd, out=dx_bn))

        args = unit, rstd, w, dy, dx, own, centred, add
        return self.attempt(describe, super().normalise_gradient, *args)

    def normalise_parameters(self, unit: Array, dy: Array, dw: Array | None, db: Array | None, own: Box) -> Op:
        """Overwrite dw = Σ dy · unit and db = Σ dy, if they have a number for each element of a block."""
        args = unit, dy, dw, db, own
        last = next((d for d in (dw, db) if d is not None), dy)
        blocks = dy.size // max(1, last.size)
        axes = stretched_axes(last, dy)
        if not is_bfloat16(dy) and axes != tuple(range(len(axes))):
            return super().normalise_parameters(*args)

        def describe(calls: Calls) -> None:
            RowNorm(calls, unit, own, blocks, True, dw, db).parameters(unit, dy, dw, db)

        return self.attempt(describe, super().normalise_parameters, *args)


def _block_rows(x: Array, y: Array, blocks: int, centred: bool) -> DnnlMemory:
    """Contiguous ``x`` with a row for each block. Raises OneDnnRefused unless ``centred`` and y covers all of x."""
    if not centred or y.shape != x.shape or not x.size:
        raise OneDnnRefused(f"oneDNN: expected whole blocks with a mean, got {x.shape} for {y.shape}")
    return DnnlMemory.of(x.reshape(blocks, -1))


def _layer_norm_forward(x: MemoryDesc, moments: MemoryDesc, epsilon: float) -> PrimitiveDesc:
    return PrimitiveDesc("layer_normalization_forward", PropKind.FORWARD_TRAINING, x, x, moments, epsilon, 0)
