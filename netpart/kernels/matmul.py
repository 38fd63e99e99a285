"""Matrix products of batches of matrices."""

from __future__ import annotations

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs


class Matmul(Verbs):
    """a, b, y: (..., rows, columns), with the same leading axes."""

    def matmul(self, a: Array, b: Array, y: Array, transpose_a: bool = False, transpose_b: bool = False) -> Op:
        """y = a b, after transposing a if ``transpose_a`` and b if ``transpose_b``."""
        if not y.size:
            return NOTHING
        left, right = (x.swapaxes(-1, -2) if t else x for x, t in ((a, transpose_a), (b, transpose_b)))
        return Op(lambda: self.xp.matmul(left, right, out=y))
