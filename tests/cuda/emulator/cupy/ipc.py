"""What processes open of each other's emulated devices: memory without a name, and events.

An event that others may wait for is reached when it is recorded, where they are other processes: nobody there can drive
this one's stream. Within ``alone``, all is in one process and as lazy as everything else: a missing wait shows there.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Any
from weakref import WeakValueDictionary

from cupy import memory

HANDLE = Struct("<4sQQQ36x")
"""Kind, process, descriptor or event, and bytes: 64 as CUDA's."""
MEMORY: dict[int, tuple[int, mmap.mmap]] = {}
"""Address of each allocation: its descriptor, and what keeps it."""
OPEN: dict[int, mmap.mmap] = {}
EVENTS: WeakValueDictionary[int, Any] = WeakValueDictionary()
ALONE = [False]


@contextmanager
def alone() -> Iterator[None]:
    """All ranks are in this process."""
    ALONE[0] = True
    try:
        yield
    finally:
        ALONE[0] = False


def mapping(descriptor: int, nbytes: int) -> tuple[int, mmap.mmap]:
    found = mmap.mmap(descriptor, nbytes)
    return ctypes.addressof(ctypes.c_ubyte.from_buffer(found)), found


def malloc(nbytes: int) -> int:
    from cupy.runtime import CUDARuntimeError, memGetInfo

    if nbytes > memGetInfo()[0]:
        raise CUDARuntimeError("cudaErrorMemoryAllocation: out of memory")
    descriptor = os.memfd_create("emulated-device")
    os.ftruncate(descriptor, nbytes)
    address, mapped = mapping(descriptor, nbytes)
    MEMORY[address] = descriptor, mapped
    memory.enroll(address, nbytes)
    return address


def free(address: int) -> None:
    memory.dismiss(address)
    os.close(MEMORY.pop(address)[0])


def ipcGetMemHandle(address: int) -> bytes:
    descriptor, mapped = MEMORY[address]
    return HANDLE.pack(b"mem ", os.getpid(), descriptor, len(mapped))


def ipcOpenMemHandle(handle: bytes, flags: int = 1) -> int:
    from cupy.runtime import CUDARuntimeError

    kind, process, descriptor, nbytes = HANDLE.unpack(handle)
    if kind != b"mem " or (process == os.getpid() and not ALONE[0]):
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle: invalid resource handle")
    try:
        other = os.open(f"/proc/{process}/fd/{descriptor}", os.O_RDWR)
    except OSError as error:
        raise CUDARuntimeError(f"cudaErrorMapBufferObjectFailed: {error}") from None
    try:
        address, OPEN[address] = mapping(other, nbytes)
    finally:
        os.close(other)
    own = [a for a, (known, _) in MEMORY.items() if process == os.getpid() and known == descriptor]
    if own:
        memory.alias(address, nbytes, own[0])
    else:
        memory.enroll(address, nbytes, written=True)
    return address


def ipcCloseMemHandle(address: int) -> None:
    memory.dismiss(address)
    del OPEN[address]


def ipcGetEventHandle(event: int) -> bytes:
    return HANDLE.pack(b"evnt", os.getpid(), event, 0)


def ipcOpenEventHandle(handle: bytes) -> int:
    from cupy.runtime import CUDARuntimeError

    kind, process, event, _ = HANDLE.unpack(handle)
    if kind != b"evnt" or (process == os.getpid()) != ALONE[0]:
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle: invalid resource handle")
    return event if ALONE[0] else 0


def eventDestroy(event: int) -> None:
    return


def streamWaitEvent(stream: int, event: int, flags: int = 0) -> None:
    """That of another process, 0, was reached before anybody here could hear of it."""
    from cupy.runtime import STREAMS

    if event:
        STREAMS[stream].wait_event(EVENTS[event])
