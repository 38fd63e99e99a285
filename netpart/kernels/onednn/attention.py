"""Scaled dot-product attention in blocks of queries, each with the keys that its last query sees."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from netpart.kernels import attention as reference
from netpart.kernels.arguments import AttentionArguments
from netpart.kernels.attention import mask_of_keys
from netpart.kernels.onednn.activation_calls import add_binary
from netpart.kernels.onednn.attention_blocks import BlockScores, KeyGradient
from netpart.kernels.onednn.calls import Calls, OneDnnVerbs
from netpart.kernels.onednn.memory import DnnlMemory
from netpart.kernels.onednn.names import Algorithm
from netpart.kernels.onednn.products import add_matmul, matmul_memory
from netpart.kernels.onednn.softmax import add_softmax, add_softmax_gradient
from netpart.kernels.onednn.widening import widened_op
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import scratch_view

ROWS = 64
"""Queries of a block: smaller blocks compute fewer masked scores, larger ones make larger products."""


class QueryBlock(NamedTuple):
    """Queries ``lo`` to ``hi``, which see ``keys`` keys; their distributions begin at element ``start`` of p."""

    lo: int
    hi: int
    keys: int
    start: int


class Attention(reference.Attention, OneDnnVerbs):
    """The verbs of the reference. p holds block after block, each without the keys that none of its queries sees.

    The gradient overwrites p. The reference cannot read p in this order, so oneDNN does both verbs or neither. With
    dropout it does neither.
    """

    def attention(self, a: AttentionArguments) -> Op:
        """y = p v with p = softmax(scale · q kᵀ)."""
        if a.dropout is not None:
            return widened_op(super().attention, (a,))

        def describe(calls: Calls) -> None:
            # On calls that are dropped: forward has to be refused if the gradient would be.
            self._gradient(Calls(self.stream), a, a.y, a.q, a.k, a.v)
            self._attention(calls, a)

        return self.attempt(describe, super().attention, a)

    def attention_gradient(
        self, a: AttentionArguments, dy: Array, dq: Array | None, dk: Array | None, dv: Array | None
    ) -> Op:
        """Overwrite the wanted gradients."""
        if a.dropout is not None:
            return widened_op(super().attention_gradient, (a, dy, dq, dk, dv))

        def describe(calls: Calls) -> None:
            # What forward checked, so that both decide alike: all gradients, although some may not be wanted.
            self._attention(Calls(self.stream), a._replace(y=dy))
            self._gradient(Calls(self.stream), a, dy, a.q, a.k, a.v)
            self._gradient(calls, a, dy, dq, dk, dv)

        return self.attempt(describe, super().attention_gradient, a, dy, dq, dk, dv)

    def _attention(self, calls: Calls, a: AttentionArguments) -> None:
        for block in _query_blocks(a.p, a.first):
            weights = _block_distributions(a.p, block)
            rows = _row_slice(block.lo, block.hi)
            seen = _row_slice(0, block.keys)
            p_rk = matmul_memory(weights)
            turned = matmul_memory(a.k[seen].swapaxes(-1, -2))
            scores = BlockScores(calls, weights)
            add_matmul(calls, matmul_memory(a.q[rows]), turned, scores.memory, scale=a.scale)
            if a.first is not None:
                self._hide(calls, scores, a.first + block.lo)
            if a.mask is None:
                add_softmax(calls, scores.memory, p_rk, weights.ndim - 1)
            else:
                self._add_masked_softmax(calls, a.mask[:, : block.keys], a.pad, scores, weights)
            add_matmul(calls, p_rk, matmul_memory(a.v[seen]), matmul_memory(a.y[rows]))

    def _add_masked_softmax(self, calls: Calls, mask: Array, pad: int, scores: BlockScores, weights: Array) -> None:
        """Append weights = softmax of scores, without the keys that have ``pad`` in the mask; 0 if no key is left."""
        xp = self.xp
        mask = mask_of_keys(mask, weights.ndim)
        padding = xp.empty(mask.shape, bool)
        # Not -inf: without any key, the softmax would be 0 / 0.
        lowest = float(xp.finfo(self.dtype).min)

        def hide(array: Array, value: float) -> None:
            xp.equal(mask, pad, out=padding)
            xp.copyto(array, value, where=padding)

        calls.then(lambda: hide(scores.array, lowest))
        add_softmax(calls, scores.memory, matmul_memory(weights), weights.ndim - 1)
        calls.then(lambda: hide(weights, 0))

    def _hide(self, calls: Calls, scores: BlockScores, first: int) -> None:
        """Append scores = -inf for the keys after ``first`` + i of each query i."""
        xp = self.xp
        (rows, keys) = scores.shape[-2:]
        if first + 1 < keys:
            future = xp.arange(keys) > first + xp.arange(rows).reshape(-1, 1)
            hidden = xp.where(future, -xp.inf, 0).astype(self.dtype)
            # All keys, although the first are seen by all: NumPy takes longer for those that are not.
            corner = DnnlMemory.of(hidden.reshape((1,) * (len(scores.shape) - 2) + hidden.shape))
            add_binary(calls, Algorithm.BINARY_ADD, scores.memory, corner, scores.memory)

    def _gradient(
        self, calls: Calls, a: AttentionArguments, dy: Array, dq: Array | None, dk: Array | None, dv: Array | None
    ) -> None:
        """Append the gradients. The last block, which sees all keys, is first and overwrites; the others add."""
        blocks = _query_blocks(a.p, a.first)
        values, keys = (None if d is None else KeyGradient(calls, d, len(blocks)) for d in (dv, dk))
        for block in reversed(blocks):
            weights = _block_distributions(a.p, block)
            add = block.hi < a.q.shape[-2]
            rows = _row_slice(block.lo, block.hi)
            seen = _row_slice(0, block.keys)
            dy_re = matmul_memory(dy[_row_slice(block.lo, block.hi)])
            p_rk = matmul_memory(weights)
            p_kr = matmul_memory(weights.swapaxes(-1, -2))
            if values is not None:
                add_matmul(calls, p_kr, dy_re, values.rows(block.keys), add=add)
            if dq is not None or dk is not None:
                dp = calls.temporary(p_rk.desc)
                add_matmul(calls, dy_re, matmul_memory(a.v[seen].swapaxes(-1, -2)), dp, scale=a.scale)
                add_softmax_gradient(calls, p_rk, dp, p_rk, weights.ndim - 1)
            if dq is not None:
                add_matmul(calls, p_rk, matmul_memory(a.k[seen]), matmul_memory(dq[rows]))
            if keys is not None:
                add_matmul(calls, p_kr, matmul_memory(a.q[rows]), keys.rows(block.keys), add=add)
        for total in (values, keys):
            if total is not None:
                total.finish()


def _query_blocks(p: Array, first: int | None) -> list[QueryBlock]:
    """The blocks of p (..., queries, keys), where query i sees the keys up to ``first`` + i; None: all keys.

    The last block is given all keys, so that the gradient of each key is written.
    """
    *lead, queries, keys = p.shape
    made = []
    start = 0
    step = queries if first is None else ROWS
    for lo in range(0, queries, step):
        hi = min(lo + step, queries)
        seen = keys if first is None or hi == queries else min(keys, first + hi)
        made.append(QueryBlock(lo, hi, seen, start))
        start += prod(lead) * (hi - lo) * seen
    return made


def _block_distributions(p: Array, block: QueryBlock) -> Array:
    """The block's part of p: (..., its queries, its keys)."""
    # In the order of memory: a reshape would copy where the heads lie in rows.
    memory = p.ravel(order="K")
    return scratch_view(memory[block.start :], *p.shape[:-2], block.hi - block.lo, block.keys)


def _row_slice(lo: int, hi: int) -> tuple[Any, ...]:
    return ..., slice(lo, hi), slice(None)
