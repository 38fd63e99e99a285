"""The CUDA runtime of the emulated device."""

from __future__ import annotations

import ctypes
import os
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
PINNED: dict[int, int] = {}
"""Address and bytes of pinned memory."""


class CUDARuntimeError(RuntimeError):
    """What the CUDA runtime refuses."""


CURRENT = [0]


def getDevice() -> int:
    return CURRENT[0]


def setDevice(device: int) -> None:
    if not 0 <= device < max(1, getDeviceCount()):
        raise CUDARuntimeError(f"cudaSetDevice: invalid device ordinal {device}")
    CURRENT[0] = device


def getDeviceCount() -> int:
    """As many as the environment says: those that look for a GPU find none unless they are meant to."""
    return int(os.environ.get("EMULATED_GPUS", "0"))


def deviceCanAccessPeer(device: int, peer: int) -> bool:
    return device != peer


def getDeviceProperties(device: int) -> dict[str, Any]:
    return {"name": b"emulated", "major": 9, "minor": 0, "multiProcessorCount": 132, "totalGlobalMem": memGetInfo()[1]}


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


def pinned(address: int, size: int) -> bool:
    return any(first <= address and address + size <= first + length for first, length in PINNED.items())


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    queue, host = STREAMS[stream], {memcpyHostToDevice: src, memcpyDeviceToHost: dst}.get(kind)
    if host is None or pinned(host, size):
        queue.enqueue(lambda: ctypes.memmove(dst, src, size))
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
