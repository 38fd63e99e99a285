"""Embedding: rows of a table, looked up by their number."""

from __future__ import annotations

from netpart.kernels import embedding
from netpart.kernels.cuda.moves import MoveVerbs
from netpart.kernels.cuda.row_kernels import RowVerbs
from netpart.kernels.embedding import describe_bad_token
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.verbs import NOTHING, as_matrix


class Embedding(embedding.Embedding, MoveVerbs, RowVerbs):
    """tokens int32 (...); w (V, D): rows ``first`` to ``first`` + V of a table of ``vocabulary`` rows; y (..., D)."""

    def embedding(self, tokens: Array, w: Array, y: Array, first: int, vocabulary: int) -> Op:
        """y = w[token - first], 0 for a token whose row is in another part of the table.

        A token that is in no part is recorded in the complaints of the device, and its row of y is NaN.
        """
        if not y.size:
            return NOTHING
        y_nd = as_matrix(y, y.ndim - 1)
        args = (len(w), w.shape[1], first, vocabulary)
        wrong = self.device.complaints.add(lambda token: describe_bad_token(token, vocabulary))
        return self.launches(
            self.rows("embedding.cu", "embedding", *y_nd.shape, tokens, as_matrix(w), y_nd, len(y_nd), *args, wrong)
        )

    def embedding_gradient(self, tokens: Array, dy: Array, dw: Array, first: int) -> Op:
        """Overwrite dw: each row becomes the sum of dy over the positions of its token, added in their order."""
        if not dy.size:
            return self.zeroed(dw)
        dy_nd = as_matrix(dy, dy.ndim - 1)
        args = (len(dw), dw.shape[1], first)
        add = self.rows(
            "embedding.cu", "embedding_gradient", *dy_nd.shape, tokens, dy_nd, as_matrix(dw), len(dy_nd), *args
        )
        return chain_ops(self.zeroed(dw), self.launches(add))
