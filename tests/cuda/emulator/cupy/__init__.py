"""What netpart uses of CuPy, on the memory of the host: found instead of CuPy by tests that put this folder's parent on
the path. Where CuPy refuses something, so does this."""

from __future__ import annotations

from typing import Any

from cupy import cuda, runtime
from cupy.array import MemoryPointer, array, asarray, asnumpy, empty, function, get_array_module, ndarray, zeros
from cupy.raw import RawKernel, RawModule
from cupy.runtime import get_default_memory_pool

__version__ = "14.2.0"
cuda.runtime, cuda.MemoryPointer = runtime, MemoryPointer


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return function(name)


__all__ = [
    "RawKernel", "RawModule", "array", "asarray", "asnumpy", "cuda", "empty", "get_array_module",
    "get_default_memory_pool", "ndarray", "zeros",
]  # fmt: skip
