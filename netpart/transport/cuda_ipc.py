"""CudaIpcTransport: device memory shared by processes of one host. A message is one copy, from device to device.

    rank 0 ──copies──▶ slot in memory of rank 1's GPU ──▶ worker         (opened by its handle: device_memory.py)
           ──records─▶ event ◀──waits for── stream of rank 1
           ──writes──▶ lane of rank 0, 16 bytes ──rings──▶ bell of rank 1           (shm.py)

Hosts run ahead of their GPUs: a message is announced when its copy has been enqueued, not when it has been executed.
One rule keeps everything in order. A sender records an event after all work that it has enqueued on its stream, even
for a message that only reports the end of a step; the receiver makes its stream wait for that event. What comes first
in the order of the hosts then comes first on the devices too. So the hosts' flow control protects device memory as
well: no rank writes a slot that is still to be read.

Slots share events. A receiver that waits for a later record than its message's own waits longer, but never too short.
That record was enqueued before the wait is, so no two streams can wait for each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from netpart.errors import TransportError
from netpart.transport.cache_lines import round_up
from netpart.transport.device_memory import EVENTS, DeviceExports, DeviceImports, can_access_peer, device_array_address
from netpart.transport.frames import Array, Channel, FrameHeader
from netpart.transport.promise import NOWHERE, Promise
from netpart.transport.shm import MORE, ShmTransport
from netpart.transport.transport import Endpoint

LINE = 256
"""Bytes to which slots are aligned, as arrays of CuPy are."""
SLOTS = 0
"""The number of the block that contains the slots; the other blocks are those of ``allocate``."""


class DeviceSlot(NamedTuple):
    """A slot of a message: its array on the device, the number of the event that its sender records, and the peer."""

    array: Any
    event: int
    peer: int


class CudaIpcTransport(ShmTransport):
    """One rank of a run on the current GPU; the GPUs of the ranks ``near`` and this one can access each other.

    Arrays that these ranks exchange are of ``xp``, cupy, and are read and written in the order of the current stream.
    All other arrays are of the host, as with ShmTransport, which other ranks of the run may use.
    """

    def __init__(self, rank: int, run_id: bytes, ranks: int, xp: Any, near: Collection[int]) -> None:
        super().__init__(rank, run_id, ranks)
        self.xp = xp
        self.device_peers = frozenset(near) - {rank}
        with self.gpu_errors("events that other processes can wait for"):
            self._exports = DeviceExports(xp)
        self._exports.blocks.append(None)  # block SLOTS: bind allocates it once all promises are known
        self._slot_bytes = 0
        self._imports: dict[int, DeviceImports] = {}

    @contextmanager
    def gpu_errors(self, wanted: str) -> Iterator[None]:
        """Turn an error of the GPU into a TransportError, which reports ``wanted``."""
        try:
            yield
        except self.xp.cuda.runtime.CUDARuntimeError as error:
            hint = "use more micro_batches, or run with --transport shm, whose messages go through the host"
            raise TransportError(f"rank {self.rank}: expected {wanted}, got {error}; {hint}") from None

    def allocate(self, nbytes: int) -> Any:
        with self.gpu_errors(f"{nbytes} bytes of device memory to share"):
            self._exports.blocks.append(self._exports.block(nbytes))
        return self._exports.blocks[-1]

    def _found(self, header: FrameHeader, ahead: int, place: Array | None) -> tuple[int, int]:
        """A block, numbered below NOWHERE, and the offset in it; NOWHERE for a rank that is not near: a slot of the
        host."""
        if header.source not in self.device_peers:
            return NOWHERE, 0
        for number, block in enumerate(self._exports.blocks):
            if (
                place is not None
                and block is not None
                and 0 <= device_array_address(place) - device_array_address(block) < block.nbytes
            ):
                return NOWHERE - 1 - number, device_array_address(place) - device_array_address(block)
        # No place in memory of ``allocate``: reserves slots at the current end of block SLOTS.
        self._slot_bytes += ahead * _slot_stride(header)
        return NOWHERE - 1 - SLOTS, self._slot_bytes - ahead * _slot_stride(header)

    def bind(self, address: str = "") -> str:
        if self._slot_bytes:
            with self.gpu_errors(f"{self._slot_bytes} bytes of device memory for messages"):
                self._exports.blocks[SLOTS] = self._exports.block(self._slot_bytes)
        where = super().bind(address)
        self._stream.synchronize()  # blocks are zeroed on the stream, and peers that have the address may write at once
        with self.gpu_errors("memory that other processes can open"):
            return f"{where}{MORE}{self._exports}"

    def connect(self, addresses: Mapping[int, str]) -> None:
        for peer in self.device_peers & addresses.keys() - self._imports.keys():
            _, more, exports = addresses[peer].partition(MORE)
            if not more:
                wanted = f"the handles of rank {peer} in its address"
                hint = "run that worker on a GPU, or use --transport auto"
                raise TransportError(f"rank {self.rank}: expected {wanted}, got {addresses[peer]}; {hint}")
            self._imports[peer] = DeviceImports(self.xp, exports)
        super().connect(addresses)

    def _own_places(self, promise: Promise) -> Sequence[Any]:
        if promise.descriptor > NOWHERE:
            return super()._own_places(promise)
        return _device_slots(self._exports.blocks[NOWHERE - 1 - promise.descriptor], promise, promise.header.source)

    def _places_of(self, peer: int, descriptors: Path, promise: Promise) -> Sequence[Any]:
        if promise.descriptor > NOWHERE:
            return super()._places_of(peer, descriptors, promise)
        with self.gpu_errors(f"to open device memory of rank {peer}"):
            return _device_slots(self._imports[peer].block(NOWHERE - 1 - promise.descriptor), promise, peer)

    @property
    def _stream(self) -> Any:
        return self.xp.cuda.get_current_stream()

    def _write(self, slot: Any, array: Any) -> None:
        if not isinstance(slot, DeviceSlot):
            super()._write(slot, array)
            return
        if slot.array.size and array.flags.c_contiguous:
            slot.array.data.copy_from_device_async(array.data, array.nbytes, self._stream)
        elif slot.array.size:
            self.copy(slot.array, array)
        # Also for an empty array: the event orders the streams whether or not there are bytes.
        self._stream.record(self._exports.events[slot.event])

    def receive(self, channel: Channel, step: int) -> Any:
        found: Any = super().receive(channel, step)
        if not isinstance(found, DeviceSlot):
            return found
        event = self._imports[found.peer].event(found.event)
        self.xp.cuda.runtime.streamWaitEvent(self._stream.ptr, event)
        return found.array

    def close(self) -> None:
        super().close()
        with suppress(self.xp.cuda.runtime.CUDARuntimeError):  # a GPU that failed was reported by the call that used it
            if self._imports:
                self._stream.synchronize()  # copies into peers' memory may still be running
            for imports in self._imports.values():
                imports.close()
        self._imports.clear()


def _device_slots(block: Any, promise: Promise, peer: int) -> list[DeviceSlot]:
    """The slots of a channel between this rank and ``peer``, one after another from the promise's offset on, or its
    single place in memory of ``allocate``."""
    header, found = promise.header, []
    for i in range(promise.ahead if promise.descriptor == NOWHERE - 1 - SLOTS else 1):
        start = promise.offset + i * _slot_stride(header)
        array = block[start : start + header.nbytes].view(header.dtype).reshape(header.shape)
        found.append(DeviceSlot(array, start // LINE % EVENTS, peer))
    return found


def _slot_stride(header: FrameHeader) -> int:
    """Bytes from one slot to the next. Even empty slots have different offsets: the offset selects the event."""
    return round_up(max(header.nbytes, 1), LINE)


__all__ = ["CudaIpcTransport"]


def open_transport(endpoint: Endpoint) -> ShmTransport:
    """The transport of one worker; ShmTransport if the worker computes on the CPU."""
    rank, run_id, workers, devices, xp, _ = endpoint
    if not devices[rank].partition(":")[2]:
        return ShmTransport(rank, run_id, workers)
    return CudaIpcTransport(rank, run_id, workers, xp, _near_ranks(xp, devices, rank))


def _near_ranks(xp: Any, devices: Sequence[str], rank: int) -> set[int]:
    """The ranks whose GPUs can access the GPU of ``rank`` and can be accessed by it, ``rank`` included."""
    numbers = {other: int(number) for other, device in enumerate(devices) if (number := device.partition(":")[2])}
    own = numbers[rank]
    return {other for other, gpu in numbers.items() if can_access_peer(xp, own, gpu) and can_access_peer(xp, gpu, own)}
