"""cuDNN: convolutions of packed tensors, by plans that its frontend makes from a graph.

A CUDA graph may hold such plans. Of the engines that cuDNN proposes for a problem the fastest is chosen: a few are
timed when the problem first occurs, and the name of the fastest is kept in the user's cache folder. If that engine
cannot be built any more, the choice is made anew.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from math import prod
from time import monotonic
from typing import Any

from netpart.errors import NetpartError
from netpart.kernels.cuda.choice_cache import ChoiceCache
from netpart.kernels.cuda.device import CudaDevice
from netpart.kernels.cuda.launch import LaunchScratch
from netpart.kernels.cuda.operand import ALIGNED, ScratchMemory, align_workspace, needed_scratch, operand_address
from netpart.kernels.cuda.problem import ConvolutionProblem, CudnnRefused, build_engine, build_engines, propose_engines
from netpart.kernels.op import Array

ITEMS = {"float32": 4, "float64": 8, "bfloat16": 2}
TRIED, REPEATED = 12, 3
"""The largest number of engines that are timed for a problem, and the number of runs of each."""
SEARCH_SECONDS = 0.6
"""Seconds after which no other engine is built for a problem: some are compiled for it, and a net has many problems."""


@dataclass(frozen=True, eq=False)
class ConvolutionPlan:
    """An engine for ``problem``, which can be launched on any arrays. It keeps ``dnn`` and its handle alive."""

    problem: ConvolutionProblem
    made: Any
    index: int
    dnn: Dnn

    @property
    def workspace(self) -> int:
        """Bytes of the workspace, with room to align its start."""
        return int(self.made.get_workspace_size_plan_at_index(self.index)) + ALIGNED

    def on(self, tensors: dict[int, Array | LaunchScratch]) -> PlannedConvolution:
        """The launch of this plan on ``tensors``."""
        return PlannedConvolution(self, tensors, LaunchScratch((self.workspace,), "uint8"))

    def run(self, addresses: dict[int, int], workspace: int) -> None:
        """Enqueue the plan on tensors at ``addresses``, by number."""
        self.made.execute_plan_at_index(addresses, align_workspace(workspace), index=self.index, handle=self.dnn.handle)


@dataclass(frozen=True, eq=False)
class PlannedConvolution:
    """A plan with its tensors, some of which may be scratch: a Launchable."""

    plan: ConvolutionPlan
    tensors: dict[int, Array | LaunchScratch]
    workspace: LaunchScratch

    @property
    def scratch(self) -> dict[int, LaunchScratch]:
        """The tensors among them that are scratch, and the workspace."""
        return needed_scratch(*self.tensors.values(), self.workspace)

    def __call__(self, memory: ScratchMemory) -> None:
        addresses = {uid: operand_address(base, memory) for uid, base in self.tensors.items()}
        self.plan.run(addresses, operand_address(self.workspace, memory))


class Dnn:
    """A cuDNN handle on the stream of ``device``, and the plans made so far."""

    def __init__(self, device: CudaDevice) -> None:
        """Raise NetpartError, naming what is missing."""
        self.cudnn = _load_frontend()
        self.device = device
        self.plans = dict[ConvolutionProblem, ConvolutionPlan]()
        self.handle = self.cudnn.create_handle()
        weakref.finalize(self, self.cudnn.destroy_handle, self.handle)
        self.turn(device.stream)
        self.choices = ChoiceCache("cudnn", (*self.version, _device_name(device.xp)))

    def turn(self, stream: Any) -> None:
        """Make ``stream`` the one that plans are enqueued on."""
        self.cudnn.set_stream(handle=self.handle, stream=stream.ptr)

    @property
    def version(self) -> tuple[str, str]:
        """The versions of the frontend and of cuDNN."""
        return str(self.cudnn.__version__), str(self.cudnn.backend_version())

    def plan(self, problem: ConvolutionProblem) -> ConvolutionPlan:
        """The best plan for ``problem``. Raises CudnnRefused if cuDNN has none.

        It is searched for at the first call, which must not happen while a stream captures.
        """
        if problem not in self.plans:
            self.plans[problem] = self._made(problem)
        return self.plans[problem]

    def _made(self, problem: ConvolutionProblem) -> ConvolutionPlan:
        made = propose_engines(self.cudnn, problem, handle=self.handle)
        return self._kept(problem, made) or self._fastest(problem, made)

    def _kept(self, problem: ConvolutionProblem, made: Any) -> ConvolutionPlan | None:
        """The engine that was chosen before; None without such a choice, or if cuDNN no longer offers that engine."""
        chosen = self.choices.get(str(problem))
        for index in range(made.get_execution_plan_count() if chosen else 0):
            # By name, as indices may change with the order of cuDNN's proposals.
            if made.get_plan_name_at_index(index) == chosen and build_engine(self.cudnn, made, index):
                return ConvolutionPlan(problem, made, index, self)
        return None

    def _fastest(self, problem: ConvolutionProblem, made: Any) -> ConvolutionPlan:
        plans = []
        began = monotonic()
        for index in build_engines(self.cudnn, made):
            plans.append(ConvolutionPlan(problem, made, index, self))
            if len(plans) == TRIED or monotonic() - began > SEARCH_SECONDS:
                break
        if not plans:
            raise CudnnRefused(f"cuDNN: expected an engine for {problem}, got none that can be built")
        best = min(plans, key=self._timed(problem, plans))
        made.build_plan_at_index(best.index)
        self.choices.put(str(problem), made.get_plan_name_at_index(best.index))
        return best

    def _timed(self, problem: ConvolutionProblem, plans: list[ConvolutionPlan]) -> Callable[[ConvolutionPlan], float]:
        """The function that measures a plan in milliseconds, on memory of its own; 0 if that does not fit."""
        xp = self.device.xp
        stream = self.device.stream
        try:
            item = ITEMS[problem.dtype]
            arrays = {uid: xp.zeros(prod(dim) * item, "uint8") for uid, dim in problem.extents.items()}
            workspace = xp.empty(max(plan.workspace for plan in plans), "uint8")
        except MemoryError:
            return lambda plan: 0.0

        def milliseconds(plan: ConvolutionPlan) -> float:
            addresses = {uid: array.data.ptr for uid, array in arrays.items()}
            plan.run(addresses, workspace.data.ptr)  # a first run, not timed, may load code
            events = [stream.record()]
            for _ in range(REPEATED):
                plan.run(addresses, workspace.data.ptr)
                events.append(stream.record())
            events[-1].synchronize()
            return float(min(xp.cuda.get_elapsed_time(a, b) for a, b in pairwise(events)))

        return milliseconds

    def __repr__(self) -> str:
        return f"cuDNN({', '.join(self.version)}; {len(self.plans)} plans)"


def _device_name(xp: Any) -> str:
    """The name of the current GPU."""
    return str(xp.cuda.runtime.getDeviceProperties(xp.cuda.runtime.getDevice())["name"].decode())


def missing_cudnn() -> str:
    """Why cuDNN cannot be used on this machine, in one line; "" if it can."""
    found = _find_cudnn()
    return found if isinstance(found, str) else ""


def _load_frontend() -> Any:
    """The module of cuDNN's frontend. Raises NetpartError, naming what is missing."""
    found = _find_cudnn()
    if isinstance(found, str):
        raise NetpartError(found)
    return found


@cache
def _find_cudnn() -> Any:
    try:
        cudnn = import_module("cudnn")
        cudnn.backend_version()
    except (ImportError, RuntimeError, OSError) as error:
        hint = "pip install nvidia-cudnn-cu13 'nvidia-cudnn-frontend>=1.24,<1.29'"
        return f"no cuDNN: {error}; {hint} for faster convolutions"
    return cudnn
