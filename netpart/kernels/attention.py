"""Scaled dot-product attention (Vaswani et al., Attention Is All You Need, 2017, section 3.2.1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from netpart.kernels.arguments import AttentionArguments
from netpart.kernels.dropout import Dropout
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.verbs import NOTHING
from netpart.spec import Shape


class Attention(Dropout):
    """q (..., T, D), k (..., S, D), v (..., S, E), y (..., T, E), p (..., T, S): one distribution for each query."""

    @classmethod
    def attention_keeps(cls, pairs: Shape, width: int, values: int, drops: bool = False) -> Shape:
        """The shape of the array that ``attention`` keeps for its gradient: that of p, which is ``pairs``.

        ``width`` is D, ``values`` E. With ``drops`` there is dropout.
        """
        return pairs

    def attention(self, a: AttentionArguments) -> Op:
        """y = p v with p = softmax(scale · q kᵀ), which is kept for the gradient, in the order of the kernel set.

        ``first``: query i sees the keys up to ``first`` + i only; None: all keys. Of these it does not see those with
        ``pad`` in the mask. The p of a query that sees no key is 0. With ``dropout``, y = (p · random factors) v.
        """
        if not a.y.size:
            return NOTHING
        drop = a.dropout
        if drop is None:
            return chain_ops(self._distributions(a), Op(partial(self.xp.matmul, a.p, a.v, out=a.y)))
        return chain_ops(
            self._distributions(a),
            # The verb writes the factors first and then, over them, the product: nothing reads the factors later.
            self.dropout(a.p, drop.weights, drop.weights, drop.draw, drop.ratio, drop.clock),
            Op(partial(self.xp.matmul, drop.weights, a.v, out=a.y)),
        )

    def _distributions(self, a: AttentionArguments) -> Op:
        """p, from the scores of the keys that each query sees."""
        xp = self.xp
        p = a.p
        keys = a.k.swapaxes(-1, -2)
        hide = self._hiding(a)
        # With a mask, a query may see no key. The difference to its maximum is then 0 and not infinity - infinity.
        lowest = -xp.inf if a.mask is None else xp.finfo(self.dtype).min

        def run(row: Array, padding: Array) -> None:
            xp.matmul(a.q, keys, out=p)
            xp.multiply(p, a.scale, out=p)
            hide(lowest, padding)
            # The exponentials of scores minus the row's maximum are at most 1: they cannot overflow.
            xp.max(p, axis=-1, keepdims=True, out=row)
            xp.subtract(p, row, out=p)
            xp.exp(p, out=p)
            xp.sum(p, axis=-1, keepdims=True, out=row)
            xp.divide(p, row, out=p)
            if a.mask is not None:
                hide(0, padding)

        mask = (0,) if a.mask is None else mask_of_keys(a.mask, p.ndim).shape
        return Op(run, [((*p.shape[:-1], 1), self.dtype), (mask, bool)])

    def _hiding(self, a: AttentionArguments) -> Callable[[float, Array], None]:
        """A function that sets p to a value for the keys that a query does not see; it also needs a temporary."""
        xp = self.xp
        p = a.p
        mask = None if a.mask is None else mask_of_keys(a.mask, p.ndim)
        future = None
        if a.first is not None:
            future = xp.arange(p.shape[-1]) > a.first + xp.arange(p.shape[-2]).reshape(-1, 1)

        def hide(value: float, padding: Array) -> None:
            if future is not None:
                xp.copyto(p, value, where=future)
            if mask is not None:
                xp.equal(mask, a.pad, out=padding)
                xp.copyto(p, value, where=padding)

        return hide

    def attention_gradient(
        self, a: AttentionArguments, dy: Array, dq: Array | None, dk: Array | None, dv: Array | None
    ) -> Op:
        """Overwrite the wanted gradients and perhaps p, or what the kernel set keeps instead of it.

        The gradient of the scores is w · dw - p · Σ dw · w with dw = dy vᵀ and w = p, or p · its random factors with
        ``dropout``. It is 0 for a key that a query does not see.
        """
        xp = self.xp
        p = a.p
        w = p if a.dropout is None else a.dropout.weights
        values = a.v.swapaxes(-1, -2)
        weights = w.swapaxes(-1, -2)

        def run(dp: Array, product: Array, row: Array) -> None:
            if dv is not None:
                xp.matmul(weights, dy, out=dv)
            if dq is None and dk is None:
                return
            xp.matmul(dy, values, out=dp)
            xp.multiply(dp, w, out=product)
            xp.sum(product, axis=-1, keepdims=True, out=row)
            if w is p:
                xp.subtract(dp, row, out=dp)
                xp.multiply(dp, p, out=dp)
            else:
                xp.multiply(p, row, out=dp)
                xp.subtract(product, dp, out=dp)
            xp.multiply(dp, a.scale, out=dp)
            if dq is not None:
                xp.matmul(dp, a.k, out=dq)
            if dk is not None:
                xp.matmul(dp.swapaxes(-1, -2), a.q, out=dk)

        return Op(run, [(p.shape, self.dtype), (p.shape, self.dtype), ((*p.shape[:-1], 1), self.dtype)])


def mask_of_keys(mask: Array, rank: int) -> Array:
    """A view of ``mask`` (B, S) with ``rank`` axes, which fits p (B, ..., T, S)."""
    return mask[:, *[None] * (rank - 2), :]
