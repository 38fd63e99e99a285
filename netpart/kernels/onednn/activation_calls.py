"""Element-wise primitives and their post-operations, appended to calls."""

from __future__ import annotations

from netpart.kernels.onednn.calls import Args, Calls
from netpart.kernels.onednn.memory import DnnlMemory
from netpart.kernels.onednn.names import Algorithm, Arg, PropKind
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc


def add_eltwise(
    calls: Calls, algorithm: Algorithm, x: DnnlMemory, y: DnnlMemory, alpha: float = 0.0, beta: float = 0.0
) -> None:
    """Append y = algorithm(x)."""
    calls.add(eltwise_forward(algorithm, x, y, alpha, beta), {Arg.SRC: x, Arg.DST: y})


def add_binary(
    calls: Calls, algorithm: Algorithm, a: DnnlMemory, b: DnnlMemory, y: DnnlMemory, post: Attributes | None = None,
    others: Args | None = None,
) -> None:  # fmt: skip
    """Append y = post(algorithm(a, b)); ``others`` are the operands of the binary post-operations."""
    desc = PrimitiveDesc("binary", algorithm, a.desc, b.desc, y.desc, attributes=post)
    calls.add(desc, {Arg.SRC: a, Arg.SRC_1: b, Arg.DST: y, **(others or {})})


def add_post_ops(calls: Calls, x: DnnlMemory, y: DnnlMemory, post: Attributes, others: Args | None = None) -> None:
    """Append y = post(x), in one pass: as post-operations of min(x, x), for eltwise accepts no eltwise ones."""
    add_binary(calls, Algorithm.BINARY_MIN, x, x, y, post, others)


def post_op_argument(place: int) -> int:
    """The argument number of the other operand of the binary post-operation at index ``place``."""
    return Arg.POST_OP * (1 + place) | Arg.SRC_1


def eltwise_forward(algorithm: Algorithm, x: DnnlMemory, y: DnnlMemory, alpha: float, beta: float) -> PrimitiveDesc:
    """The description of y = algorithm(x)."""
    return PrimitiveDesc("eltwise_forward", PropKind.FORWARD_TRAINING, algorithm, x.desc, y.desc, alpha, beta)
