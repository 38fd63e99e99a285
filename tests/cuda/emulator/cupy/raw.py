"""RawModule and RawKernel: CUDA C compiled for the host."""

from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from cupy.array import ndarray
from cupy.cuda import Stream, get_current_stream
from cupy.memory import host

FOLDER = Path(gettempdir()) / "netpart-emulator"


class RawKernel:
    """A kernel of a module, compiled when first called."""

    def __init__(self, module: RawModule, name: str) -> None:
        self.module, self.name = module, name
        self.function: Any = None
        self.max_dynamic_shared_size_bytes = 48 << 10

    def compile(self) -> None:
        self.function = self.function or self.module.compiled.get_function(self.name)

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], shared_mem: int = 0,
        stream: Stream | None = None,
    ) -> None:  # fmt: skip
        stream, given = stream or get_current_stream(), tuple(map(passed, args))
        if self.function is None:
            stream.refuse_while_capturing("cuModuleLoadData")
            self.compile()
        assert 0 < np.prod(block) <= 1024
        assert shared_mem <= self.max_dynamic_shared_size_bytes <= 227 << 10
        stream.enqueue(lambda: self.function((*grid, 1, 1)[:3], (*block, 1, 1)[:3], given, shared_mem))


class RawModule:
    """CUDA C."""

    def __init__(self, *, code: str, options: tuple[str, ...] = (), backend: str = "nvrtc") -> None:
        self.code, self.options = code, options
        self.built: Any = None

    @property
    def compiled(self) -> Any:
        if self.built is None:
            FOLDER.mkdir(exist_ok=True)
            self.built = host().compile(self.code, self.options, FOLDER)
        return self.built

    def get_function(self, name: str) -> RawKernel:
        return RawKernel(self, name)


def passed(arg: Any) -> Any:
    """An argument as the driver takes it: by value, as it is at the launch."""
    if isinstance(arg, np.ndarray):
        if arg.size != 1:
            raise TypeError(
                f"a numpy.ndarray of shape {arg.shape} as a kernel parameter: only those of size one are values"
            )
        return arg.reshape(-1).copy()[0]
    if arg is None or isinstance(arg, ndarray | np.generic):
        return arg
    if isinstance(arg, bool | int | float):
        return np.asarray(arg)[()]
    raise TypeError(f"{type(arg).__name__} as a kernel parameter")
