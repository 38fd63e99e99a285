"""Gives CuPy's own wheel a CUDA runtime and driver where there is no GPU: code in it jumps to ours."""

from __future__ import annotations

import atexit
import ctypes
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from tests.cuda.runtime import blas, calls, cudart, libcuda, streams, work
from tests.cuda.runtime.patch import built, leave, replace

AS_THEY_ARE = {"cudaGetErrorName", "cudaGetErrorString", "cudaRuntimeGetVersion", "cuGetErrorName", "cuGetErrorString"}
"""What the runtime in the wheel does without a driver."""
HEAD = """
extern "C" int done() { return 0; }
extern "C" int cuGetErrorName(int code, const char** name) { return *name = "CUDA_ERROR", 0; }
extern "C" int cuGetErrorString(int code, const char** text) { return *text = "see what the tests' runtime says", 0; }
"""
BODY = """
extern "C" int {}() {{ asm volatile(".skip 16"); return 34; }}
"""
DRIVER = [
    "cuDevicePrimaryCtxRelease",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxCreate_v2",
    "cuCtxDestroy_v2",
    "cuCtxCreate",
    "cuCtxDestroy",
    "cuCtxGetDevice",
    "cuLinkCreate",
    "cuLinkAddData",
    "cuLinkAddFile",
    "cuLinkComplete",
    "cuLinkDestroy",
    "cuModuleLoad",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuModuleGetGlobal",
    "cuLaunchKernel",
    "cuLaunchCooperativeKernel",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxPotentialBlockSize",
    "cuStreamGetCtx",
]
"""What CuPy looks up in the driver."""


def other(name: str) -> Any:
    """What becomes of a function that is none of ours."""
    return None if name in AS_THEY_ARE else calls.missing(name)


def install() -> None:
    """From now on CuPy finds a GPU; before it is imported."""
    spec = PathFinder.find_spec("cupy_backends")
    assert spec is not None
    root = Path(spec.origin or "").parent
    runtime = next((root / "cuda/api").glob("runtime.*.so"))
    replace(runtime, "cuda", cudart.FUNCTIONS | work.FUNCTIONS, other)
    driver = built("libcuda.so.1", HEAD + "".join(map(BODY.format, DRIVER)))
    atexit.register(leave, ctypes.CDLL(str(driver), ctypes.RTLD_GLOBAL).done)
    replace(driver, "cu", libcuda.FUNCTIONS, other)
    blas.load(next((root / "cuda/libs").glob("cublas.*.so")))


def watch_pool() -> None:
    """Refuses memory of CuPy's pool while a stream captures: the pool may give it away before the graph is done."""
    from cupy.cuda.memory_hook import MemoryHook

    class Hook(MemoryHook):  # type: ignore[misc]
        name = "no memory for graphs"

        def malloc_preprocess(self, **_: Any) -> None:
            if streams.capturing():
                raise RuntimeError("memory of CuPy's pool is asked for while a stream captures")

    Hook().__enter__()


def watch_compiler() -> None:
    """Remembers the source of what NVRTC compiles for CuPy."""
    from cupy.cuda import compiler

    plain = compiler._compile_using_nvrtc_no_warning

    def compiled(source: str, options: tuple[str, ...] = (), *rest: Any, **more: Any) -> Any:
        found = plain(source, options, *rest, **more)
        libcuda.remember(found[0], source, options)
        return found

    compiler._compile_using_nvrtc_no_warning = compiled
