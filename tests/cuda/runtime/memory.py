"""Memory of the device and pinned memory of the host: both are the host's. That of the device has no name, and other
processes open it by handles."""

from __future__ import annotations

import ctypes
import mmap
import os
from dataclasses import dataclass
from struct import Struct

from tests.cuda.runtime import streams
from tests.cuda.runtime.errors import INVALID_HANDLE, INVALID_VALUE, MAP_FAILED, MEMORY, UNSUPPORTED, Refused
from tests.cuda.runtime.streams import Stream

HOST, DEVICE = 1, 2
"""cudaMemoryType."""
TOTAL = 140 << 30
HANDLE = Struct("<4sQQQi32x")
"""Kind, process, descriptor or event, bytes, device: 64 bytes as CUDA's."""
RUBBISH, MOST_RUBBISH = 0xFF, 64 << 20


@dataclass
class Block:
    """Memory of one kind. ``descriptor`` is -1 where others may not open it; ``opened`` counts handles of it here."""

    start: int
    nbytes: int
    kind: int
    device: int
    memory: mmap.mmap
    descriptor: int = -1
    opened: int = 0
    origin: bytes = b""


BLOCKS: dict[int, Block] = {}


def block(address: int, nbytes: int = 1) -> Block | None:
    """The memory that has these bytes; None if they are the host's own."""
    for found in BLOCKS.values():
        if found.start <= address and address + nbytes <= found.start + found.nbytes:
            return found
    return None


def mapped(descriptor: int, nbytes: int) -> tuple[int, mmap.mmap]:
    memory = mmap.mmap(descriptor, nbytes)
    return ctypes.addressof(ctypes.c_ubyte.from_buffer(memory)), memory


def malloc(nbytes: int) -> int:
    """Memory of the current device, full of rubbish. Graphs may hold none that is made while they are captured."""
    if streams.capturing():
        raise Refused(UNSUPPORTED, "cudaMalloc while a stream captures: memory that a graph would not keep")
    if nbytes > free_bytes():
        raise Refused(MEMORY, f"{nbytes} bytes")
    descriptor = os.memfd_create("device")
    os.ftruncate(descriptor, max(1, nbytes))
    start, memory = mapped(descriptor, max(1, nbytes))
    BLOCKS[start] = Block(start, nbytes, DEVICE, streams.device(), memory, descriptor)
    ctypes.memset(start, RUBBISH, min(nbytes, MOST_RUBBISH))
    return start


def free(address: int | None) -> None:
    """Waits for the device, as cudaFree does."""
    if not address:
        return
    found = BLOCKS.get(address)
    if found is None or found.kind != DEVICE or found.opened:
        raise Refused(INVALID_VALUE, f"cudaFree of {address:#x}, which cudaMalloc did not return")
    streams.synchronize_device()
    os.close(found.descriptor)
    del BLOCKS[address]


def free_bytes() -> int:
    return TOTAL - sum(b.nbytes for b in BLOCKS.values() if b.kind == DEVICE and b.device == streams.device())


def host_alloc(nbytes: int) -> int:
    start, memory = mapped(-1, max(1, nbytes))
    BLOCKS[start] = Block(start, nbytes, HOST, streams.device(), memory)
    return start


def free_host(address: int) -> None:
    if BLOCKS.pop(address, None) is None:
        raise Refused(INVALID_VALUE, f"cudaFreeHost of {address:#x}, which cudaHostAlloc did not return")


def copy(to: int, source: int, nbytes: int, kind: int, stream: Stream, waits: bool) -> None:
    """cudaMemcpyAsync, or cudaMemcpy if it ``waits``; of pageable memory the first lets the host wait, too."""
    ends = block(to, nbytes), block(source, nbytes)
    wanted = {1: (False, True), 2: (True, False), 3: (True, True)}.get(kind)
    on_device = [end is not None and end.kind == DEVICE for end in ends]
    expected = None if wanted is None else ([True, False], [False, True], [True, True])[kind - 1]
    if expected is not None and on_device != expected:
        raise Refused(
            INVALID_VALUE, f"a copy of kind {kind} from {source:#x} to {to:#x}: on the device are {on_device}"
        )
    if waits or None in ends:
        stream.refuse_while_capturing("a copy of pageable memory")
    stream.enqueue(lambda: (ends, ctypes.memmove(to, source, nbytes)))
    if waits or None in ends:
        stream.synchronize()


def fill(address: int, value: int, nbytes: int, stream: Stream) -> None:
    found = block(address, nbytes)
    if found is None or found.kind != DEVICE:
        raise Refused(INVALID_VALUE, f"memset of {nbytes} bytes at {address:#x}, which are not the device's")
    stream.enqueue(lambda: (found, ctypes.memset(address, value, nbytes)))


def handle(address: int) -> bytes:
    """Of the memory that cudaMalloc returned; others open all of it."""
    found = block(address)
    if found is None or found.descriptor < 0:
        raise Refused(INVALID_VALUE, f"cudaIpcGetMemHandle of {address:#x}")
    return HANDLE.pack(b"mem ", os.getpid(), found.descriptor, found.nbytes, found.device)


def opened(text: bytes) -> int:
    kind, process, descriptor, nbytes, device = HANDLE.unpack(text)
    if kind != b"mem " or process == os.getpid():
        raise Refused(INVALID_HANDLE, "a handle of this process, or of no memory")
    for known in BLOCKS.values():
        if known.origin == text:
            known.opened += 1
            return known.start
    try:
        other = os.open(f"/proc/{process}/fd/{descriptor}", os.O_RDWR)
    except OSError as error:
        raise Refused(MAP_FAILED, str(error)) from None
    try:
        start, memory = mapped(other, nbytes)
    finally:
        os.close(other)
    BLOCKS[start] = Block(start, nbytes, DEVICE, device, memory, -1, 1, text)
    return start


def closed(address: int) -> None:
    found = BLOCKS.get(address)
    if found is None or not found.opened:
        raise Refused(INVALID_VALUE, f"cudaIpcCloseMemHandle of {address:#x}")
    found.opened -= 1
    if not found.opened:
        streams.synchronize_device()
        del BLOCKS[address]
