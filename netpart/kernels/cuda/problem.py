"""Convolution problems for cuDNN: the graph of its frontend, and the engines that may compute it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from netpart.errors import NetpartError
from netpart.spec import Shape

FORWARD, DATA, WEIGHTS = "forward", "data", "weights"
X, W, B, Y = 1, 2, 3, 4
"""The numbers of the tensors in the graph; a gradient has the number of its tensor."""
MOST_WORKSPACE = 1 << 30
"""The most bytes of a workspace."""
INEXACT = "FFT", "WINOGRAD_TILE_4x4", "WINOGRAD_TILE_6x6", "WINOGRAD_TILE_13x13"
"""Algorithms whose rounding errors are many times those of a sum of products."""


class CudnnRefused(NetpartError):
    """Raised where cuDNN has no engine for a problem, which kernels of our own then have to solve."""


class ConvolutionProblem(NamedTuple):
    """A convolution (``FORWARD``) or one of its gradients on tensors (batch, channels, *space), channels last.

    ``dtype`` is that of all tensors, possibly "bfloat16"; ``tensor_cores``: float32 may be rounded to TF32. ``bias``
    and ``relu``: applied to y in the same pass.
    """

    kind: str
    x: Shape
    w: Shape
    y: Shape
    pad: Shape
    stride: Shape
    dilation: Shape
    dtype: str
    tensor_cores: bool
    bias: bool = False
    relu: bool = False

    @property
    def result(self) -> int:
        """The number of the tensor that is computed."""
        return {FORWARD: Y, DATA: X, WEIGHTS: W}[self.kind]

    @property
    def extents(self) -> dict[int, Shape]:
        """The shapes of all tensors, by number."""
        bias = {B: (1, self.w[0], *(1 for _ in self.pad))} if self.bias else {}
        return {X: self.x, W: self.w, Y: self.y, **bias}


def _build_graph(cudnn: Any, problem: ConvolutionProblem, **where: Any) -> Any:
    """The problem as cuDNN's graph; ``where``: the handle that it will run on, or the description of a device."""
    types = {"float32": cudnn.data_type.FLOAT, "float64": cudnn.data_type.DOUBLE, "bfloat16": cudnn.data_type.BFLOAT16}
    kind = types[problem.dtype]
    real = types["float64" if problem.dtype == "float64" else "float32"]
    made = cudnn.pygraph(io_data_type=kind, intermediate_data_type=real, compute_data_type=real, **where)

    def tensor(uid: int) -> Any:
        dim = list(problem.extents[uid])
        return made.tensor(name=f"t{uid}", dim=dim, stride=_channels_last_steps(dim), data_type=kind, uid=uid)

    window: dict[str, list[int]] = {
        "pre_padding": list(problem.pad), "post_padding": list(problem.pad),
        "stride": list(problem.stride), "dilation": list(problem.dilation),
    }  # fmt: skip
    if problem.kind == FORWARD:
        found = made.conv_fprop(image=tensor(X), weight=tensor(W), **window)
        found = made.bias(input=found, bias=tensor(B)) if problem.bias else found
        found = made.relu(input=found) if problem.relu else found
    elif problem.kind == DATA:
        found = made.conv_dgrad(loss=tensor(Y), filter=tensor(W), **window)
    else:
        found = made.conv_wgrad(image=tensor(X), loss=tensor(Y), **window)
    dim = list(problem.extents[problem.result])
    found.set_output(True).set_data_type(kind).set_dim(dim).set_stride(_channels_last_steps(dim)).set_uid(
        problem.result
    )
    return made


def propose_engines(cudnn: Any, problem: ConvolutionProblem, **where: Any) -> Any:
    """The graph with the engines that may compute it: deterministic ones, as exact as ``problem`` requires.

    Raises CudnnRefused if cuDNN proposes no engine.
    """
    barred = ["NONDETERMINISTIC", "DOWN_CONVERT_INPUTS", *INEXACT] + ([] if problem.tensor_cores else ["TENSOR_CORE"])
    if problem.dtype == "bfloat16":
        barred.remove("DOWN_CONVERT_INPUTS")
    try:
        made = _build_graph(cudnn, problem, **where)
        made.validate()
        made.build_operation_graph()
        made.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        made.deselect_numeric_notes([getattr(cudnn.numerical_note, name) for name in barred])
        made.deselect_workspace_greater_than(MOST_WORKSPACE)
        made.check_support()
    except (RuntimeError, cudnn.cudnnGraphNotSupportedError) as error:
        raise CudnnRefused(f"cuDNN: {error}") from error
    return made


def build_engines(cudnn: Any, made: Any) -> Iterator[int]:
    """The engines that can be built, in cuDNN's order of preference; each is built when the iteration reaches it."""
    return (index for index in range(made.get_execution_plan_count()) if build_engine(cudnn, made, index))


def build_engine(cudnn: Any, made: Any, index: int) -> bool:
    """Build one engine; False if cuDNN cannot build it."""
    try:
        made.build_plan_at_index(index)
    except (RuntimeError, NotImplementedError, cudnn.cudnnGraphNotSupportedError):
        return False
    return True


def _channels_last_steps(dim: list[int]) -> list[int]:
    """The strides, in elements, of (batch, channels, *space) with the channels last."""
    order = [1, *range(len(dim) - 1, 1, -1), 0]
    steps = [0] * len(dim)
    step = 1
    for axis in order:
        steps[axis] = step
        step = step * dim[axis]
    return steps
