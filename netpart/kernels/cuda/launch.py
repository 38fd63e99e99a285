"""Binds kernels of a .cu file to arrays: what they are called with is marshalled before step 0."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from netpart.kernels.cuda.device import CudaDevice
from netpart.kernels.cuda.view import StridedView
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, Verbs

BLOCK = 256
MOST = 32 * 132
"""Blocks of a launch at most: enough to fill any GPU many times over, and the same on all."""
NEIGHBOURS = 4
"""Elements that a thread of an element-wise kernel takes, at least: float32 that one load of each.cuh reads."""
SHARED = 48 << 10
"""Bytes of dynamic shared memory that a kernel gets without asking."""
Size = int | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LaunchScratch:
    """Memory that a launch may scribble on, of ``shape`` and ``dtype``. As an argument of several launches of one Op it
    is the same memory in all of them."""

    shape: tuple[int, ...]
    dtype: Any


class Launchable(Protocol):
    """Something to enqueue: a kernel, or a call of a library. ``scratch`` is what memory it wants to be given."""

    @property
    def scratch(self) -> dict[int, LaunchScratch]: ...

    def __call__(self, memory: dict[LaunchScratch, Array]) -> None: ...


class KernelLaunch(NamedTuple):
    """A kernel with its arguments, of which ``scratch`` (place -> Scratch) are still to be told."""

    function: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Any, ...]
    shared: int
    scratch: dict[int, LaunchScratch]
    alive: tuple[Any, ...]

    def __call__(self, memory: dict[LaunchScratch, Array]) -> None:
        args = [memory[self.scratch[i]] if i in self.scratch else arg for i, arg in enumerate(self.args)]
        self.function(self.grid, self.block, tuple(args), shared_mem=self.shared)


class CudaVerbs(Verbs):
    """Base of the mixins: verbs that launch kernels of ``source/`` on a device."""

    channels_last: ClassVar[bool] = True
    runs_on: ClassVar[str] = "cuda"
    device: CudaDevice

    def __init__(self, xp: Any, dtype: Any, precision: str = "float32") -> None:
        super().__init__(xp, dtype, precision)
        self.device = CudaDevice(xp, precision)

    def launch(
        self,
        file: str,
        name: str,
        size: int,
        *args: Any,
        block: Size = BLOCK,
        shared: int = 0,
        grid: Size | None = None,
    ) -> Op:
        """The kernel ``name`` of ``source/file`` with as many threads as ``size``, but at most MOST blocks: kernels go
        on by the size of the grid. Of size 0: nothing.

        Arrays and Scratch become pointers, None the null pointer, a View or a structured array of one element goes by
        value, an int is a long long, a float a double, a bool an int. ``shared``: bytes of dynamic shared memory.
        ``grid`` is for kernels with a grid of their own.
        """
        return self.launches(self.bound(file, name, size, *args, block=block, shared=shared, grid=grid))

    def bound(
        self,
        file: str,
        name: str,
        size: int,
        *args: Any,
        block: Size = BLOCK,
        shared: int = 0,
        grid: Size | None = None,
        defines: tuple[str, ...] = (),
    ) -> KernelLaunch | None:
        """As ``launch``, to be one of several ``launches``; None: nothing. ``defines``: "NAME=value" in the source."""
        if size == 0:
            return None
        blocks = min(-(-size // prod(_axis_sizes(block))), MOST) if grid is None else grid
        function = self.device.function(file, name, self.dtype, defines)
        if shared > SHARED:
            function.max_dynamic_shared_size_bytes = shared
        return KernelLaunch(
            function,
            _axis_sizes(blocks),
            _axis_sizes(block),
            tuple(map(kernel_argument, args)),
            shared,
            {i: arg for i, arg in enumerate(args) if isinstance(arg, LaunchScratch)},
            args,
        )

    def elements(self, file: str, name: str, size: int, *args: Any) -> KernelLaunch | None:
        """A kernel made of ``each`` of each.cuh, for ``size`` elements; its arguments end with that."""
        return self.bound(file, name, -(-size // NEIGHBOURS), *args, int(size))

    def launches(self, *launches: Launchable | None) -> Op:
        """Several launches, one after another, as one Op."""
        found = [launch for launch in launches if launch is not None]
        scratch = list(dict.fromkeys(s for launch in found for s in launch.scratch.values()))
        if not found:
            return NOTHING

        def run(*memory: Array) -> None:
            given = dict(zip(scratch, memory, strict=True))
            for launch in found:
                launch(given)

        return Op(run, [(s.shape, s.dtype) for s in scratch])


def check_kernel_size(size: int, what: str) -> int:
    """``size``, if a kernel can count to it in 32 bits; else raises ValueError. 64 bits take far longer to divide."""
    if size >= 2**32:
        raise ValueError(f"kernels for GPUs: expected fewer than {2**32} {what}, got {size}; cut the layer")
    return size


def _axis_sizes(size: Size) -> tuple[int, ...]:
    """A size of a grid or block, axis by axis."""
    return size if isinstance(size, tuple) else (size,)


def kernel_argument(arg: Any) -> Any:
    """An argument as CuPy passes it on: of the type that the kernel expects."""
    match arg:
        case None:
            return np.uint64(0)  # a None becomes some address in CuPy 13 (its issue 9046)
        case StridedView(_, value):
            return value
        case bool():
            return np.int32(arg)
        case int():
            return np.int64(arg)
        case float():
            return np.float64(arg)
        case _:
            return arg
