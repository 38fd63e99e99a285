"""Floating-point operations of each kernel verb: one table of conventions.

| verb                        | forward                         | backward                        |
|-----------------------------|---------------------------------|---------------------------------|
| convolution, inner product  | 2·|y|·contraction, +|y| if bias | as much for dx; for dw as well, |
|                             |                                 | +|y| if db                      |
| pooling                     | |y|·prod kernel                 | |y|·prod kernel                 |
| resampling, per axis        | 2·|y|·input positions           | 2·|y|·input positions           |
| global pooling              | |x|                             | |x|                             |
| activation                  | |y| (relu) or 4·|y|             | 2·|y|                           |
| dropout, lrn, softmax, loss | |y|                             | |y|                             |
| matmul                      | 2·|y|·terms                     | a matmul for each gradient      |
| attention, p of T·S pairs   | 2·|p|·(D + E) + |p|             | 4·|p|·(D + E) + |p|             |
| embedding                   | 0                               | |y|                             |
| rotate                      | 3·|y|                           | 3·|y|                           |
| normalise                   | |x|                             | |x|; |y| for each of dw, db     |
| moments, batch normalise    | |x|                             | |x|; |y| for moments, dw, db    |
| add; total of n arrays      | |dst|; (n - 1)·|dst|            |                                 |
| fold                        | |src| - |dst|                   |                                 |
| multiply, maximum of n      | (n - 1)·|y|                     | (n - 1)·|y|; |y|; and a fold    |
| copy, zero, feed, largest   | 0                               |                                 |

|y| is the number of output elements of the part. ``contraction`` is the number of products summed for each of them:
input channels (of a group) times kernel elements of a convolution, input features of an inner product. Padding
counts like input; random draws and work done once per channel count nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def convolution_flops(y: int, contraction: int, bias: bool) -> int:
    """The price of a convolution forward, of its data gradient (no bias) or of its weights' gradient."""
    return 2 * y * contraction + (y if bias else 0)


inner_product_flops = convolution_flops
"""The same convention, with the input features as contraction."""


def matmul_flops(y: int, terms: int) -> int:
    """A matrix product of ``y`` elements, each the sum of ``terms`` products."""
    return 2 * y * terms


def rotate_flops(y: int) -> int:
    """The price of a rotation: two products and a sum for each element."""
    return 3 * y


def pooling_flops(y: int, kernel: Sequence[int]) -> int:
    """The price of pooling, forward or backward."""
    return y * prod(kernel)


def activation_flops(kind: str, y: int) -> int:
    """The price of an activation forward."""
    return y if kind == "relu" else 4 * y


def activation_gradient_flops(y: int) -> int:
    """The price of an activation backward."""
    return 2 * y


def elementwise_flops(y: int) -> int:
    """The price of dropout, LRN, softmax and the losses, forward or backward, and of one addition."""
    return y


def combine_flops(y: int, addends: int) -> int:
    """A sum, product or maximum of ``addends`` arrays of ``y`` elements."""
    return y * max(0, addends - 1)


def fold_flops(dst: int, src: int) -> int:
    """The additions of a sum over axes, from ``src`` elements to ``dst``."""
    return src - dst


def resample_flops(weights: Sequence[tuple[int, int]], images: int) -> int:
    """The price of interpolating ``images`` axis by axis, or of its gradient: a product with each matrix (out, in)."""
    price = 0
    rest = [inputs for _, inputs in weights]
    for axis, (outputs, inputs) in enumerate(weights):
        rest[axis] = outputs
        price += 2 * images * prod(rest) * inputs
    return price
