"""Promise: what a channel of shared memory carries, and where its messages lie."""

from __future__ import annotations

from dataclasses import dataclass

from netpart.transport.cache_lines import round_up
from netpart.transport.frames import FrameHeader

NOWHERE = -1
"""In place of a descriptor: the message has no place of its own, but slots."""
WITH_SENDER = 1 << 31
"""In place of a descriptor (all are smaller): the message stays with its sender, whose own lane states where."""


@dataclass(frozen=True)
class Promise:
    """What a channel carries, as the header of its first message; at most ``ahead`` messages may be in flight.

    ``descriptor`` is the receiver's descriptor of the memory in which the message has its place, at ``offset`` bytes,
    or one of the constants above; values below NOWHERE stand for blocks of device memory. If ``kept`` is 1, the message
    goes in the opposite direction: the receiver on this lane sends it, and owns the descriptor and the slot.
    """

    header: FrameHeader
    ahead: int
    descriptor: int = NOWHERE
    offset: int = 0
    kept: int = 0

    @property
    def placed(self) -> bool:
        """True if the message has a place of its own, or stays with its sender: it needs no slots here."""
        return self.descriptor != NOWHERE

    @property
    def nbytes(self) -> int:
        """Bytes of the channel's slots."""
        return 0 if self.placed else self.ahead * round_up(self.header.nbytes)
