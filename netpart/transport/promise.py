"""Promise: what a channel of shared memory brings, and where it lies."""

from __future__ import annotations

from dataclasses import dataclass

from netpart.transport.cache_lines import round_up
from netpart.transport.frames import FrameHeader

NOWHERE = -1
"""Stands for a descriptor where a message has no place of its own."""
WITH_SENDER = 1 << 31
"""Stands for a descriptor, and is none, where the message stays with its sender, whose own lane says where."""


@dataclass(frozen=True)
class Promise:
    """What a channel brings, as the header of its first message, and how many messages may be on their way.

    ``descriptor``, if it is one, is the receiver's for the memory in which the message has its place, at ``offset``;
    below NOWHERE are the descriptors of memory that is not the host's. A message that is ``kept`` goes the other way:
    who receives on this lane sends it, and the descriptor and the slot are his.
    """

    header: FrameHeader
    ahead: int
    descriptor: int = NOWHERE
    offset: int = 0
    kept: int = 0

    @property
    def placed(self) -> bool:
        """True if its message has a place of its own."""
        return self.descriptor != NOWHERE

    @property
    def nbytes(self) -> int:
        """Bytes of its slots."""
        return 0 if self.placed else self.ahead * round_up(self.header.nbytes)
