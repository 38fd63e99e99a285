"""Scaled dot-product attention: fused, or, where rows are too wide for that, products by cuBLAS."""

from __future__ import annotations

from math import prod

from netpart.kernels import attention
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
        """A number for each query; the probabilities ``pairs`` where rows are too wide for tiles."""
        return pairs[:-1] if max(width, values) <= WIDEST else pairs

    def attention(self, q: Array, k: Array, v: Array, y: Array, p: Array, scale: float, first: int | None) -> Op:
        """y = p v with p = softmax(scale · q kᵀ); query i sees the keys up to ``first`` + i."""
        if not y.size or not k.shape[-2]:
            return self.zeroed(y)
        if p.ndim < q.ndim:
            return self.fused_attention(q, k, v, y, p, scale, first)
        rows = prod(p.shape[:-1])
        (queries, keys) = p.shape[-2:]
        seen = -1 if first is None else first
        args = p, rows, queries, keys, float(scale), seen
        return chain_ops(
            self.product(q, k.swapaxes(-1, -2), p),
            self.launch("attention.cu", "probabilities", rows * WARP, *args),
            self.product(p, v, y),
        )

    def attention_gradient(
        self, q: Array, k: Array, v: Array, y: Array, p: Array, dy: Array, dq: Array | None, dk: Array | None,
        dv: Array | None, scale: float, first: int | None = None,
    ) -> Op:  # fmt: skip
        """Overwrites the wanted gradients."""
        if not k.shape[-2] or not dy.size:
            return chain_ops(*(self.zeroed(dx) for dx in (dq, dk, dv) if dx is not None))
        if p.ndim < q.ndim:
            return self.fused_attention_gradient(q, k, v, y, p, dy, dq, dk, dv, scale, first)
        dq, dk = (dx if dx is not None and dx.size else None for dx in (dq, dk))
        launches: list[Launchable | None] = []
        blas = self.device.blas
        rows = prod(p.shape[:-1])
        dp = LaunchScratch(p.shape, self.dtype)
        if dv is not None:
            launches += blas.product(p.swapaxes(-1, -2), dy, dv)
        if dq is not None or dk is not None:
            launches += blas.product(dy, v.swapaxes(-1, -2), dp)
            args = dp, p, rows, p.shape[-1], float(scale)
            launches.append(self.bound("attention.cu", "probabilities_gradient", rows * WARP, *args))
        if dq is not None:
            launches += blas.product(dp, k, dq)
        if dk is not None:
            launches += blas.product(Operand.of(dp).turned, q, dk)
        return self.launches(*launches)
