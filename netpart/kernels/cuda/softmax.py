"""Softmax over the features of each row: one kernel forward and one for the gradient."""

from __future__ import annotations

from netpart.kernels import softmax
from netpart.kernels.cuda.row_kernels import RowVerbs
from netpart.kernels.op import Array, Op
from netpart.kernels.softmax import axis_between, group_rows
from netpart.kernels.verbs import NOTHING


class Softmax(softmax.Softmax, RowVerbs):
    """x, y, dy, dx (B, *F), with F flattened; ``groups`` softmaxes per row, each over consecutive features."""

    def softmax(self, x: Array, y: Array, groups: int = 1) -> Op:
        """y = exp(x) / Σ exp(x) within each group."""
        return self._groups("softmax", groups, x, y)

    def softmax_gradient(self, y: Array, dy: Array, dx: Array, groups: int = 1) -> Op:
        """Overwrite dx = y · (dy - Σ dy·y)."""
        return self._groups("softmax_gradient", groups, y, dy, dx)

    def softmax_along(self, x: Array, y: Array, axis: int) -> Op:
        """y = exp(x) / Σ exp(x) along ``axis``."""
        return self._softmaxes_along("softmax_along", axis, x, y)

    def softmax_along_gradient(self, y: Array, dy: Array, dx: Array, axis: int) -> Op:
        """Overwrite dx = y · (dy - Σ dy·y along ``axis``)."""
        return self._softmaxes_along("softmax_along_gradient", axis, y, dy, dx)

    def _softmaxes_along(self, name: str, axis: int, *arrays: Array) -> Op:
        if not arrays[0].size:
            return NOTHING
        found = [axis_between(array, axis) for array in arrays]
        outer, extent, inner = found[0].shape
        return self.launch("softmax.cu", name, outer * inner, *found, outer, extent, inner)

    def _groups(self, name: str, groups: int, *arrays: Array) -> Op:
        if not arrays[0].size:
            return NOTHING
        found = [group_rows(array, groups) for array in arrays]
        rows, columns = found[0].shape
        return self.launches(self.rows("softmax.cu", name, rows, columns, *found, rows, columns))
