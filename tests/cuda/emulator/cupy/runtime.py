"""The CUDA runtime of the emulated device."""

from __future__ import annotations

import ctypes
import os
from threading import local
from typing import Any
from weakref import WeakValueDictionary

from cupy import memory
from cupy.ipc import (
    eventDestroy,
    free,
    ipcCloseMemHandle,
    ipcGetEventHandle,
    ipcGetMemHandle,
    ipcOpenEventHandle,
    ipcOpenMemHandle,
    malloc,
    streamWaitEvent,
)

memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice, memcpyDefault = range(5)

STREAMS: WeakValueDictionary[int, Any] = WeakValueDictionary()
PINNED: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Pinned memory by its address."""
VERSION = 97000
"""Of a CUDA that there is not: PyTorch may have loaded the libraries of a real one, which go by its number."""


RUBBISH, LINE = 0xFF, 512
"""What bytes that nobody should read are filled with, and what addresses of fresh memory are multiples of."""


class Block(bytearray):
    """``nbytes`` of memory of the device, and as much around it that is nobody's."""

    def __init__(self, nbytes: int) -> None:
        super().__init__(nbytes + 2 * LINE)
        from cupy.cuda import WORKING, get_current_stream

        self.address = -(-(ctypes.addressof(ctypes.c_char.from_buffer(self)) + 1) // LINE) * LINE
        with WORKING:
            get_current_stream().begin()
            memory.enroll(self.address, nbytes, pool=True)

    def __del__(self) -> None:
        if any(stream.queue for stream in list(STREAMS.values())):
            GRAVES.append(self)
        else:
            memory.dismiss(self.address)


GRAVES: list[Block] = []
"""Memory of the device that was given back while there was work to do, which may still touch it, as it may on a GPU."""


def bury() -> None:
    """Nobody can touch it any more."""
    while GRAVES:
        memory.dismiss(GRAVES.pop().address)


class CUDARuntimeError(RuntimeError):
    """What the CUDA runtime refuses."""


CURRENT = local()


def getDevice() -> int:
    """That of this thread."""
    return getattr(CURRENT, "device", 0)


def setDevice(device: int) -> None:
    if not 0 <= device < max(1, getDeviceCount()):
        raise CUDARuntimeError(f"cudaSetDevice: invalid device ordinal {device}")
    CURRENT.device = device


def getDeviceCount() -> int:
    """As many as the environment says: those that look for a GPU find none unless they are meant to."""
    return int(os.environ.get("EMULATED_GPUS", "0"))


def deviceCanAccessPeer(device: int, peer: int) -> bool:
    return device != peer


def getDeviceProperties(device: int) -> dict[str, Any]:
    found = {"name": b"emulated", "major": 9, "minor": 0, "multiProcessorCount": 132, "totalGlobalMem": memGetInfo()[1]}
    return {**found, "sharedMemPerBlockOptin": 227 << 10}


def driverGetVersion() -> int:
    return VERSION


def runtimeGetVersion() -> int:
    return VERSION


def memGetInfo() -> tuple[int, int]:
    return 16 << 30, 16 << 30


class MemoryPool:
    """The pool of CuPy, which keeps nothing here."""

    def free_bytes(self) -> int:
        return 0


def get_default_memory_pool() -> MemoryPool:
    return MemoryPool()


def deviceSynchronize() -> None:
    for stream in list(STREAMS.values()):
        stream.synchronize()


def streamSynchronize(stream: int) -> None:
    STREAMS[stream].synchronize()


def pinned(address: int, size: int) -> Any:
    """The pinned memory that has these bytes; None if none has."""
    found = (m for first, m in list(PINNED.items()) if first <= address and address + size <= first + len(m))
    return next(found, None)


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int, alive: Any = None) -> None:
    """What is given back meanwhile is not taken: ``alive`` and pinned memory live on until the bytes are copied."""
    queue, host = STREAMS[stream], {memcpyHostToDevice: src, memcpyDeviceToHost: dst}.get(kind)
    owner = None if host is None else pinned(host, size)

    def copy(alive: Any = (alive, owner)) -> None:
        if kind != memcpyHostToDevice:
            memory.reads(memory.Lying(src, (size,)))
        if kind != memcpyDeviceToHost:
            memory.writes(memory.Lying(dst, (size,)))
        ctypes.memmove(dst, src, size)

    queue.enqueue(copy)
    if host is not None and owner is None:
        queue.refuse_while_capturing("cudaMemcpyAsync of pageable memory")
        queue.synchronize()


def memsetAsync(dst: int, value: int, size: int, stream: int) -> None:
    def fill() -> None:
        memory.writes(memory.Lying(dst, (size,)))
        ctypes.memset(dst, value, size)

    STREAMS[stream].enqueue(fill)


__all__ = [
    "eventDestroy", "free", "ipcCloseMemHandle", "ipcGetEventHandle", "ipcGetMemHandle", "ipcOpenEventHandle",
    "ipcOpenMemHandle", "malloc", "streamWaitEvent",
]  # fmt: skip
