"""PeerLinks: which connections of the coordinator's socket are closed, and by whom they were used.

The kernel closes the connections of a process that ends, also by SIGKILL. So the coordinator knows at once, and need
not wait until heartbeats are missed.
"""

from __future__ import annotations

from typing import Any

import zmq

from netpart.transport.sockets import read_event


class PeerLinks:
    """The connections of ``socket``, a ROUTER. Create it before the socket is bound; ``close`` it before the socket.

    A connection is known by its file descriptor, whose number the kernel gives to the next one once it is closed. But
    its end is told before that, and the beginning of the next one before its first message.
    """

    def __init__(self, socket: zmq.Socket[Any]) -> None:
        self.socket = socket
        self.monitor = socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._open: set[int] = set()
        self._names: dict[int, bytes] = {}
        self._closed: list[bytes] = []

    def read_message(self) -> tuple[bytes, list[bytes]]:
        """The name of a peer and its message, which must be there."""
        name = self.socket.recv(copy=False)
        descriptor, sender = int(name.get(zmq.SRCFD)), name.bytes
        if self._names.get(descriptor) != sender:
            self._take_events()  # before the name is noted: the end of an earlier connection is not that of this one
            if descriptor in self._open:
                self._names[descriptor] = sender
        return sender, self.socket.recv_multipart()

    def closed(self) -> list[bytes]:
        """The names of peers whose connections were closed since the last call. What they had sent before is there to
        be read."""
        self._take_events()
        found, self._closed = self._closed, []
        return found

    def _take_events(self) -> None:
        while self.monitor.poll(0):
            kind, descriptor = read_event(self.monitor)
            if kind == zmq.EVENT_ACCEPTED:
                self._open.add(descriptor)
                continue
            self._open.discard(descriptor)
            if (name := self._names.pop(descriptor, None)) is not None:
                self._closed.append(name)

    def close(self) -> None:
        """End the monitoring."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
