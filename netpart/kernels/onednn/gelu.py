"""The tanh form of gelu by the logistic function, where oneDNN's own code for tanh is slow.

(1 + tanh u) / 2 is the logistic function of v = 2 u. Without AVX-512 oneDNN looks up the coefficients of tanh one
element at a time: six times as long as an exponential. The logistic function is also exact where 1 + tanh u cancels.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from netpart.kernels.gates import CUBIC, INNER
from netpart.kernels.onednn.activation_calls import add_binary, add_post_ops, post_op_argument
from netpart.kernels.onednn.calls import Args, Calls
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Algorithm
from netpart.kernels.onednn.primitive import Attributes
from netpart.kernels.op import Array

STRIP = 1 << 17
"""Elements of a strip, whose arrays fit the third-level cache: smaller ones took longer, most of all on two threads."""
FAR = 400.0
"""From this x² on the gate is 0 or 1 in float32. A greater one may be infinite, and infinity times 0 is no number."""


def has_slow_tanh(implementation: str) -> bool:
    """True if oneDNN's ``implementation`` of an element-wise primitive looks coefficients up element by element."""
    return "avx512" not in implementation


def add_gelu_tanh(calls: Calls, x: DnnlMemory, y: DnnlMemory) -> None:
    """Append y = x · g, with g = logistic(v), in one pass."""
    post = _append_odd_cubic(x, 2 * INNER, 2 * INNER * CUBIC).eltwise(Algorithm.LOGISTIC)
    post.binary(Algorithm.BINARY_MUL, x.desc)
    add_binary(calls, Algorithm.BINARY_MUL, x, x, y, post, {post_op_argument(i): x for i in (2, 4)})


def add_gelu_tanh_gradient(calls: Calls, x: Array, dy: Array, dx: Array) -> None:
    """Append dx = (g + x v' g (1 - g)) · dy for flat arrays, a strip at a time; dx may be dy."""
    strips = [slice(*ends) for ends in pairwise([*range(0, x.size, STRIP), x.size])]
    whole = x.size // STRIP
    for group in (strips[:whole], strips[whole:]):
        if group:
            desc = MemoryDesc.strided((x[group[0]].size,), (1,), x.dtype.name)
            memories = [DnnlMemory(desc) for _ in range(3)]
            rows = [(x[strip], dy[strip], dx[strip]) for strip in group]
            calls.each(memories, rows, partial(_add_strip_gradient, calls, *memories))


def _add_strip_gradient(calls: Calls, x: DnnlMemory, dy: DnnlMemory, dx: DnnlMemory) -> None:
    """Append the gradient of a strip: g, then g (1 - g), then all else."""
    gate, slope = calls.temporary(x.desc), calls.temporary(x.desc)
    post = _append_odd_cubic(x, 2 * INNER, 2 * INNER * CUBIC).eltwise(Algorithm.LOGISTIC)
    add_binary(calls, Algorithm.BINARY_MUL, x, x, gate, post, {post_op_argument(2): x})
    rest = Attributes().eltwise(Algorithm.LINEAR, -1.0, 1.0).binary(Algorithm.BINARY_MUL, gate.desc)
    add_post_ops(calls, gate, slope, rest, {post_op_argument(1): gate})
    post = _append_odd_cubic(x, 2 * INNER, 6 * INNER * CUBIC).binary(Algorithm.BINARY_MUL, slope.desc)
    post.binary(Algorithm.BINARY_ADD, gate.desc).binary(Algorithm.BINARY_MUL, dy.desc)
    others: Args = dict(zip(map(post_op_argument, (2, 3, 4, 5)), (x, slope, gate, dy), strict=True))
    add_binary(calls, Algorithm.BINARY_MUL, x, x, dx, post, others)


def _append_odd_cubic(x: DnnlMemory, linear: float, cubic: float) -> Attributes:
    """Post-operations that make linear · x + cubic · x³ of x²; operand 2 is x."""
    post = Attributes().eltwise(Algorithm.CLIP_V2, 0.0, FAR).eltwise(Algorithm.LINEAR, cubic, linear)
    return post.binary(Algorithm.BINARY_MUL, x.desc)
