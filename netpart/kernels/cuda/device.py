"""CudaDevice: the state that a worker's kernels share on its GPU: streams, compiled sources and per-step values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from importlib import import_module
from math import prod
from pathlib import Path
from threading import local
from typing import Any

import numpy as np

from netpart.kernels.cuda.complaints import Complaints
from netpart.kernels.cuda.slots import SingleValue, SlotBlock, StepFunction, StepSlots
from netpart.kernels.op import Array

SOURCE = Path(__file__).with_name("source")
INCLUDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)
REALS = {"float32": "float", "float64": "double"}
OPTIONS = "-std=c++17", "--device-as-default-execution-space"
"""Options of NVRTC; the second because CUDA 13.0 takes a generic lambda in a kernel for a host function."""
THREAD_STREAMS = local()
"""The streams of this thread: its workers enqueue on one stream, so they may read each other's arrays."""


class CudaDevice:
    """The current GPU for the kernels of one worker. ``xp`` is cupy; ``precision`` is that of products of float32.

    Makes ``thread_stream`` the current stream of this thread. cuBLAS and cuDNN are loaded when first used.
    ``held``: bytes that kernels keep on the device between steps.
    """

    def __init__(self, xp: Any, precision: str = "float32") -> None:
        self.xp = xp
        self.precision = precision
        self.stream = thread_stream(xp)
        self.slots = StepSlots()
        self.held = 0
        self.complaints = Complaints(xp)
        self.use()

    def use(self) -> None:
        """Make the stream the current one of this thread, so that CuPy enqueues there as well."""
        self.stream.use()

    def function(self, file: str, name: str, real: Any, defines: tuple[str, ...] = ()) -> Any:
        """The kernel ``name`` of ``source/file``, with REAL for dtype ``real`` and ``defines`` ("NAME=value").

        It is compiled once in a process.
        """
        return _compiled_kernel(self.xp, file, name, REALS[np.dtype(real).name], defines)

    def slot(self, value: Callable[[int], float]) -> Array:
        """Device memory (1,), float64, that holds ``value(step)`` while the work of ``step`` runs.

        Callables that are equal share a slot.
        """
        return self.step_slots(SingleValue(value), 1)

    def step_slots(self, function: StepFunction, count: int) -> Array:
        """Device memory (count,), float64, with the values of ``function``, which is called once in a step."""
        return self.slots.find(function, count, self._slot_block)

    def write_step(self, step: int) -> None:
        """Enqueue writing the values of ``step`` to all slots, unless they hold them already."""
        self.slots.write(step)

    def _slot_block(self) -> SlotBlock:
        """New slots with the launch that sets them."""
        return SlotBlock(self.xp, self.function("slots.cu", "tell", np.float64))

    def turn(self, lane: int) -> Any:
        """Make a lane's stream the current one of this thread, for libraries as well, and return it.

        Lane 0 is ``thread_stream``; the others are streams that run concurrently with it.
        """
        found = thread_stream(self.xp, lane)
        found.use()
        for library in ("blas", "dnn"):
            if library in self.__dict__:  # a cached_property that was used: asking for it would load the library
                self.__dict__[library].turn(found)
        return found

    @cached_property
    def properties(self) -> Mapping[str, Any]:
        """The properties of the GPU (cudaDeviceProp)."""
        runtime = self.xp.cuda.runtime
        found: Mapping[str, Any] = runtime.getDeviceProperties(runtime.getDevice())
        return found

    @cached_property
    def uploads(self) -> Any:
        """The stream of copies from the host."""
        return self.xp.cuda.Stream(non_blocking=True)

    @cached_property
    def blas(self) -> Any:
        """cuBLAS on the stream; an array module may have a Blas of its own."""
        return self.library("Blas", "netpart.kernels.cuda.blas")

    @cached_property
    def dnn(self) -> Any:
        """cuDNN on the stream; an array module may have a Dnn of its own."""
        return self.library("Dnn", "netpart.kernels.cuda.dnn")

    def library(self, name: str, module: str) -> Any:
        """An instance for this device of the class ``name`` of the array module, if it has one, else of ``module``."""
        return (getattr(self.xp, name, None) or getattr(import_module(module), name))(self)


def thread_stream(xp: Any, lane: int = 0) -> Any:
    """The stream ``lane`` of this thread on the current GPU, created when first used.

    It is never the default stream, which waits for all others. Lane 0 is entered for good: at the end of a ``with`` of
    a stream, CuPy returns to the stream that was entered before it, not to the one that ``use`` had made current.
    CuPy has such a ``with`` inside, for example to copy arrays that are not contiguous to the host.
    """
    streams = THREAD_STREAMS.__dict__.setdefault("streams", {})
    key = xp.__name__, xp.cuda.runtime.getDevice(), lane
    if key not in streams:
        streams[key] = xp.cuda.Stream(non_blocking=True)
        if lane == 0:
            streams[key].__enter__()
    return streams[key]


def pinned_array(xp: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Uninitialised host memory that is page-locked, so that the device copies from and to it asynchronously."""
    count = prod(shape)
    dtype = np.dtype(dtype)
    memory = xp.cuda.alloc_pinned_memory(max(1, count * dtype.itemsize))
    found: np.ndarray[Any, Any] = np.frombuffer(memory, np.uint8)[: count * dtype.itemsize].view(dtype)
    return found.reshape(shape)


@cache
def compiled_module(xp: Any, file: str, real: str, defines: tuple[str, ...] = ()) -> Any:
    """The module of ``source/file``, compiled with REAL=``real`` and ``defines``."""
    return xp.RawModule(code=source_text(file), options=(*OPTIONS, f"-DREAL={real}", *(f"-D{one}" for one in defines)))


@cache
def _compiled_kernel(xp: Any, file: str, name: str, real: str, defines: tuple[str, ...] = ()) -> Any:
    """The kernel ``name`` of ``source/file``."""
    return compiled_module(xp, file, real, defines).get_function(name)


def source_text(file: str) -> str:
    """The text of ``source/file`` with its headers inlined, because CuPy's cache on disk compares this text alone."""
    seen: set[str] = set()

    def included(match: re.Match[str]) -> str:
        if match[1] in seen:  # as #pragma once would do
            return ""
        seen.add(match[1])
        return INCLUDE.sub(included, (SOURCE / match[1]).read_text().replace("#pragma once\n", ""))

    return INCLUDE.sub(included, (SOURCE / file).read_text())
