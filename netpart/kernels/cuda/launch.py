"""Launches: kernels of a .cu file bound to arrays, with their arguments marshalled before step 0."""

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
"""The most blocks of a launch: enough to fill any GPU many times over, and the same on all GPUs."""
NEIGHBOURS = 4
"""The least elements of a thread in an element-wise kernel: the float32 that one load of each.cuh reads."""
SHARED = 48 << 10
"""Bytes of dynamic shared memory that a kernel may use without raising its limit."""
Size = int | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LaunchScratch:
    """Temporary memory of a launch, of ``shape`` and ``dtype``.

    As an argument of several launches of one Op it is the same memory in all of them.
    """

    shape: tuple[int, ...]
    dtype: Any


class Launchable(Protocol):
    """Work that can be enqueued: a kernel, or a call of a library. ``scratch``: the temporary memory that it needs."""

    @property
    def scratch(self) -> dict[int, LaunchScratch]: ...

    def __call__(self, memory: dict[LaunchScratch, Array]) -> None: ...


class KernelLaunch(NamedTuple):
    """A kernel with its arguments, except those of ``scratch`` (by index), whose memory each call is given."""

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
    """Base of the kernel mixins that launch kernels of ``source/`` on a device."""

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
        """The Op of the kernel ``name`` of ``source/file`` with ``size`` threads, but at most MOST blocks.

        Kernels step by the size of the grid, so that fewer threads than elements are enough. Of size 0: nothing.
        Arrays and LaunchScratch become pointers and None the null pointer. A StridedView or a structured array of one
        element is passed by value, an int as long long, a float as double, a bool as int. ``shared``: bytes of dynamic
        shared memory. ``grid`` is for kernels with a grid of their own.
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
        """A launch for ``launches``, as in ``launch``; None: nothing to do. ``defines``: macros as "NAME=value"."""
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
        """A kernel built on ``each`` of each.cuh, for ``size`` elements, which is its last argument."""
        return self.bound(file, name, -(-size // NEIGHBOURS), *args, int(size))

    def launches(self, *launches: Launchable | None) -> Op:
        """One Op of several launches, in order."""
        found = [launch for launch in launches if launch is not None]
        # A dict removes duplicates but keeps the order, which is that of ``memory``.
        scratch = list(dict.fromkeys(s for launch in found for s in launch.scratch.values()))
        if not found:
            return NOTHING

        def run(*memory: Array) -> None:
            given = dict(zip(scratch, memory, strict=True))
            for launch in found:
                launch(given)

        return Op(run, [(s.shape, s.dtype) for s in scratch])


def check_kernel_size(size: int, what: str) -> int:
    """``size`` if it fits 32 bits, in which kernels divide far faster than in 64; else raises ValueError."""
    if size >= 2**32:
        raise ValueError(f"kernels for GPUs: expected fewer than {2**32} {what}, got {size}; cut the layer")
    return size


def _axis_sizes(size: Size) -> tuple[int, ...]:
    """The size of a grid or block on each axis."""
    return size if isinstance(size, tuple) else (size,)


def kernel_argument(arg: Any) -> Any:
    """The argument in the type that makes CuPy pass what the kernel expects."""
    match arg:
        case None:
            return np.uint64(0)  # CuPy 13 passes an arbitrary address for None (its issue 9046)
        case StridedView(_, value):
            return value
        case bool():  # before int, of which bool is a subclass
            return np.int32(arg)
        case int():
            return np.int64(arg)
        case float():
            return np.float64(arg)
        case _:
            return arg
