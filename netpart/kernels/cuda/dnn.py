"""cuDNN: convolutions of packed tensors, by plans that its frontend makes of a graph and that a CUDA graph may hold.

Of the engines that cuDNN proposes for a problem the fastest is taken: a few are timed when the problem is first met,
and the name of the best is kept in the user's cache folder.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from netpart.errors import NetpartError
from netpart.kernels.cuda.choices import Choices
from netpart.kernels.cuda.device import Device
from netpart.kernels.cuda.launch import Scratch
from netpart.kernels.cuda.operand import Memory, address, needed
from netpart.kernels.op import Array
from netpart.spec import Shape

FORWARD, DATA, WEIGHTS = "forward", "data", "weights"
X, W, B, Y = 1, 2, 3, 4
"""Tensors of a convolution, as its graph numbers them; gradients have the number of what they are the gradient of."""
ITEMS = {"float32": 4, "float64": 8, "bfloat16": 2}
TRIED, REPEATED = 6, 3
"""Engines that are timed for a problem, and how often each."""
MOST_WORKSPACE, ALIGNED = 1 << 30, 256
"""Bytes of a workspace at most, and of what its address is a multiple: as CUDA allocates."""
INEXACT = "FFT", "WINOGRAD_TILE_4x4", "WINOGRAD_TILE_6x6", "WINOGRAD_TILE_13x13"
"""Algorithms with errors many times those of a sum of products."""


class Refused(NetpartError):
    """cuDNN has no engine for a problem; kernels of our own have to do it."""


class Problem(NamedTuple):
    """A convolution (``FORWARD``) or one of its gradients on tensors (batch, channels, *space), channels last.

    ``dtype`` is that of all tensors ("bfloat16" too); ``tensor_cores``: float32 may be rounded to TF32. ``bias`` and
    ``relu``: what is done to y in the same pass.
    """

    kind: str
    x: Shape
    w: Shape
    y: Shape
    low: Shape
    high: Shape
    stride: Shape
    dilation: Shape
    dtype: str
    tensor_cores: bool
    bias: bool = False
    relu: bool = False

    @property
    def result(self) -> int:
        """The tensor that is computed."""
        return {FORWARD: Y, DATA: X, WEIGHTS: W}[self.kind]

    @property
    def extents(self) -> dict[int, Shape]:
        """Of the tensors that take part."""
        bias = {B: (1, self.w[0], *(1 for _ in self.low))} if self.bias else {}
        return {X: self.x, W: self.w, Y: self.y, **bias}


def graph(cudnn: Any, problem: Problem, **where: Any) -> Any:
    """The problem as cuDNN's graph; ``where`` it will run is a handle, or the description of a device."""
    types = {"float32": cudnn.data_type.FLOAT, "float64": cudnn.data_type.DOUBLE, "bfloat16": cudnn.data_type.BFLOAT16}
    kind = types[problem.dtype]
    real = types["float64" if problem.dtype == "float64" else "float32"]
    made = cudnn.pygraph(io_data_type=kind, intermediate_data_type=real, compute_data_type=real, **where)

    def tensor(uid: int) -> Any:
        dim = list(problem.extents[uid])
        return made.tensor(name=f"t{uid}", dim=dim, stride=channels_last(dim), data_type=kind, uid=uid)

    window: dict[str, list[int]] = {
        "pre_padding": list(problem.low), "post_padding": list(problem.high),
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
    found.set_output(True).set_data_type(kind).set_dim(dim).set_stride(channels_last(dim)).set_uid(problem.result)
    return made


def proposed(cudnn: Any, problem: Problem, **where: Any) -> Any:
    """The graph with the engines that may compute it: the same every time, and as exact as ``problem`` says.

    Raises Refused if there are none.
    """
    barred = ["NONDETERMINISTIC", "DOWN_CONVERT_INPUTS", *INEXACT] + ([] if problem.tensor_cores else ["TENSOR_CORE"])
    if problem.dtype == "bfloat16":
        barred.remove("DOWN_CONVERT_INPUTS")
    try:
        made = graph(cudnn, problem, **where)
        made.validate()
        made.build_operation_graph()
        made.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        made.deselect_numeric_notes([getattr(cudnn.numerical_note, name) for name in barred])
        made.deselect_workspace_greater_than(MOST_WORKSPACE)
        made.check_support()
    except (RuntimeError, cudnn.cudnnGraphNotSupportedError) as error:
        raise Refused(f"cuDNN: {error}") from error
    return made


def engines(cudnn: Any, made: Any) -> Iterator[int]:
    """The engines that can be built, the one first that cuDNN thinks the best; each is built when it is reached."""
    for index in range(made.get_execution_plan_count()):
        try:
            made.build_plan_at_index(index)
        except (RuntimeError, NotImplementedError, cudnn.cudnnGraphNotSupportedError):
            continue
        yield index


def channels_last(dim: list[int]) -> list[int]:
    """Steps of (batch, channels, *space) with the channels last."""
    order, steps, step = [1, *range(len(dim) - 1, 1, -1), 0], [0] * len(dim), 1
    for axis in order:
        steps[axis], step = step, step * dim[axis]
    return steps


@dataclass(frozen=True, eq=False)
class Plan:
    """An engine for ``problem``, to be launched with any arrays. ``dnn`` stays open."""

    problem: Problem
    made: Any
    index: int
    dnn: Dnn

    @property
    def workspace(self) -> int:
        """Bytes, wherever they begin."""
        return int(self.made.get_workspace_size_plan_at_index(self.index)) + ALIGNED

    def on(self, tensors: dict[int, Array | Scratch]) -> Convolve:
        """What enqueues it for ``tensors``."""
        return Convolve(self, tensors, Scratch((self.workspace,), "uint8"))

    def run(self, addresses: dict[int, int], workspace: int) -> None:
        """Enqueues it."""
        aligned = -(-workspace // ALIGNED) * ALIGNED
        self.made.execute_plan_at_index(addresses, aligned, index=self.index, handle=self.dnn.handle)


@dataclass(frozen=True, eq=False)
class Convolve:
    """A plan with its tensors, of which some may be scratch: a launch like those of kernels."""

    plan: Plan
    tensors: dict[int, Array | Scratch]
    workspace: Scratch

    @property
    def scratch(self) -> dict[int, Scratch]:
        """Tensors that a run is given, and the workspace."""
        return needed(*self.tensors.values(), self.workspace)

    def __call__(self, memory: Memory) -> None:
        addresses = {uid: address(base, memory) for uid, base in self.tensors.items()}
        self.plan.run(addresses, address(self.workspace, memory))


class Dnn:
    """A handle on the stream of ``device``, and the plans made so far."""

    def __init__(self, device: Device) -> None:
        """Raises NetpartError with what is missing."""
        self.cudnn, self.device, self.plans = frontend(), device, dict[Problem, Plan]()
        self.handle = self.cudnn.create_handle()
        weakref.finalize(self, self.cudnn.destroy_handle, self.handle)
        self.turn(device.stream)
        self.choices = Choices("cudnn", (*self.version, device_name(device.xp)))

    def turn(self, stream: Any) -> None:
        """Enqueues on ``stream`` from now on."""
        self.cudnn.set_stream(handle=self.handle, stream=stream.ptr)

    @property
    def version(self) -> tuple[str, str]:
        """Of the frontend and of cuDNN."""
        return str(self.cudnn.__version__), str(self.cudnn.backend_version())

    def plan(self, problem: Problem) -> Plan:
        """The best plan for ``problem``. It is searched for when first asked for, which must not be while a stream
        captures. Raises Refused if cuDNN has none."""
        if problem not in self.plans:
            self.plans[problem] = self._made(problem)
        return self.plans[problem]

    def _made(self, problem: Problem) -> Plan:
        made, chosen = proposed(self.cudnn, problem, handle=self.handle), self.choices.get(str(problem))
        for index in range(made.get_execution_plan_count() if chosen else 0):
            if made.get_plan_name_at_index(index) == chosen:
                made.build_plan_at_index(index)
                return Plan(problem, made, index, self)
        return self._fastest(problem, made)

    def _fastest(self, problem: Problem, made: Any) -> Plan:
        plans = []
        for index in engines(self.cudnn, made):
            plans.append(Plan(problem, made, index, self))
            if len(plans) == TRIED:
                break
        if not plans:
            raise Refused(f"cuDNN: expected an engine for {problem}, got none that can be built")
        best = min(plans, key=self._timed(problem, plans))
        made.build_plan_at_index(best.index)
        self.choices.put(str(problem), made.get_plan_name_at_index(best.index))
        return best

    def _timed(self, problem: Problem, plans: list[Plan]) -> Callable[[Plan], float]:
        """What tells how many milliseconds a plan takes, on memory of its own; where that does not fit, 0."""
        xp, stream = self.device.xp, self.device.stream
        try:
            item = ITEMS[problem.dtype]
            arrays = {uid: xp.zeros(prod(dim) * item, "uint8") for uid, dim in problem.extents.items()}
            workspace = xp.empty(max(plan.workspace for plan in plans), "uint8")
        except MemoryError:
            return lambda plan: 0.0

        def milliseconds(plan: Plan) -> float:
            addresses = {uid: array.data.ptr for uid, array in arrays.items()}
            plan.run(addresses, workspace.data.ptr)
            events = [stream.record()]
            for _ in range(REPEATED):
                plan.run(addresses, workspace.data.ptr)
                events.append(stream.record())
            events[-1].synchronize()
            return float(min(xp.cuda.get_elapsed_time(a, b) for a, b in pairwise(events)))

        return milliseconds

    def __repr__(self) -> str:
        return f"cuDNN({', '.join(self.version)}; {len(self.plans)} plans)"


def device_name(xp: Any) -> str:
    """Of the current GPU."""
    return str(xp.cuda.runtime.getDeviceProperties(xp.cuda.runtime.getDevice())["name"].decode())


def refusal() -> str:
    """Why cuDNN cannot be used here, in one line; "" if it can."""
    found = _found()
    return found if isinstance(found, str) else ""


def frontend() -> Any:
    """cuDNN's frontend. Raises NetpartError with what is missing."""
    found = _found()
    if isinstance(found, str):
        raise NetpartError(found)
    return found


@cache
def _found() -> Any:
    try:
        cudnn = import_module("cudnn")
        cudnn.backend_version()
    except (ImportError, RuntimeError, OSError) as error:
        hint = "pip install nvidia-cudnn-cu13 'nvidia-cudnn-frontend>=1.24,<1.29'"
        return f"no cuDNN: {error}; {hint} for faster convolutions"
    return cudnn
