"""Counting kernels: the reference kernels, counting floating-point operations by the table of ``flops``."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from netpart.kernels import flops
from netpart.kernels.op import Array, Op
from netpart.kernels.reference import Kernels


def _contraction_size(w: Array) -> int:
    return prod(w.shape[1:])


def _composed_price(*_: Any) -> int:
    """The price of a verb that is composed of others, which count themselves, or that no layer calls: 0."""
    return 0


PRICES: dict[str, Callable[..., int]] = {
    "zero": lambda dst: 0,
    "copy": lambda dst, src: 0,
    "feed": _composed_price,
    "add": lambda dst, src: flops.elementwise_flops(dst.size),
    "add_squares": lambda dst, src: 2 * src.size,
    "bring_in": _composed_price,
    "total": lambda dst, srcs, activation=None: flops.combine_flops(dst.size, len(srcs)),
    "fold": lambda dst, src: flops.fold_flops(dst.size, src.size),
    "multiply": lambda y, xs: flops.combine_flops(y.size, len(xs)),
    "multiply_gradient": lambda xs, k, dy, dx: (
        flops.combine_flops(dy.size, len(xs)) + flops.fold_flops(dx.size, dy.size)
    ),
    "maximum": lambda y, xs, arg: flops.combine_flops(y.size, len(xs)),
    "maximum_gradient": lambda arg, k, dy, dx: dy.size + flops.fold_flops(dx.size, dy.size),
    "convolution": lambda x, w, b, y, window, groups=1, activation=None: flops.convolution_flops(
        y.size, _contraction_size(w), b is not None
    ),
    "convolution_data": lambda dy, w, dx, window, groups=1: flops.convolution_flops(
        dy.size, _contraction_size(w), False
    ),
    "convolution_weights": lambda x, dy, dw, db, window, groups=1: flops.convolution_flops(
        dy.size, _contraction_size(dw), db is not None
    ),
    "inner_product": lambda x, w, b, y, transpose, activation=None, add=False: flops.inner_product_flops(
        y.size, prod(x.shape[1:]), b is not None
    ),
    "inner_product_data": lambda dy, w, dx, transpose, add=False: flops.inner_product_flops(
        dy.size, prod(dx.shape[1:]), False
    ),
    "inner_product_weights": lambda x, dy, dw, db, transpose: flops.inner_product_flops(
        dy.size, prod(x.shape[1:]), db is not None
    ),
    "pooling": lambda x, y, arg, window, method, area: flops.pooling_flops(y.size, window.kernel),
    "pooling_gradient": lambda dy, dx, arg, window, method, area: flops.pooling_flops(dy.size, window.kernel),
    "resample": lambda x, y, weights, transpose=False: flops.resample_flops(
        [w.shape for w in weights], prod(x.shape[:2]) if not transpose else prod(y.shape[:2])
    ),
    "global_pooling": lambda x, y, arg, method, area: flops.elementwise_flops(x.size),
    "global_pooling_gradient": lambda dy, dx, arg, method, area: flops.elementwise_flops(dx.size),
    "activation": lambda kind, x, y, slope=0.0: flops.activation_flops(kind, y.size),
    "activation_gradient": lambda kind, x, y, dy, dx, slope=0.0: flops.activation_gradient_flops(dy.size),
    "dropout": lambda x, y, mask, draw, ratio, clock: flops.elementwise_flops(y.size),
    "dropout_gradient": lambda dy, mask, dx: flops.elementwise_flops(dy.size),
    "lrn": lambda x, y, *_, **__: flops.elementwise_flops(y.size),
    "lrn_gradient": lambda x, y, *_, **__: flops.elementwise_flops(y.size),
    "matmul": lambda a, b, y, ta=False, tb=False: flops.matmul_flops(y.size, a.shape[-2 if ta else -1]),
    "attention": lambda a: a.p.size + flops.matmul_flops(a.p.size, a.q.shape[-1] + a.v.shape[-1]),
    "attention_gradient": lambda a, dy, dq, dk, dv: (
        (dq is not None or dk is not None) * (a.p.size + flops.matmul_flops(a.p.size, a.v.shape[-1]))
        + ((dq is not None) + (dk is not None)) * flops.matmul_flops(a.p.size, a.q.shape[-1])
        + (dv is not None) * flops.matmul_flops(a.p.size, a.v.shape[-1])
    ),
    "rotate": lambda x, y, *_: flops.rotate_flops(y.size),
    "embedding": lambda tokens, w, y, *_: 0,
    "embedding_gradient": lambda tokens, dy, *_: flops.elementwise_flops(dy.size),
    "normalise": lambda a: flops.elementwise_flops(a.x.size),
    "normalise_backward": _composed_price,
    "normalise_gradient": lambda unit, *_: flops.elementwise_flops(unit.size),
    "normalise_parameters": lambda unit, dy, dw, db, own: dy.size * ((dw is not None) + (db is not None)),
    "batch_norm": _composed_price,
    "batch_norm_gradient": _composed_price,
    "batch_norm_relu": lambda x, mean, rstd, w, b, dy: flops.activation_gradient_flops(dy.size),
    "batch_norm_parameters": lambda x, mean, rstd, dy, dw, db: dy.size * ((dw is not None) + (db is not None)),
    "moment_norm": _composed_price,
    "moment_norm_gradient": _composed_price,
    "moments": lambda x, *_: flops.elementwise_flops(x.size),
    "moments_share": lambda m, *_: 0,
    "statistics": lambda m, *_: 0,
    "moments_gradient": lambda x, *_: flops.elementwise_flops(x.size),
    "batch_normalise": lambda a: flops.elementwise_flops(a.x.size),
    "batch_normalise_gradient": lambda rstd, w, dy, dx, **__: flops.elementwise_flops(dy.size),
    "batch_normalise_moments": lambda x, *_: flops.elementwise_flops(x.size),
    "softmax": lambda x, y, groups=1: flops.elementwise_flops(y.size),
    "softmax_gradient": lambda y, dy, dx, groups=1: flops.elementwise_flops(dy.size),
    "softmax_along": lambda x, *_: flops.elementwise_flops(x.size),
    "softmax_along_gradient": lambda y, *_: flops.elementwise_flops(y.size),
    "softmax_loss": lambda *_: 0,  # it calls softmax, which is counted
    "softmax_loss_gradient": lambda a: flops.elementwise_flops(a.y.size),
    "label_weights": lambda label, *_: flops.elementwise_flops(label.size),
    "class_blocks": lambda x, *_: flops.elementwise_flops(x.size),
    "class_loss": lambda a: flops.elementwise_flops(a.x.size + a.f.size),
    "euclidean_loss": lambda x, t, y, metrics, owned: flops.elementwise_flops(y.size),
    "euclidean_loss_gradient": lambda y, dx, factor, owned: flops.elementwise_flops(y.size),
    "binary_loss": lambda x, *_: flops.elementwise_flops(x.size),  # and the activation that it calls
    "binary_loss_gradient": lambda y, *_: flops.elementwise_flops(y.size),
    "distance_loss": lambda x, *_: flops.elementwise_flops(x.size),
    "distance_loss_gradient": lambda y, *_: flops.elementwise_flops(y.size),
    "accuracy": lambda x, label, metrics, topk, owned, *_: flops.elementwise_flops(x.size),
    "confusion": lambda x, *_: flops.elementwise_flops(x.size),
    "largest": lambda x, y: 0,
    "update": _composed_price,
    "follow_mean": _composed_price,
    "follow_variance": _composed_price,
}
"""By verb, its price as a function of the arguments that it is bound to."""


class CountingKernels(Kernels):
    """The reference kernels; each run of an Op adds its price to ``flops``."""

    def __init__(self, xp: Any, dtype: Any, precision: str = "float32") -> None:
        super().__init__(xp, dtype, precision)
        self.flops = 0


def _counting_verb(verb: str, price: Callable[..., int]) -> Callable[..., Op]:
    # Taken from the class: a verb that calls another through self finds the counting one, which counts once.
    bind = getattr(Kernels, verb)

    def bound(self: CountingKernels, *args: Any, **kwargs: Any) -> Op:
        op = bind(self, *args, **kwargs)
        cost = price(*args, **kwargs)

        def run(*scratch: Array) -> None:
            self.flops += cost
            op.run(*scratch)

        return Op(run, op.scratch, op.captured)

    return bound


for _verb, _price in PRICES.items():
    setattr(CountingKernels, _verb, _counting_verb(_verb, _price))
