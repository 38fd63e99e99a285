"""Softmax over the features of each row."""

from __future__ import annotations

from math import prod
from typing import Any

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs, as_matrix


class Softmax(Verbs):
    """x, y, dy, dx (B, *F), with F flattened; ``groups`` softmaxes per row, each over consecutive features."""

    def softmax(self, x: Array, y: Array, groups: int = 1) -> Op:
        """y = exp(x) / Σ exp(x) within each group."""
        if not y.size:
            return NOTHING
        xp = self.xp
        x_gf = group_rows(x, groups)
        y_gf = group_rows(y, groups)
        return Op(lambda peak: _write_probabilities(xp, x_gf, y_gf, peak), [((len(x_gf), 1), self.dtype)])

    def softmax_gradient(self, y: Array, dy: Array, dx: Array, groups: int = 1) -> Op:
        """Overwrite dx = y · (dy - Σ dy·y)."""
        if not dx.size:
            return NOTHING
        xp = self.xp
        y_gf = group_rows(y, groups)
        dy_gf = group_rows(dy, groups)
        dx_gf = group_rows(dx, groups)

        def run(total: Array) -> None:
            xp.multiply(dy_gf, y_gf, out=dx_gf)
            xp.sum(dx_gf, axis=1, keepdims=True, out=total)
            xp.subtract(dy_gf, total, out=dx_gf)
            xp.multiply(dx_gf, y_gf, out=dx_gf)

        return Op(run, [((len(y_gf), 1), self.dtype)])

    def softmax_along(self, x: Array, y: Array, axis: int) -> Op:
        """y = exp(x) / Σ exp(x) along ``axis``. Along the last axis ``softmax`` with groups is faster."""
        if not y.size:
            return NOTHING
        xp = self.xp
        x_oni, y_oni = axis_between(x, axis), axis_between(y, axis)
        return Op(lambda peak: _write_probabilities(xp, x_oni, y_oni, peak), [(_one_along(x_oni), self.dtype)])

    def softmax_along_gradient(self, y: Array, dy: Array, dx: Array, axis: int) -> Op:
        """Overwrite dx = y · (dy - Σ dy·y along ``axis``)."""
        if not dx.size:
            return NOTHING
        xp = self.xp
        y_oni, dy_oni, dx_oni = (axis_between(a, axis) for a in (y, dy, dx))

        def run(total: Array) -> None:
            xp.multiply(dy_oni, y_oni, out=dx_oni)
            xp.sum(dx_oni, axis=1, keepdims=True, out=total)
            xp.subtract(dy_oni, total, out=dx_oni)
            xp.multiply(dx_oni, y_oni, out=dx_oni)

        return Op(run, [(_one_along(y_oni), self.dtype)])


def axis_between(a: Array, axis: int) -> Array:
    """A view (outer, n, inner) of ``a``, where n is the extent of ``axis``."""
    return as_matrix(a, axis).reshape(-1, a.shape[axis], prod(a.shape[axis + 1 :]))


def _one_along(a: Array) -> tuple[int, int, int]:
    """The shape of ``a`` (outer, n, inner) with n = 1."""
    return len(a), 1, a.shape[2]


def _write_probabilities(xp: Any, x_gf: Array, y_gf: Array, peak: Array) -> None:
    """Write the softmax along axis 1 of ``x_gf`` to ``y_gf``; ``peak``, of extent 1 on that axis, is scratch."""
    xp.max(x_gf, axis=1, keepdims=True, out=peak)
    xp.subtract(x_gf, peak, out=y_gf)
    xp.exp(y_gf, out=y_gf)
    xp.sum(y_gf, axis=1, keepdims=True, out=peak)
    xp.divide(y_gf, peak, out=y_gf)


def group_rows(a: Array, groups: int) -> Array:
    """A view of ``a`` (B, *F) with a row for each group. Raises ValueError unless all groups have one size."""
    rows, features = as_matrix(a).shape
    if features % groups:
        raise ValueError(f"softmax: expected features divisible by {groups} groups, got {features}")
    return as_matrix(a).reshape(rows * groups, features // groups)
