"""Scaled dot-product attention: fused, or, where rows are too wide for that, products by cuBLAS."""

from __future__ import annotations

from math import prod

from netpart.kernels import attention
from netpart.kernels.arguments import AttentionArguments
from netpart.kernels.cuda.fused_attention import FusedAttention
from netpart.kernels.cuda.launch import Launchable, LaunchScratch
from netpart.kernels.cuda.operand import Operand
from netpart.kernels.cuda.products import ProductVerbs
from netpart.kernels.cuda.tiles import WIDEST
from netpart.kernels.op import Array, Op, chain_ops
from netpart.spec import Shape

WARP = 32


class Attention(attention.Attention, FusedAttention, ProductVerbs):
    """q (..., T, D), k (..., S, D), v (..., S, E), y (..., T, E), p (..., T, S), or (..., T) where it is fused."""

    @classmethod
    def attention_keeps(cls, pairs: Shape, width: int, values: int) -> Shape:
        """The shape of p: a number for each query, or the probabilities ``pairs`` where rows are too wide for tiles."""
        return pairs[:-1] if max(width, values) <= WIDEST else pairs

    def attention(self, a: AttentionArguments) -> Op:
        """y = p v with p = softmax(scale · q kᵀ); query i sees the keys up to ``first`` + i."""
        if not a.y.size or not a.k.shape[-2]:
            return self.zeroed(a.y)
        if a.p.ndim < a.q.ndim:
            return self.fused_attention(a)
        rows = prod(a.p.shape[:-1])
        (queries, keys) = a.p.shape[-2:]
        seen = -1 if a.first is None else a.first
        args = a.p, rows, queries, keys, float(a.scale), seen
        return chain_ops(
            self.product(a.q, a.k.swapaxes(-1, -2), a.p),
            self.launch("attention.cu", "probabilities", rows * WARP, *args),
            self.product(a.p, a.v, a.y),
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
        if dv is not None:
            launches += blas.product(p.swapaxes(-1, -2), dy, dv)
        if dq is not None or dk is not None:
            launches += blas.product(dy, a.v.swapaxes(-1, -2), dp)
            args = dp, p, rows, p.shape[-1], float(a.scale)
            launches.append(self.bound("attention.cu", "probabilities_gradient", rows * WARP, *args))
        if dq is not None:
            launches += blas.product(dp, a.k, dq)
        if dk is not None:
            launches += blas.product(Operand.of(dp).turned, a.q, dk)
        return self.launches(*launches)
