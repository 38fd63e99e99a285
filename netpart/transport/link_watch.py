"""LinkWatch: the connections by which a rank sends to its peers over tcp: which of them do not open, or have closed.

ZeroMQ connects again by itself, but what was under way is gone. Without this, only the deadline of a message would show
that, and not which link it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import zmq

from netpart.transport.sockets import Socket, read_event

OPEN_SECONDS = 5.0
"""How long a connection may take to open. Its peer listens already."""
CLOSED_SECONDS = 0.5
"""How long after a link has closed it counts as lost: if its peer is gone, the coordinator says so before that."""
EVENTS = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED


@dataclass(frozen=True)
class LostLink:
    """The link to ``peer`` is lost: ``opened`` at first, or never."""

    peer: int
    opened: bool
    text: str


@dataclass
class _Link:
    """A connection: its monitor, when it was asked for, whether it has opened, and when it closed; 0.0: it did not."""

    address: str
    monitor: Socket
    began: float
    opened: bool = False
    closed: float = 0.0


class LinkWatch:
    """Watch over the sockets that are given to ``add``."""

    def __init__(self) -> None:
        self._links: dict[int, _Link] = {}

    def add(self, peer: int, push: Socket, address: str) -> None:
        """Watch ``push``, which will connect to ``peer`` at ``address``."""
        self._links[peer] = _Link(address, push.get_monitor_socket(EVENTS), monotonic())

    def lost(self, now: float) -> LostLink | None:
        """A link that is lost at the time ``now``, if there is one."""
        for peer, link in self._links.items():
            _take_events(link, now)
            if link.closed and now - link.closed > CLOSED_SECONDS:
                return LostLink(peer, True, f"the link to worker {peer} at {link.address} has closed")
            if not link.opened and now - link.began > OPEN_SECONDS:
                late = f"no connection to {link.address} within {OPEN_SECONDS:g} s"
                return LostLink(peer, False, f"cannot reach worker {peer}: {late}")
        return None

    def remove(self, peer: int, push: Socket) -> None:
        """End the watch over ``push``, before it is closed."""
        if peer in self._links:
            push.disable_monitor()
            self._links.pop(peer).monitor.close(0)


def _take_events(link: _Link, now: float) -> None:
    while link.monitor.poll(0):
        if read_event(link.monitor)[0] == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            link.opened = True
        elif link.opened and not link.closed:
            link.closed = now  # it stays lost when it opens again: messages are gone
