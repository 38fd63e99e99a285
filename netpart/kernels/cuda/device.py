"""Device: what the kernels of one worker share on its GPU: streams, compiled sources, values that change by step."""

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
from netpart.kernels.op import Array

SOURCE = Path(__file__).with_name("source")
INCLUDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)
REALS = {"float32": "float", "float64": "double"}
OPTIONS = "-std=c++17", "--device-as-default-execution-space"
"""For NVRTC; the second because that of CUDA 13.0 takes a generic lambda in a kernel for a function of the host."""
SLOTS_PER_LAUNCH = 128
"""Slots that one launch tells their values: these travel in its parameters, so no memory of the host is read later."""
THREAD_STREAMS = local()
"""The streams of this thread: its workers enqueue on one, so they may read each other's arrays."""


class CudaDevice:
    """The current GPU, as the kernels of one worker use it. ``xp`` is cupy; ``precision`` what products compute with.

    ``thread_stream`` is the current one of this thread from now on. cuBLAS and cuDNN are loaded when first asked for.
    ``held``: bytes that kernels keep on the device from step to step.
    """

    def __init__(self, xp: Any, precision: str = "float32") -> None:
        self.xp = xp
        self.precision = precision
        self.stream = thread_stream(xp)
        self.values: list[Callable[[int], float]] = []
        self.slots: list[Array] = []
        self.told: int | None = None
        self.held = 0
        self.complaints = Complaints(xp)
        self.use()

    def use(self) -> None:
        """Makes the stream the current one of this thread: what CuPy does goes there as well."""
        self.stream.use()

    def function(self, file: str, name: str, real: Any, defines: tuple[str, ...] = ()) -> Any:
        """The kernel ``name`` of ``source/file`` with REAL the dtype ``real`` and ``defines`` ("NAME=value"); compiled
        once in a process."""
        return _compiled_kernel(self.xp, file, name, REALS[np.dtype(real).name], defines)

    def slot(self, value: Callable[[int], float]) -> Array:
        """Device memory (1,), float64, that is ``value(step)`` in whatever is played of ``step``.

        Callables that are equal share a slot.
        """
        if value not in self.values:
            if len(self.values) == SLOTS_PER_LAUNCH * len(self.slots):
                self.slots.append(self.xp.zeros(SLOTS_PER_LAUNCH, np.float64))
            self.values.append(value)
            self.told = None
        at = self.values.index(value)
        return self.slots[at // SLOTS_PER_LAUNCH][at % SLOTS_PER_LAUNCH :][:1]

    def tell(self, step: int) -> None:
        """Enqueues the values of all slots in ``step``, unless they have them."""
        if step == self.told:
            return
        self.told = step
        for first, slots in zip(range(0, len(self.values), SLOTS_PER_LAUNCH), self.slots, strict=True):
            values = [value(step) for value in self.values[first : first + SLOTS_PER_LAUNCH]]
            told = np.zeros((), [("value", np.float64, SLOTS_PER_LAUNCH)])
            told["value"][: len(values)] = values
            self.function("slots.cu", "tell", np.float64)((1,), (SLOTS_PER_LAUNCH,), (slots, told))

    def turn(self, lane: int) -> Any:
        """Lets what this thread enqueues from now on go to a lane, by libraries as well: 0 is ``thread_stream``, and
        others are beside it. Returns its stream."""
        found = thread_stream(self.xp, lane)
        found.use()
        for library in ("blas", "dnn"):
            if library in self.__dict__:
                self.__dict__[library].turn(found)
        return found

    @cached_property
    def properties(self) -> Mapping[str, Any]:
        """What CUDA says of it (cudaDeviceProp)."""
        runtime = self.xp.cuda.runtime
        found: Mapping[str, Any] = runtime.getDeviceProperties(runtime.getDevice())
        return found

    @cached_property
    def uploads(self) -> Any:
        """The stream of what comes from the host."""
        return self.xp.cuda.Stream(non_blocking=True)

    @cached_property
    def blas(self) -> Any:
        """cuBLAS on the stream; an array module may bring a Blas of its own."""
        return self.library("Blas", "netpart.kernels.cuda.blas")

    @cached_property
    def dnn(self) -> Any:
        """cuDNN on the stream; an array module may bring a Dnn of its own."""
        return self.library("Dnn", "netpart.kernels.cuda.dnn")

    def library(self, name: str, module: str) -> Any:
        """The class ``name`` of the array module, or that of ``module``, on this device."""
        return (getattr(self.xp, name, None) or getattr(import_module(module), name))(self)


def thread_stream(xp: Any, lane: int = 0) -> Any:
    """The stream of this thread on the current GPU, and those beside it, made when first asked for: never the default
    one, which waits for all others.

    The first is entered for good. Behind each ``with`` of a stream, of which CuPy has some inside, as to fetch what
    lies in pieces, it goes back to the one that was entered before, whichever was in use.
    """
    streams = THREAD_STREAMS.__dict__.setdefault("streams", {})
    key = xp.__name__, xp.cuda.runtime.getDevice(), lane
    if key not in streams:
        streams[key] = xp.cuda.Stream(non_blocking=True)
        if lane == 0:
            streams[key].__enter__()
    return streams[key]


def pinned_array(xp: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Memory of the host that the device copies from and to by itself, not yet written."""
    count = prod(shape)
    dtype = np.dtype(dtype)
    memory = xp.cuda.alloc_pinned_memory(max(1, count * dtype.itemsize))
    found: np.ndarray[Any, Any] = np.frombuffer(memory, np.uint8)[: count * dtype.itemsize].view(dtype)
    return found.reshape(shape)


@cache
def _compiled_module(xp: Any, file: str, real: str, defines: tuple[str, ...] = ()) -> Any:
    """``source/file`` compiled with REAL a ``real`` and ``defines``."""
    return xp.RawModule(code=source_text(file), options=(*OPTIONS, f"-DREAL={real}", *(f"-D{one}" for one in defines)))


@cache
def _compiled_kernel(xp: Any, file: str, name: str, real: str, defines: tuple[str, ...] = ()) -> Any:
    """The kernel ``name`` of ``source/file``."""
    return _compiled_module(xp, file, real, defines).get_function(name)


def source_text(file: str) -> str:
    """``source/file`` with the headers beside it in place of their includes: CuPy's cache on disk knows a source by its
    text alone."""
    seen: set[str] = set()

    def included(match: re.Match[str]) -> str:
        if match[1] in seen:
            return ""
        seen.add(match[1])
        return INCLUDE.sub(included, (SOURCE / match[1]).read_text().replace("#pragma once\n", ""))

    return INCLUDE.sub(included, (SOURCE / file).read_text())
