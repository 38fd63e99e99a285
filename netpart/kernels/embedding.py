"""Embedding: rows of a table, looked up by their number."""

from __future__ import annotations

from typing import Any

from netpart.errors import DataError
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs, as_matrix


class Embedding(Verbs):
    """tokens int32 (...); w (V, D): rows ``first`` to ``first`` + V of a table of ``vocabulary`` rows; y (..., D)."""

    def embedding(self, tokens: Array, w: Array, y: Array, first: int, vocabulary: int) -> Op:
        """y = w[token - first], 0 for a token whose row is in another part of the table.

        ``run`` raises DataError if a token is in no part.
        """
        if not y.size:
            return NOTHING
        xp = self.xp
        y_nd = as_matrix(y, y.ndim - 1)
        flat = tokens.reshape(-1)
        mode = _clip_mode(xp)

        def run(rows: Array, foreign: Array, other: Array) -> None:
            self._check(tokens, vocabulary)
            self._place(flat, len(w), first, rows, foreign, other)
            xp.take(w, rows, axis=0, out=y_nd, **mode)
            xp.copyto(y_nd, 0, where=foreign.reshape(-1, 1))

        return Op(run, self._scratch(flat))

    def embedding_gradient(self, tokens: Array, dy: Array, dw: Array, first: int) -> Op:
        """Overwrite dw: each row becomes the sum of dy over the positions of its token."""
        if not dy.size:
            return Op(lambda: dw.fill(0))
        xp = self.xp
        dy_nd = as_matrix(dy, dy.ndim - 1)
        flat = tokens.reshape(-1)
        numbers = xp.arange(tokens.size)
        add = _add_sorted if xp.__name__ == "numpy" else _add_at

        def run(rows: Array, foreign: Array, other: Array, mine: Array, *scratch: Array) -> None:
            self._place(flat, len(dw), first, rows, foreign, other)
            xp.copyto(mine, dy_nd)
            xp.copyto(mine, 0, where=foreign.reshape(-1, 1))
            dw.fill(0)
            add(xp, dw, rows, mine, numbers, other, *scratch)

        return Op(run, [*self._scratch(flat), *[(dy_nd.shape, self.dtype)] * 2, (flat.shape, "int64")])

    def _scratch(self, flat: Array) -> list[tuple[tuple[int, ...], object]]:
        return [(flat.shape, "int64"), (flat.shape, bool), (flat.shape, bool)]

    def _place(self, flat: Array, count: int, first: int, rows: Array, foreign: Array, other: Array) -> None:
        """Write each token's row, clipped to the ``count`` rows of this part, and whether it is outside them."""
        xp = self.xp
        xp.subtract(flat, first, out=rows)
        xp.less(rows, 0, out=foreign)
        xp.greater_equal(rows, count, out=other)
        xp.logical_or(foreign, other, out=foreign)
        xp.clip(rows, 0, count - 1, out=rows)

    def _check(self, tokens: Array, vocabulary: int) -> None:
        low = int(tokens.min())
        high = int(tokens.max())
        if low < 0 or high >= vocabulary:
            raise DataError(describe_bad_token(low if low < 0 else high, vocabulary))


def describe_bad_token(token: int, vocabulary: int) -> str:
    """The error text for ``token``."""
    hint = "check the store, or set vocab_size to its number of different tokens"
    return f"token: expected 0 to {vocabulary - 1}, got {token}; {hint}"


def _add_at(xp: Any, dw: Array, rows: Array, dy: Array, *_: Array) -> None:
    xp.add.at(dw, rows, dy)


def _add_sorted(
    xp: Any, dw: Array, rows: Array, dy: Array, numbers: Array, begins: Array, ordered: Array, order: Array
) -> None:
    """As ``_add_at``, but several times as fast on a CPU. Overwrites all arrays but ``numbers``, 0 to len(dy) - 1."""
    # The position of the token is part of the sort key, so that the rows of dy of one token are added in one order
    # in every run, although sort() is not stable.
    xp.multiply(rows, len(rows), out=rows)
    xp.add(rows, numbers, out=rows)
    rows.sort()
    xp.remainder(rows, len(rows), out=order)
    xp.floor_divide(rows, len(rows), out=rows)
    xp.take(dy, order, axis=0, out=ordered, mode="clip")
    begins[0] = True
    xp.not_equal(rows[1:], rows[:-1], out=begins[1:])
    found = int(xp.count_nonzero(begins))
    # dy is free by now, as ``ordered`` has its rows: its first rows take the sums.
    xp.add.reduceat(ordered, xp.flatnonzero(begins), axis=0, out=dy[:found])
    dw[rows[begins]] = dy[:found]


def _clip_mode(xp: Any) -> dict[str, str]:
    """The arguments that make numpy's take clip; cupy always clips and has no such argument. All numbers are in range:
    the mode only keeps numpy from buffering the output."""
    return {"mode": "clip"} if xp.__name__ == "numpy" else {}
