"""Outgoing: one snapshot on its way to a buddy, in messages of at most CHUNK_BYTES, one at a time.

After each message the sender rests, so that it takes at most SHARE of the time and of the link from the training steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any

from netpart.errors import NetpartError
from netpart.launch.snapshots.region_link import CHUNK_BYTES, RegionLink
from netpart.launch.snapshots.regions import Generation, RegionName
from netpart.launch.snapshots.store import SnapshotStore
from netpart.proto.control_pb2 import RegionHeadProto

SHARE = 0.5
"""Share of the time in which a message is under way."""
LATER_SECONDS = 0.02
"""After so many seconds a message is sent again that came before its buddy was in the same team."""
RANGES = 256
"""Largest number of ranges in one message."""


class Outgoing:
    """Sends regions ``names`` of ``generation`` over ``link``; ``sender`` is this worker's rank.

    ``done`` once the buddy has confirmed all; ``failed`` has the reason why it never will.
    """

    def __init__(
        self, link: RegionLink, store: SnapshotStore, generation: Generation, names: Sequence[RegionName], sender: int,
        seconds: float,
    ) -> None:  # fmt: skip
        self.link, self.store, self.generation, self.names, self.sender = link, store, generation, names, sender
        self.committed = store.committed
        self.done, self.failed = not names, ""
        self._region = self._start = self._sent = self._number = 0
        self._place = 0, 0, 0
        self._waiting = False
        self._began = self._rested = monotonic()
        self._deadline = self._began + seconds

    def look(self, now: float) -> float:
        """Go on where that is possible at ``now``; return the seconds until the next look without an answer."""
        if now > self._deadline:
            self.failed = (
                f"the region service at {self.link.address} has not confirmed step {self.generation.step} in time"
            )
        elif not self._waiting and now >= self._rested:
            self._send_next(now)
        return max(0.0, (self._deadline if self._waiting else self._rested) - now)

    def hear(self, head: RegionHeadProto, now: float) -> None:
        """Take an answer. One that is not to the last message changes nothing."""
        if head.number != self._number or not self._waiting:
            return
        if head.verb == RegionHeadProto.LATER:
            self._waiting = False
            (self._region, self._start, self._sent), self._rested = self._place, now + LATER_SECONDS
            return
        if head.verb != RegionHeadProto.TAKEN or head.taken != self._sent:
            self.failed = (
                f"the region service at {self.link.address} refused step {self.generation.step}: {head.reason!r:.200}"
            )
            return
        self._waiting = False
        self.done = self._region == len(self.names)
        self._rested = now + (now - self._began) * (1 / SHARE - 1)

    def _send_next(self, now: float) -> None:
        head = RegionHeadProto(verb=RegionHeadProto.PUT, number=self._number + 1, sender=self.sender)
        head.team, head.step = self.generation
        if self.committed is not None and self.committed.team == self.generation.team:
            head.committed = self.committed.step
        self._place = place = self._region, self._start, self._sent
        try:
            payload = self._next_payload(head)
            sent = self.link.send(head, payload)
        except NetpartError as error:
            self.failed = str(error)
            return
        if not sent:  # the queue is full: the buddy does not read, and the deadline ends this
            self._region, self._start, self._sent = place
            self._rested = now + 0.01
            return
        self._number += 1
        self._waiting, self._began = True, now

    def _next_payload(self, head: RegionHeadProto) -> Any:
        """The bytes of the next message, from where the last one ended; their ranges are noted in ``head``."""
        parts: list[Any] = []
        left = CHUNK_BYTES
        while left and self._region < len(self.names) and len(parts) < RANGES:
            whole = self.store.bytes_of(self.generation, self.names[self._region])
            part = whole[self._start : self._start + left]
            head.bytes.add(region=self._region, start=self._start, count=len(part))
            parts.append(part)
            left -= len(part)
            self._start += len(part)
            self._sent += len(part)
            if self._start == len(whole):
                self._region, self._start = self._region + 1, 0
        return parts[0] if len(parts) == 1 else b"".join(parts)
