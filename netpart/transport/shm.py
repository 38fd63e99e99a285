"""ShmTransport: memory shared by processes of one host. A message is one copy, made by its sender.

A message with a place in its receiver's memory of ``allocate`` is copied there, and the receiver copies nothing. A
message that stays in such memory of its sender is not copied at all: the receiver reads it there.

    rank 0 ──writes──▶ lane 0│
    rank 2 ──writes──▶ lane 2│ memory of rank 1 ──▶ mailbox ──▶ worker        (lane.py: slots, headers, counts)
              ──rings──▶ bell│                                                (doorbell.py: wakes the worker)

Each rank shares one piece of memory without a name for all messages that it expects (host_memory.py).
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from netpart.errors import TransportError
from netpart.transport.doorbell import RANK_BITS, Doorbell
from netpart.transport.frames import RUN_ID_BYTES, Array, Channel, FrameHeader
from netpart.transport.host_memory import (
    create_shared_memory,
    host_array_address,
    lay_out_lanes,
    map_peer_bytes,
    open_peer_lane,
)
from netpart.transport.lane import ENTRY, MessageLane, lane_bytes, slot_array
from netpart.transport.promise import NOWHERE, WITH_SENDER, Promise
from netpart.transport.transport import WINDOW, Endpoint, Transport

SCHEME, MORE = "shm://", "#"
"""Before and after the path in an address; what follows MORE is for transports that share device memory as well."""
SPIN = 1e-3
"""Seconds that a waiting rank polls before it sleeps. If another process wants its core, it sleeps at once. A core that
has been idle, above all a virtual one, takes long to wake up."""


class ShmTransport(Transport):
    """One rank of run ``run_id`` (8 bytes), one of ``ranks`` on this host.

    Order of calls: ``expect`` for all that may arrive, ``bind``, ``connect`` once every peer's address is known, then
    ``send`` and ``receive``, ``close``. If there are more ranks than cores, a rank that waits sleeps without polling.
    """

    slots_for_all = True

    def __init__(self, rank: int, run_id: bytes, ranks: int) -> None:
        super().__init__(rank)
        if len(run_id) != RUN_ID_BYTES or not rank < ranks <= 1 << RANK_BITS:
            wanted = f"a run id of {RUN_ID_BYTES} bytes and at most {1 << RANK_BITS} ranks"
            hint = "use --transport zeromq for more ranks"
            raise TransportError(f"rank {rank}: expected {wanted}, got {len(run_id)} bytes and {ranks} ranks; {hint}")
        self._run_id = run_id
        self._spin = SPIN if ranks <= len(os.sched_getaffinity(0)) else 0.0
        self._promises: list[dict[Channel, Promise]] = [{} for _ in range(ranks)]
        self._kept: list[dict[Channel, Promise]] = [{} for _ in range(ranks)]
        self._ins: list[MessageLane] = []
        self._outs: dict[int, tuple[MessageLane, Doorbell]] = {}
        self._allocated: dict[int, Array] = {}
        self._bell: Doorbell | None = None
        self._heard = 0
        self._descriptor = -1

    def allocate(self, nbytes: int) -> Array:
        descriptor = create_shared_memory(self.rank, nbytes)
        self._allocated[descriptor] = np.frombuffer(mmap.mmap(descriptor, nbytes), np.uint8)
        return self._allocated[descriptor]

    def expect(
        self, channel: Channel, peer: int, shape: Sequence[int], dtype: npt.DTypeLike, ahead: int = WINDOW,
        place: Array | None = None, stays: bool = False,
    ) -> None:  # fmt: skip
        self._refuse_late(peer)
        super().expect(channel, peer, shape, dtype, ahead)
        header = FrameHeader(peer, channel, 0, np.dtype(dtype), tuple(shape))
        stays = stays and peer not in self.device_peers  # these copy every message to the receiver's GPU
        found = (WITH_SENDER, 0) if stays else self._found(header, ahead, place)
        self._promises[peer][channel] = Promise(header, ahead, *found)

    def keep(
        self, channel: Channel, peer: int, shape: Sequence[int], dtype: npt.DTypeLike, place: Array | None = None
    ) -> None:
        self._refuse_late(peer)
        if peer not in self.device_peers:
            header = FrameHeader(self.rank, channel, 0, np.dtype(dtype), tuple(shape))
            self._kept[peer][channel] = Promise(header, 1, *self._found(header, 1, place), kept=1)

    def _refuse_late(self, peer: int) -> None:
        if self._bell is not None or not 0 <= peer < len(self._promises):
            wanted = f"promises before bind, of ranks below {len(self._promises)}"
            hint = "call expect before bind"
            raise TransportError(f"rank {self.rank}: expected {wanted}, got one of rank {peer}; {hint}")

    def _found(self, header: FrameHeader, ahead: int, place: Array | None) -> tuple[int, int]:
        """Descriptor and offset of ``place`` in memory of ``allocate``; NOWHERE if it lies elsewhere or is None."""
        if place is not None:
            for descriptor, memory in self._allocated.items():
                offset = host_array_address(place) - host_array_address(memory)
                if 0 <= offset < memory.nbytes:
                    return descriptor, offset
        return NOWHERE, 0

    def _own_places(self, promise: Promise) -> Sequence[Any]:
        """The place of a message in memory of this rank; none yet for one that stays with its sender (see ``join``)."""
        if promise.descriptor == WITH_SENDER:
            return []
        memory = self._allocated[promise.descriptor][promise.offset :]
        return [slot_array(memory, promise.header, writable=bool(promise.kept))]

    def bind(self, address: str = "") -> str:
        """Make the memory for all that was promised and return its address for the peers.

        Raises TransportError if the host has too little memory.
        """
        promises = [[*of.values(), *kept.values()] for of, kept in zip(self._promises, self._kept, strict=True)]
        sizes = list(map(lane_bytes, promises))
        self._descriptor, front, memories = lay_out_lanes(self.rank, self._run_id, sizes)
        for memory, each in zip(memories, promises, strict=True):
            self._ins.append(MessageLane.make(memory, each, self._run_id, self._own_places))
        self._bell = Doorbell(front, self.rank, self._spin)
        return f"{SCHEME}/proc/{os.getpid()}/fd/{self._descriptor}"

    def connect(self, addresses: Mapping[int, str]) -> None:
        for peer in sorted(addresses.keys() - self._outs.keys() - {self.rank}):
            try:
                self._outs[peer] = self._open(peer, Path(addresses[peer].removeprefix(SCHEME).partition(MORE)[0]))
            except TransportError as error:
                raise TransportError(f"rank {self.rank}: memory of rank {peer}: {error}") from None
            except OSError as error:
                hint = "that rank has ended, or runs on another host or as another user: run with --transport zeromq"
                raise TransportError(
                    f"rank {self.rank}: expected memory of rank {peer} at {addresses[peer]}, got {error}; {hint}"
                ) from None

    def _open(self, peer: int, path: Path) -> tuple[MessageLane, Doorbell]:
        """This rank's lane in a peer's memory, and the peer's bell."""
        front, memory = open_peer_lane(path, self._run_id, len(self._promises), self.rank)
        lane = MessageLane.open(memory, self._run_id, partial(self._places_of, peer, path.parent))
        if alone := self._ins[peer].join(lane):
            wanted = f"rank {peer} to keep the messages that stay there"
            hint = "all workers must play programs of one plan"
            raise TransportError(f"rank {self.rank}: expected {wanted}, got {alone}; {hint}")
        return lane, Doorbell(front, self.rank)

    def _places_of(self, peer: int, descriptors: Path, promise: Promise) -> Sequence[Any]:
        """The place of a message: in memory of a peer, to be written, or read if the peer keeps it; or in memory of
        this rank, if it stays here. ``descriptors`` is the peer's folder of descriptors in /proc."""
        if promise.descriptor == WITH_SENDER:
            stream = self._ins[peer].kept.get(promise.header.channel)
            return [next(stream.slots)] if stream else []
        header = promise.header
        path = descriptors / str(promise.descriptor)
        writable = not promise.kept
        return [slot_array(map_peer_bytes(path, promise.offset, header.nbytes, writable), header, writable)]

    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        self.mailbox.check()
        if peer not in self._outs:
            raise self._stranger(peer)
        lane, bell = self._outs[peer]
        stream = lane.by_channel.get(channel)
        if stream is not None and array.shape == stream.shape and array.dtype == stream.dtype:
            self._write(next(stream.slots), array)
            # A large copy may bypass the caches: without the fence, the entry could be seen before it.
            bell.fence()
            lane.write(stream.number, step)
        else:
            lane.complain(FrameHeader(self.rank, channel, step, array.dtype, array.shape))
        bell.ring()
        self._count(channel, array.nbytes, ENTRY)

    def _write(self, slot: Any, array: Array) -> None:
        np.copyto(slot, array)  # does nothing if the array is its own place: a message that stays here

    def _take_in(self) -> None:
        """Move what has come into the mailbox; costs a single load while the bell's word is unchanged."""
        if self._bell is None or (rung := self._bell.value) == self._heard:
            return
        # Stored before the lanes are read: a message that comes meanwhile changes the word and is found next time.
        self._heard = rung
        for lane in self._ins:
            if not lane.silent:
                self._hear(lane)

    def _hear(self, lane: MessageLane) -> None:
        """Take in what has come in a lane. Raises TransportError if its contents are impossible."""
        try:
            for number, step in lane.read():
                self._arrived(lane, number, step)
        except TransportError as error:
            raise TransportError(f"rank {self.rank}: messages of rank {self._ins.index(lane)}: {error}") from None

    def _listen(self, seconds: float) -> bool:
        if self._bell is None:
            return False
        self._bell.wait(self._heard, seconds)
        return True

    def _arrived(self, lane: MessageLane, number: int, step: int) -> None:
        """Take in a message; record the mistake if it breaks its promise."""
        if not 0 <= number < len(lane.streams):
            self._complain(lane)
            return
        stream = lane.streams[number]
        if not self.mailbox.admit(stream.channel, step, next(stream.slots)):
            self.mailbox.accepts(stream.header.at(step))

    def _complain(self, lane: MessageLane) -> None:
        try:
            self.mailbox.accepts(lane.complaint())
        except TransportError as error:
            self.mailbox.fail(f"rank {self.rank}: {error}")

    def close(self) -> None:
        """Release the memory, which ends with the last rank that releases it; may be called twice."""
        self.mailbox.close()
        self._bell = None
        self._ins.clear()
        self._outs.clear()
        for descriptor in (self._descriptor, *self._allocated):
            if descriptor >= 0:
                os.close(descriptor)
        self._descriptor = -1
        self._allocated.clear()


def open_transport(endpoint: Endpoint) -> ShmTransport:
    """The transport of one worker."""
    return ShmTransport(endpoint.rank, endpoint.run_id, endpoint.workers)
