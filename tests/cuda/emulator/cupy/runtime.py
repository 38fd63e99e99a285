"""The CUDA runtime of the emulated device."""

from __future__ import annotations

import ctypes
import os
from threading import local
from typing import Any
from weakref import WeakValueDictionary

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


GRAVES: list[bytearray] = []
"""Memory of the device that was given back while there was work to do, which may still touch it, as it may on a GPU."""


class Block(bytearray):
    """Memory of the device."""

    def __del__(self) -> None:
        if any(stream.queue for stream in list(STREAMS.values())):
            GRAVES.append(self)


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
    return 13000


def runtimeGetVersion() -> int:
    return 13000


def memGetInfo() -> tuple[int, int]:
    return 16 << 30, 16 << 30


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
    if host is None or owner is not None:
        queue.enqueue(lambda alive=(alive, owner): ctypes.memmove(dst, src, size))
        return
    queue.refuse_while_capturing("cudaMemcpyAsync of pageable memory")
    queue.synchronize()
    ctypes.memmove(dst, src, size)


def memsetAsync(dst: int, value: int, size: int, stream: int) -> None:
    STREAMS[stream].enqueue(lambda: ctypes.memset(dst, value, size))


__all__ = [
    "eventDestroy", "free", "ipcCloseMemHandle", "ipcGetEventHandle", "ipcGetMemHandle", "ipcOpenEventHandle",
    "ipcOpenMemHandle", "malloc", "streamWaitEvent",
]  # fmt: skip
