"""NCCL on emulated devices, whose processes meet in memory of whoever made the id.

A call lets its host wait for all members, as a stream would: who calls in another order than the others stays there,
until it is refused. What comes of it is written when somebody waits for the stream.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable, Iterator
from struct import Struct
from threading import local
from time import monotonic
from typing import Any

import numpy as np

from cupy import memory, runtime
from cupy.cuda import WORKING, Stream

available = True
NCCL_SUM = 0
NCCL_UINT8 = 1
NCCL_INT32 = 2
NCCL_INT64 = 4
NCCL_FLOAT32 = 7
NCCL_FLOAT64 = 8
TYPES = {1: np.uint8, 2: np.int32, 4: np.int64, 7: np.float32, 8: np.float64}
ID, MESSAGE = Struct("<QQ112x"), Struct("<qq")
MEMBERS = 16
ROOM = 32 << 20
LINE = 256
"""Members at most, bytes that each may bring, and bytes of what it tells: calls entered, calls left, device, call."""
SECONDS = 20.0
"""After which a member that waits for others in vain says so; NCCL itself would wait for ever."""


class NcclError(RuntimeError):
    """What NCCL refuses."""


class Group(local):
    """Calls of this thread that are made when it ends, and messages: (communicator, peer, address, bytes, stream), of
    which those that are to come have negative bytes."""

    def __init__(self) -> None:
        self.depth = 0
        self.calls: list[Callable[[], None]] = []
        self.messages: list[tuple[Any, int, int, int, int]] = []


GROUP = Group()


def groupStart() -> None:
    GROUP.depth += 1


def groupEnd() -> None:
    GROUP.depth -= 1
    calls, GROUP.calls = GROUP.calls, []
    for call in calls:
        call()
    messages, GROUP.messages = GROUP.messages, []
    if messages:
        messages[0][0].deliver(messages)


def get_unique_id() -> bytes:
    descriptor = os.memfd_create("emulated-nccl")
    os.ftruncate(descriptor, MEMBERS * (LINE + ROOM))
    return ID.pack(os.getpid(), descriptor)


class NcclCommunicator:
    """One member. Raises NcclError for two of them on one device."""

    def __init__(self, members: int, name: bytes, rank: int) -> None:
        process, descriptor = ID.unpack(name)
        with open(f"/proc/{process}/fd/{descriptor}", "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        whole = np.frombuffer(self.memory, np.uint8)
        self.told = whole[: MEMBERS * LINE].view(np.int64).reshape(MEMBERS, -1)[:members]
        self.rooms = whole[MEMBERS * LINE :].reshape(MEMBERS, ROOM)[:members]
        self.rank = rank
        self.round = 0
        self.aborted = False
        self.told[rank, 2] = runtime.getDevice()
        self.meet(b"init")
        if len(set(self.told[:, 2].tolist())) < members:
            raise NcclError("NCCL_ERROR_INVALID_USAGE: Duplicate GPU detected")

    def meet(self, brought: bytes, call: tuple[int, ...] = ()) -> list[bytes]:
        """What every member has brought to this call. Raises NcclError if they make different ones."""
        assert len(brought) <= ROOM
        self.wait(1)
        self.round += 1
        mine = self.told[self.rank]
        mine[3], mine[4:] = len(brought), [*call, *[0] * (len(mine) - 4 - len(call))]
        self.rooms[self.rank, : len(brought)] = np.frombuffer(brought, np.uint8)
        mine[0] = self.round
        self.wait(0)
        same = (self.told[:, 4:] == mine[4:]).all()
        found = [bytes(room[:count]) for room, count in zip(self.rooms, self.told[:, 3].tolist(), strict=True)]
        mine[1] = self.round
        if not same:
            raise NcclError(f"members make different calls: {self.told[:, 4:].tolist()}")
        return found

    def wait(self, column: int) -> None:
        """Until all members have entered this call, or left the last one."""
        end = monotonic() + SECONDS
        while (self.told[:, column] < self.round).any():
            if self.aborted or monotonic() > end:
                raise NcclError(f"NCCL_ERROR_SYSTEM_ERROR: in call {self.round} of {self.told[:, column].tolist()}")
            os.sched_yield()

    def collect(
        self, kind: int, send: int, receive: int, counts: tuple[int, int], element: int, more: int, stream: int,
        result: Callable[[list[Any]], Any], brings: bool = True,
    ) -> None:  # fmt: skip
        """A call to which each that ``brings`` any brings counts[0] elements and from which it gets counts[1] of what
        ``result`` makes of them."""

        def call() -> None:
            queue, item = runtime.STREAMS[stream], np.dtype(TYPES[element]).itemsize
            queue.synchronize()
            brought = fetched(queue, [(send, counts[0] * item)] * brings)
            found = self.meet(b"".join(brought), (kind, *counts, element, more))
            out = result([np.frombuffer(each, TYPES[element]) for each in found])
            if out is not None:
                assert out.size == counts[1]
                queue.enqueue(lambda: bring(receive, out.tobytes()))

        if GROUP.depth:
            GROUP.calls.append(call)
        else:
            call()

    def allReduce(self, send: int, receive: int, count: int, element: int, op: int, stream: int) -> None:
        self.collect(1, send, receive, (count, count), element, op, stream, total)

    def reduceScatter(self, send: int, receive: int, count: int, element: int, op: int, stream: int) -> None:
        n, own = len(self.told), slice(self.rank * count, (self.rank + 1) * count)
        self.collect(2, send, receive, (n * count, count), element, op, stream, lambda all: total(all)[own].copy())

    def allGather(self, send: int, receive: int, count: int, element: int, stream: int) -> None:
        self.collect(3, send, receive, (count, len(self.told) * count), element, 0, stream, np.concatenate)

    def broadcast(self, send: int, receive: int, count: int, element: int, root: int, stream: int) -> None:
        own = self.rank == root
        self.collect(4, send, receive, (count, count), element, root, stream, lambda all: all[root], own)

    def reduce(self, send: int, receive: int, count: int, element: int, op: int, root: int, stream: int) -> None:
        def result(all: list[Any]) -> Any:
            return total(all) if self.rank == root else None

        self.collect(5, send, receive, (count, count), element, root, stream, result)

    def send(self, address: int, count: int, element: int, peer: int, stream: int) -> None:
        assert GROUP.depth, "a message that is not in a group waits for its other end"
        GROUP.messages.append((self, peer, address, count * np.dtype(TYPES[element]).itemsize, stream))

    def recv(self, address: int, count: int, element: int, peer: int, stream: int) -> None:
        assert GROUP.depth, "a message that is not in a group waits for its other end"
        GROUP.messages.append((self, peer, address, -count * np.dtype(TYPES[element]).itemsize, stream))

    def deliver(self, messages: list[Any]) -> None:
        """The messages of a group, all at once."""
        queue = runtime.STREAMS[messages[0][4]]
        queue.synchronize()
        sent = [(peer, (address, n)) for _, peer, address, n, _ in messages if n > 0]
        brought = fetched(queue, [place for _, place in sent])
        found = self.meet(
            b"".join(MESSAGE.pack(peer, n) + each for (peer, (_, n)), each in zip(sent, brought, strict=True))
        )
        came = [[each for peer, each in unpacked(one) if peer == self.rank] for one in found]
        for _, peer, address, nbytes, _ in messages:
            if nbytes < 0:
                data = came[peer].pop(0)
                assert len(data) == -nbytes
                queue.enqueue(lambda to=address, data=data: bring(to, data))
        assert not any(came), "messages that nobody receives"

    def abort(self) -> None:
        self.aborted = True

    destroy = abort


def fetched(queue: Stream, places: list[tuple[int, int]]) -> list[bytes]:
    """Memory of the device, (address, bytes) of each, on its way to others as the next work of ``queue``."""
    with WORKING:
        queue.begin()
        for address, nbytes in places:
            memory.reads(memory.Lying(address, (nbytes,)))
        return [ctypes.string_at(address, nbytes) for address, nbytes in places]


def bring(address: int, data: bytes) -> None:
    """What came from others, to memory of the device."""
    memory.writes(memory.Lying(address, (len(data),)))
    ctypes.memmove(address, data, len(data))


def total(all: list[Any]) -> Any:
    """The sum, in the order of the members."""
    out = all[0].copy()
    for each in all[1:]:
        out += each
    return out


def unpacked(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(peer, content) of the messages that a member sends."""
    at = 0
    while at < len(data):
        peer, nbytes = MESSAGE.unpack_from(data, at)
        at += MESSAGE.size
        yield peer, data[at : at + nbytes]
        at += nbytes
