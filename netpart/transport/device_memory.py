"""Device memory blocks and events that processes on GPUs of one host open in each other by handles.

CUDA makes a handle of 64 bytes for a block or an event of this process, and opens the handle of another process (CUDA
Runtime API, device management: cudaIpcGetMemHandle and related functions). Handles are exchanged as text: those of the
blocks, each with its size in bytes, then those of the events.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from netpart.transport.cache_lines import round_up

EVENTS = 32
"""Events of a rank. With more of them a receiver waits less often for later work than its message, see cuda_ipc.py."""
CHUNK = 2 << 20
"""Bytes of a page of device memory. A handle opens whole pages, so the pages of a block contain no other memory."""


class DeviceExports:
    """Blocks and events that other processes may open. ``xp`` is cupy; ``blocks`` are flat byte arrays, None if empty.

    Blocks are never freed: peers may have them open for longer than this process knows. They end with the process.
    """

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.blocks: list[Any] = []
        self.events = [xp.cuda.Event(disable_timing=True, interprocess=True) for _ in range(EVENTS)]

    def block(self, nbytes: int) -> Any:
        """``nbytes`` zeroed bytes of the current device, not from CuPy's pool: no handle can name a part of its blocks.

        Raises the array module's CUDARuntimeError if there is too little memory.
        """
        size = round_up(nbytes, CHUNK)
        block = _wrap_device_bytes(self.xp, self.xp.cuda.runtime.malloc(size), size)[:nbytes]
        block.fill(0)
        return block

    def __str__(self) -> str:
        runtime = self.xp.cuda.runtime
        blocks = [
            (runtime.ipcGetMemHandle(b.data.ptr).hex(), str(b.nbytes)) if b is not None else () for b in self.blocks
        ]
        events = [runtime.ipcGetEventHandle(event.ptr).hex() for event in self.events]
        return ",".join((" ".join(map(":".join, blocks)), " ".join(events)))


class DeviceImports:
    """The exports of another process, given the text of its DeviceExports; each is opened when it is first used."""

    def __init__(self, xp: Any, text: str) -> None:
        self.xp = xp
        self._blocks, self._events = (part.split(" ") for part in text.split(","))
        self._open: dict[int, Any] = {}
        self._heard: dict[int, int] = {}

    def block(self, number: int) -> Any:
        """Block ``number`` as a byte array that the current device can write."""
        if number not in self._open:
            handle, nbytes = self._blocks[number].split(":")
            pointer = self.xp.cuda.runtime.ipcOpenMemHandle(bytes.fromhex(handle))
            self._open[number] = _wrap_device_bytes(self.xp, pointer, int(nbytes))
        return self._open[number]

    def event(self, number: int) -> int:
        """The pointer of event ``number``."""
        if number not in self._heard:
            self._heard[number] = self.xp.cuda.runtime.ipcOpenEventHandle(bytes.fromhex(self._events[number]))
        return self._heard[number]

    def close(self) -> None:
        """Close all opened blocks and events; they must not be used afterwards."""
        for block in self._open.values():
            self.xp.cuda.runtime.ipcCloseMemHandle(block.data.ptr)
        for event in self._heard.values():
            self.xp.cuda.runtime.eventDestroy(event)
        self._open.clear()
        self._heard.clear()


def _wrap_device_bytes(xp: Any, pointer: int, nbytes: int) -> Any:
    """Device memory at ``pointer`` as an array of bytes.

    The array names the current device, even if the memory is a peer's: kernels and copies of this device reach it by
    its address, which is all that CuPy needs.
    """
    memory = xp.cuda.UnownedMemory(pointer, nbytes, None, xp.cuda.runtime.getDevice())
    return xp.ndarray((nbytes,), np.uint8, xp.cuda.MemoryPointer(memory, 0))


def device_array_address(array: Any) -> int:
    """The address of the first element of an array on the device."""
    return int(array.data.ptr)


def can_access_peer(xp: Any, one: int, other: int) -> bool:
    """True if GPU ``one`` of this host can access memory of GPU ``other``."""
    return one == other or bool(xp.cuda.runtime.deviceCanAccessPeer(one, other))
