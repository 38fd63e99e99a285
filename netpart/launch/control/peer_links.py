"""PeerLinks: which connections of the coordinator's socket are closed, and by whom they were used.

The kernel closes the connections of a process that ends, also by SIGKILL. So the coordinator knows at once, and need
not wait until heartbeats are missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import zmq

from netpart.transport.sockets import read_event


class PeerLinks:
    """The connections of ``socket``, a ROUTER. Create it before the first message is read; ``close`` it before the
    socket."""

    def __init__(self, socket: zmq.Socket[Any]) -> None:
        self.socket = socket
        self.monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._names: dict[int, bytes] = {}

    def read_message(self) -> tuple[bytes, list[bytes]]:
        """The name of a peer and its message, which must be there."""
        name = self.socket.recv(copy=False)
        descriptor, sender = name.get(zmq.SRCFD), name.bytes
        # Noted with every message: the kernel gives the number of a closed connection to the next one.
        self._names[int(descriptor)] = sender
        return sender, self.socket.recv_multipart()

    def closed(self) -> Iterator[bytes]:
        """The names of peers whose connections were closed since the last call. What they had sent before is there to
        be read."""
        while self.monitor.poll(0):
            _, descriptor = read_event(self.monitor)
            if (name := self._names.pop(descriptor, None)) is not None:
                yield name

    def close(self) -> None:
        """End the monitoring."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
