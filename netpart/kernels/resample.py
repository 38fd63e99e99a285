"""Interpolation along the spatial axes, axis by axis: for each a product with a small matrix (outputs, inputs)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs
from netpart.spec import Shape


class Resample(Verbs):
    """x (B, C, *in), y (B, C, *out), weights: per spatial axis (out, in)."""

    def resample(self, x: Array, y: Array, weights: Sequence[Array], transpose: bool = False) -> Op:
        """y = x with every axis multiplied by its weights; with ``transpose`` x, a gradient, is computed from y's."""
        if not x.size or not y.size:
            return NOTHING if not transpose else Op(lambda: x.fill(0))
        stages = _stage_shapes(x.shape, [len(w) for w in weights])
        order = range(len(weights))

        def run(*between: Array) -> None:
            arrays = [x, *between, y]
            for axis in reversed(order) if transpose else order:
                source, target = (arrays[axis + 1], arrays[axis]) if transpose else (arrays[axis], arrays[axis + 1])
                self._along(axis + 2, source, target, weights[axis].T if transpose else weights[axis])

        return Op(run, [(shape, self.dtype) for shape in stages])

    def _along(self, axis: int, source: Array, target: Array, w: Array) -> None:
        """Multiply one axis, with the axes before it as a batch and those after it as columns."""
        views = [a.reshape(prod(a.shape[:axis]), a.shape[axis], prod(a.shape[axis + 1 :])) for a in (source, target)]
        if views[0].shape[2] == 1:  # one large product instead of a batch of products with a single column
            self.xp.matmul(views[0][:, :, 0], w.T, out=views[1][:, :, 0])
        else:
            self.xp.matmul(w, views[0], out=views[1])


def _stage_shapes(x: Shape, outputs: Sequence[int]) -> list[Shape]:
    """The shapes between two axes' products, from the first axis to the last."""
    return [(*x[:2], *outputs[:done], *x[2 + done :]) for done in range(1, len(outputs))]
