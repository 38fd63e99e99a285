"""Scaled dot-product attention (Vaswani et al., Attention Is All You Need, 2017, section 3.2.1)."""

from __future__ import annotations

from netpart.kernels.arguments import AttentionArguments
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs
from netpart.spec import Shape


class Attention(Verbs):
    """q (..., T, D), k (..., S, D), v (..., S, E), y (..., T, E), p (..., T, S): one distribution for each query."""

    @classmethod
    def attention_keeps(cls, pairs: Shape, width: int, values: int) -> Shape:
        """The shape of the array that ``attention`` keeps for its gradient: that of p, which is ``pairs``.

        ``width`` is D, ``values`` E.
        """
        return pairs

    def attention(self, a: AttentionArguments) -> Op:
        """y = p v with p = softmax(scale · q kᵀ), which is kept for the gradient, in the order of the kernel set.

        ``first``: query i sees the keys up to ``first`` + i only; None: all keys.
        """
        if not a.y.size:
            return NOTHING
        xp = self.xp
        p = a.p
        keys = a.k.swapaxes(-1, -2)
        future = None
        if a.first is not None:
            future = xp.arange(p.shape[-1]) > a.first + xp.arange(p.shape[-2]).reshape(-1, 1)

        def run(row: Array) -> None:
            xp.matmul(a.q, keys, out=p)
            xp.multiply(p, a.scale, out=p)
            if future is not None:
                xp.copyto(p, -xp.inf, where=future)
            # The exponentials of scores minus the row's maximum are at most 1: they cannot overflow.
            xp.max(p, axis=-1, keepdims=True, out=row)
            xp.subtract(p, row, out=p)
            xp.exp(p, out=p)
            xp.sum(p, axis=-1, keepdims=True, out=row)
            xp.divide(p, row, out=p)
            xp.matmul(p, a.v, out=a.y)

        return Op(run, [((*p.shape[:-1], 1), self.dtype)])

    def attention_gradient(
        self, a: AttentionArguments, dy: Array, dq: Array | None, dk: Array | None, dv: Array | None
    ) -> Op:
        """Overwrite the wanted gradients and perhaps p, or what the kernel set keeps instead of it.

        The gradient of the scores is p · (dp - Σ dp · p) with dp = dy vᵀ.
        """
        xp = self.xp
        p = a.p
        values = a.v.swapaxes(-1, -2)
        weights = p.swapaxes(-1, -2)

        def run(dp: Array, product: Array, row: Array) -> None:
            if dv is not None:
                xp.matmul(weights, dy, out=dv)
            if dq is None and dk is None:
                return
            xp.matmul(dy, values, out=dp)
            xp.multiply(dp, p, out=product)
            xp.sum(product, axis=-1, keepdims=True, out=row)
            xp.subtract(dp, row, out=dp)
            xp.multiply(dp, p, out=dp)
            xp.multiply(dp, a.scale, out=dp)
            if dq is not None:
                xp.matmul(dp, a.k, out=dq)
            if dk is not None:
                xp.matmul(dp.swapaxes(-1, -2), a.q, out=dk)

        return Op(run, [(p.shape, self.dtype), (p.shape, self.dtype), ((*p.shape[:-1], 1), self.dtype)])
