"""Rows of a table by their number."""

from __future__ import annotations

from netpart.errors import DataError
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs, matrix


class Embedding(Verbs):
    """tokens int32 (...), w (V, D): rows ``first`` to ``first`` + V of a table of ``vocabulary``, y (..., D)."""

    def embedding(self, tokens: Array, w: Array, y: Array, first: int, vocabulary: int) -> Op:
        """y = w[token - first], 0 for a token that another part of the table has.

        ``run`` raises DataError if a token is in no part.
        """
        if not y.size:
            return NOTHING
        xp, y_nd, flat = self.xp, matrix(y, y.ndim - 1), tokens.reshape(-1)
        # What numpy does with a number out of range; cupy always clips, and knows no mode. Here none is.
        mode = {"mode": "clip"} if xp.__name__ == "numpy" else {}

        def run(rows: Array, foreign: Array, other: Array) -> None:
            self._check(tokens, vocabulary)
            self._place(flat, len(w), first, rows, foreign, other)
            xp.take(w, rows, axis=0, out=y_nd, **mode)
            xp.copyto(y_nd, 0, where=foreign.reshape(-1, 1))

        return Op(run, self._scratch(flat))

    def embedding_gradient(self, tokens: Array, dy: Array, dw: Array, first: int) -> Op:
        """Overwrites dw: each row is the sum of dy where its token stands."""
        if not dy.size:
            return Op(lambda: dw.fill(0))
        xp, dy_nd, flat = self.xp, matrix(dy, dy.ndim - 1), tokens.reshape(-1)

        def run(rows: Array, foreign: Array, other: Array, mine: Array) -> None:
            self._place(flat, len(dw), first, rows, foreign, other)
            xp.copyto(mine, dy_nd)
            xp.copyto(mine, 0, where=foreign.reshape(-1, 1))
            dw.fill(0)
            xp.add.at(dw, rows, mine)

        return Op(run, [*self._scratch(flat), (dy_nd.shape, self.dtype)])

    def _scratch(self, flat: Array) -> list[tuple[tuple[int, ...], object]]:
        return [(flat.shape, "int64"), (flat.shape, bool), (flat.shape, bool)]

    def _place(self, flat: Array, count: int, first: int, rows: Array, foreign: Array, other: Array) -> None:
        """Writes the row of each token, and whether it lies outside the ``count`` rows that are here."""
        xp = self.xp
        xp.subtract(flat, first, out=rows)
        xp.less(rows, 0, out=foreign)
        xp.greater_equal(rows, count, out=other)
        xp.logical_or(foreign, other, out=foreign)
        xp.clip(rows, 0, count - 1, out=rows)

    def _check(self, tokens: Array, vocabulary: int) -> None:
        low, high = int(tokens.min()), int(tokens.max())
        if low < 0 or high >= vocabulary:
            got = low if low < 0 else high
            raise DataError(
                f"token: expected 0 to {vocabulary - 1}, got {got}; check the store, or set vocab_size to what it has"
            )
