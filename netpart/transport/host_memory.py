"""Memory that processes of one host share: it has no name, and ends with the last process that uses it.

Its address is its descriptor as the kernel shows it, /proc/PID/fd/N, which only processes of the same user may open. So
nothing listens, and no other process can connect. A rank has one piece for all messages that it expects, and one for
each block of ``allocate``. The first piece begins with what all peers need:

    0       bell                   rung by every sender (doorbell.py)
    64      run id
    128     table of lanes         offset and bytes, one row per rank
            lanes                  of each rank, in whole pages (lane.py)
"""

from __future__ import annotations

import mmap
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from struct import Struct
from typing import BinaryIO

import numpy as np

from netpart.errors import TransportError
from netpart.transport.cache_lines import LINE, round_up
from netpart.transport.frames import RUN_ID_BYTES, Array

RUN_ID, TABLE = slice(LINE, LINE + RUN_ID_BYTES), 2 * LINE
ROW = Struct("<QQ")


def shared_memory_refusal() -> str:
    """The reason why this host cannot share memory in this way; "" if it can."""
    if not hasattr(os, "memfd_create"):
        return f"it needs Linux's memfd_create, and this is {platform.system()} without it"
    if platform.machine() != "x86_64":
        return f"it relies on the memory order of x86_64, and this is {platform.machine()}"
    descriptor = os.memfd_create("netpart")
    try:
        Path(f"/proc/{os.getpid()}/fd/{descriptor}").open("r+b").close()
    except OSError as error:
        return f"it needs /proc to find its peers' memory, and got {error}"
    finally:
        os.close(descriptor)
    return ""


def create_shared_memory(rank: int, nbytes: int) -> int:
    """The descriptor of new shared memory, all of it allocated: a shortage shows now, and no step allocates pages.

    Raises TransportError if the host has too little memory.
    """
    descriptor = os.memfd_create(f"netpart-{os.getpid()}")
    try:
        # Checked first: fallocate would fill the host's memory before it fails.
        if nbytes > os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE:
            raise OSError("a host with less memory")
        os.posix_fallocate(descriptor, 0, nbytes)
    except OSError as error:
        os.close(descriptor)
        hint = "use more micro_batches, or run with --transport zeromq, which keeps fewer messages"
        raise TransportError(f"rank {rank}: expected {nbytes} bytes to share, got {error}; {hint}") from None
    return descriptor


def lay_out_lanes(rank: int, run_id: bytes, sizes: Sequence[int]) -> tuple[int, mmap.mmap, list[mmap.mmap]]:
    """Share memory for one lane per rank, of ``sizes`` bytes. Returns its descriptor, the part in front, the lanes.

    Raises TransportError if the host has too little memory.
    """
    first = _front_bytes(len(sizes))
    descriptor = create_shared_memory(rank, first + sum(sizes))
    front = mmap.mmap(descriptor, first)
    lanes = []
    front[RUN_ID] = run_id
    for peer, nbytes in enumerate(sizes):
        start = first + sum(sizes[:peer])
        ROW.pack_into(front, TABLE + peer * ROW.size, start, nbytes)
        lanes.append(mmap.mmap(descriptor, nbytes, offset=start))
    return descriptor, front, lanes


def open_peer_lane(path: Path, run_id: bytes, ranks: int, rank: int) -> tuple[mmap.mmap, mmap.mmap]:
    """The part in front of the lanes in a peer's memory, and the lane there of ``rank``, one of ``ranks``.

    Raises OSError if the memory cannot be opened or is of another run.
    """
    with path.open("r+b") as file:
        front = _map_shared_range(file, 0, _front_bytes(ranks))
        if front[RUN_ID] != run_id:
            raise OSError("memory of another run")
        return front, _map_shared_range(file, *ROW.unpack_from(front, TABLE + rank * ROW.size))


def _map_shared_range(file: BinaryIO, start: int, nbytes: int) -> mmap.mmap:
    """``nbytes`` of shared memory from ``start`` on. Raises OSError if the peer shares less than it promised."""
    room = os.fstat(file.fileno()).st_size - start
    if (start | nbytes) % mmap.ALLOCATIONGRANULARITY or not 0 < nbytes <= room:
        raise OSError(f"memory with room for {room} bytes where {nbytes} were promised")
    return mmap.mmap(file.fileno(), nbytes, offset=start)


def map_peer_bytes(path: Path, offset: int, nbytes: int, writable: bool) -> Array:
    """``nbytes`` bytes from ``offset`` on of memory that a peer shares. Raises OSError if it cannot be opened."""
    # mmap accepts only offsets of whole pages: it maps from the page's start on, and the array skips the rest.
    skipped = offset % mmap.ALLOCATIONGRANULARITY
    access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
    with path.open("r+b" if writable else "rb") as file:
        memory = mmap.mmap(file.fileno(), skipped + nbytes, access=access, offset=offset - skipped)
    return np.frombuffer(memory, np.uint8)[skipped:]


def host_array_address(array: Array) -> int:
    """The address of the first element of an array."""
    return int(array.__array_interface__["data"][0])


def _front_bytes(ranks: int) -> int:
    """Bytes in front of the lanes, in whole pages."""
    return round_up(TABLE + ranks * ROW.size, mmap.ALLOCATIONGRANULARITY)
