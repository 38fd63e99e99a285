"""Scaled dot-product attention: fused, or, where rows are too wide for that, products by cuBLAS."""

from __future__ import annotations

from math import prod

from netpart.kernels import attention
from netpart.kernels.arguments import AttentionArguments
from netpart.kernels.cuda.dropout import Dropout
from netpart.kernels.cuda.fused_attention import FusedAttention
from netpart.kernels.cuda.launch import Launchable, LaunchScratch
from netpart.kernels.cuda.operand import Operand
from netpart.kernels.cuda.products import ProductVerbs
from netpart.kernels.cuda.tiles import WIDEST
from netpart.kernels.op import Array, Op, chain_ops
from netpart.spec import Shape

WARP = 32


class Attention(Dropout, attention.Attention, FusedAttention, ProductVerbs):
    """q (..., T, D), k (..., S, D), v (..., S, E), y (..., T, E), p (..., T, S), or (..., T) where it is fused."""

    @classmethod
    def attention_keeps(cls, pairs: Shape, width: int, values: int, drops: bool = False) -> Shape:
        """The shape of p: a number for each query, or the probabilities ``pairs`` where rows are too wide for tiles.

        With dropout it is ``pairs`` too: the fused kernels draw no random numbers.
        """
        return pairs[:-1] if max(width, values) <= WIDEST and not drops else pairs

    def attention(self, a: AttentionArguments) -> Op:
        """y = p v with p = softmax(scale · q kᵀ), of the keys that each query sees; with dropout of p."""
        if not a.y.size or not a.k.shape[-2]:
            return self.zeroed(a.y)
        if a.p.ndim < a.q.ndim:
            return self.fused_attention(a)
        rows = prod(a.p.shape[:-1])
        (queries, keys) = a.p.shape[-2:]
        seen = -1 if a.first is None else a.first
        hidden = self.hidden_keys(a)
        args = a.p, rows, queries, keys, float(a.scale), seen, hidden, rows // len(a.p)
        flags, softmax = self.flag_keys(a, hidden), self.bound("attention.cu", "probabilities", rows * WARP, *args)
        drop = a.dropout
        weights = a.p if drop is None else drop.weights
        return chain_ops(
            self.product(a.q, a.k.swapaxes(-1, -2), a.p),
            self.launches(flags, softmax),
            # The verb writes the factors first and then, over them, the product: nothing reads the factors later.
            *([] if drop is None else [self.dropout(a.p, weights, weights, drop.draw, drop.ratio, drop.clock)]),
            self.product(weights, a.v, a.y),
        )

    def attention_gradient(
        self, a: AttentionArguments, dy: Array, dq: Array | None, dk: Array | None, dv: Array | None
    ) -> Op:
        """Overwrite the wanted gradients."""
        p = a.p
        if not a.k.shape[-2] or not dy.size:
            return chain_ops(*(self.zeroed(dx) for dx in (dq, dk, dv) if dx is not None))
        if p.ndim < a.q.ndim:
            return self.fused_attention_gradient(a, dy, dq, dk, dv)
        dq, dk = (dx if dx is not None and dx.size else None for dx in (dq, dk))
        launches: list[Launchable | None] = []
        blas = self.device.blas
        rows = prod(p.shape[:-1])
        dp = LaunchScratch(p.shape, self.dtype)
        w = p if a.dropout is None else a.dropout.weights
        if dv is not None:
            launches += blas.product(w.swapaxes(-1, -2), dy, dv)
        if dq is not None or dk is not None:
            launches += blas.product(dy, a.v.swapaxes(-1, -2), dp)
            args = dp, p, None if w is p else w, rows, p.shape[-1], float(a.scale)
            launches.append(self.bound("attention.cu", "probabilities_gradient", rows * WARP, *args))
        if dq is not None:
            launches += blas.product(dp, a.k, dq)
        if dk is not None:
            launches += blas.product(Operand.of(dp).turned, a.q, dk)
        return self.launches(*launches)
