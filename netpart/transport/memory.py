"""MemoryTransport: mailboxes in one process, for workers that are threads and for tests."""

from __future__ import annotations

import numpy as np

from netpart.errors import TransportError
from netpart.transport.frames import Array, Channel, FrameHeader, check_frame_tensor
from netpart.transport.transport import WINDOW, Transport


class MemoryHub:
    """``n`` ranks of one process; ``hub[rank]`` is a rank's transport."""

    def __init__(self, n: int) -> None:
        self._transports = [MemoryTransport(rank, self) for rank in range(n)]

    def __len__(self) -> int:
        return len(self._transports)

    def __getitem__(self, rank: int) -> MemoryTransport:
        if not 0 <= rank < len(self):
            raise TransportError(f"memory: expected a rank below {len(self)}, got {rank}; make more transports")
        return self._transports[rank]


class MemoryTransport(Transport):
    """One rank of a hub. Only the payload is transferred, by one copy, so ``header_bytes`` stays 0.

    Each channel has WINDOW + 1 buffers that are used in turn. A message is accepted while fewer than WINDOW wait. So
    when a buffer is reused, its message and the one after it have been taken, and the receiver no longer reads it.
    """

    def __init__(self, rank: int, hub: MemoryHub) -> None:
        super().__init__(rank)
        self._hub = hub
        self._buffers: dict[tuple[int, Channel], list[Array]] = {}

    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        self.mailbox.check()
        check_frame_tensor(channel, array.dtype, array.shape)
        mailbox = self._hub[peer].mailbox
        header = FrameHeader(self.rank, channel, step, array.dtype, array.shape)
        if mailbox.accepts(header):
            mailbox.put(header, self._copied(header, peer, array))
        self._count(channel, array.nbytes, 0)

    def _copied(self, header: FrameHeader, peer: int, array: Array) -> Array:
        buffers = self._buffers.setdefault((peer, header.channel), [])
        buffer = np.empty(header.shape, header.dtype) if len(buffers) <= WINDOW else buffers.pop(0)
        buffers.append(buffer)
        np.copyto(buffer, array)
        return buffer

    def close(self) -> None:
        self.mailbox.close()
        self._buffers.clear()
