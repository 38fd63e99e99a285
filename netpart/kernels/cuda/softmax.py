"""Softmax over the features of each row: one kernel forward and one for the gradient."""

from __future__ import annotations

from netpart.kernels import softmax
from netpart.kernels.cuda.row_kernels import RowVerbs
from netpart.kernels.op import Array, Op
from netpart.kernels.softmax import group_rows
from netpart.kernels.verbs import NOTHING


class Softmax(softmax.Softmax, RowVerbs):
    """x, y, dy, dx (B, *F), with F flattened; ``groups`` softmaxes per row, each over consecutive features."""

    def softmax(self, x: Array, y: Array, groups: int = 1) -> Op:
        """y = exp(x) / Σ exp(x) within each group."""
        return self._groups("softmax", groups, x, y)

    def softmax_gradient(self, y: Array, dy: Array, dx: Array, groups: int = 1) -> Op:
        """Overwrite dx = y · (dy - Σ dy·y)."""
        return self._groups("softmax_gradient", groups, y, dy, dx)

    def _groups(self, name: str, groups: int, *arrays: Array) -> Op:
        if not arrays[0].size:
            return NOTHING
        found = [group_rows(array, groups) for array in arrays]
        rows, columns = found[0].shape
        return self.launches(self.rows("softmax.cu", name, rows, columns, *found, rows, columns))
