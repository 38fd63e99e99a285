# ruff: noqa: N802 - CUDA's names
"""Devices and memory: functions of the CUDA runtime that CuPy calls, each with CUDA's parameters."""

from __future__ import annotations

import ctypes

from tests.cuda.runtime import memory, streams
from tests.cuda.runtime.calls import Int, Pointer, Size, Table, Unsigned, function, give
from tests.cuda.runtime.errors import INVALID_VALUE, Refused
from tests.cuda.runtime.streams import Stream, found

FUNCTIONS: Table = {}


class Handle(ctypes.Structure):
    """cudaIpcMemHandle_t, cudaIpcEventHandle_t."""

    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


class Properties(ctypes.Structure):
    """The beginning of cudaDeviceProp of CUDA 13."""

    _fields_ = [
        ("name", ctypes.c_char * 256), ("uuid", ctypes.c_char * 16), ("luid", ctypes.c_char * 8), ("mask", Unsigned),
        ("totalGlobalMem", Size), ("sharedMemPerBlock", Size), ("regsPerBlock", Int), ("warpSize", Int),
        ("memPitch", Size), ("maxThreadsPerBlock", Int), ("maxThreadsDim", Int * 3), ("maxGridSize", Int * 3),
        ("totalConstMem", Size), ("major", Int), ("minor", Int), ("textureAlignment", Size),
        ("texturePitchAlignment", Size), ("multiProcessorCount", Int),
    ]  # fmt: skip


ATTRIBUTES = {75: 9, 76: 0, 16: 132, 10: 32, 1: 1024, 8: 49152, 97: 232448, 115: 1}
"""cudaDeviceAttr: capability, processors, warp, threads of a block, shared memory, pools."""


@function(FUNCTIONS, Pointer)
def cudaGetDeviceCount(count: int) -> None:
    give(Int, count, streams.devices())


@function(FUNCTIONS, Pointer)
def cudaGetDevice(to: int) -> None:
    give(Int, to, streams.device())


@function(FUNCTIONS, Int)
def cudaSetDevice(number: int) -> None:
    streams.use(number)


@function(FUNCTIONS, Pointer, Int, Int)
def cudaDeviceGetAttribute(to: int, attribute: int, device: int) -> None:
    give(Int, to, ATTRIBUTES.get(attribute, 0))


@function(FUNCTIONS, Pointer, Int)
def cudaGetDeviceProperties(to: int, device: int) -> None:
    found = Properties.from_address(to)
    found.name = b"CUDA on the host"
    found.totalGlobalMem = memory.TOTAL
    found.major = 9
    found.minor = 0
    found.multiProcessorCount = 132
    found.warpSize = 32
    found.maxThreadsPerBlock = 1024


@function(FUNCTIONS, Pointer)
def cudaDriverGetVersion(to: int) -> None:
    give(Int, to, 13000)


@function(FUNCTIONS)
def cudaGetLastError() -> None:
    return


@function(FUNCTIONS)
def cudaDeviceSynchronize() -> None:
    streams.synchronize_device()


@function(FUNCTIONS, Pointer, Int, Int)
def cudaDeviceCanAccessPeer(to: int, device: int, peer: int) -> None:
    give(Int, to, int(device != peer))


@function(FUNCTIONS, Int, Unsigned)
def cudaDeviceEnablePeerAccess(peer: int, flags: int) -> None:
    if peer == streams.device():
        raise Refused(INVALID_VALUE, "a device is no peer of itself")


@function(FUNCTIONS, Pointer, Pointer)
def cudaMemGetInfo(free: int, total: int) -> None:
    give(Size, free, memory.free_bytes())
    give(Size, total, memory.TOTAL)


@function(FUNCTIONS, Pointer, Size)
def cudaMalloc(to: int, nbytes: int) -> None:
    give(Pointer, to, memory.malloc(nbytes))


@function(FUNCTIONS, Pointer)
def cudaFree(address: int | None) -> None:
    memory.free(address)


@function(FUNCTIONS, Pointer, Size, Unsigned)
def cudaHostAlloc(to: int, nbytes: int, flags: int) -> None:
    give(Pointer, to, memory.host_alloc(nbytes))


@function(FUNCTIONS, Pointer)
def cudaFreeHost(address: int) -> None:
    memory.free_host(address)


@function(FUNCTIONS, Pointer, Pointer, Size, Int, Pointer)
def cudaMemcpyAsync(to: int, source: int, nbytes: int, kind: int, stream: int | None) -> None:
    memory.copy(to, source, nbytes, kind, found(Stream, stream), waits=False)


@function(FUNCTIONS, Pointer, Pointer, Size, Int)
def cudaMemcpy(to: int, source: int, nbytes: int, kind: int) -> None:
    memory.copy(to, source, nbytes, kind, streams.legacy(), waits=True)


@function(FUNCTIONS, Pointer, Int, Size, Pointer)
def cudaMemsetAsync(address: int, value: int, nbytes: int, stream: int | None) -> None:
    memory.fill(address, value, nbytes, found(Stream, stream))


@function(FUNCTIONS, Pointer, Int, Size)
def cudaMemset(address: int, value: int, nbytes: int) -> None:
    memory.fill(address, value, nbytes, streams.legacy())


@function(FUNCTIONS, Pointer, Pointer)
def cudaPointerGetAttributes(to: int, address: int) -> None:
    block = memory.block(address)
    give(Int, to, block.kind if block else 0)
    give(Int, to + 4, block.device if block else -2)
    give(Pointer, to + 8, address if block else None)
    give(Pointer, to + 16, address if block and block.kind == memory.HOST else None)


@function(FUNCTIONS, Pointer, Pointer)
def cudaIpcGetMemHandle(to: int, address: int) -> None:
    ctypes.memmove(to, memory.handle(address), 64)


@function(FUNCTIONS, Pointer, Handle, Unsigned)
def cudaIpcOpenMemHandle(to: int, handle: Handle, flags: int) -> None:
    if flags != 1:
        raise Refused(INVALID_VALUE, f"flags {flags}, expected cudaIpcMemLazyEnablePeerAccess")
    give(Pointer, to, memory.opened(bytes(handle.bytes)))


@function(FUNCTIONS, Pointer)
def cudaIpcCloseMemHandle(address: int) -> None:
    memory.closed(address)
