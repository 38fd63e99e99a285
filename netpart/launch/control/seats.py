"""Seats: who may speak as which worker. Each has a ticket, a secret that no other worker and no holder of the run's
token knows, and the names of its sockets are made of it."""

from __future__ import annotations

from secrets import token_bytes

from netpart.launch.control.token import BYTES, RunToken


class WorkerSeats:
    """Those of ``size`` workers. ``token`` is what somebody shows who asks for one; ``master``, of which all tickets
    are made, is for who starts all workers at once."""

    def __init__(self, token: RunToken, size: int) -> None:
        self.token = token
        self.master = RunToken(token_bytes(BYTES), token.key)
        self.turns = [0] * size
        self.ranks: dict[bytes, int] = {}
        self.left: set[bytes] = set()
        for rank in range(size):
            self._name(rank)

    def ticket(self, rank: int) -> RunToken:
        """What the worker ``rank`` shows."""
        return self.master.ticket(rank, self.turns[rank])

    def free(self, rank: int) -> None:
        """Takes a ticket back: the next who is worker ``rank`` gets another one."""
        for which in (VOICE, HEART):
            name = socket_identity(self.ticket(rank).secret, rank, which)
            del self.ranks[name]
            self.left.add(name)
        self.turns[rank] += 1
        self._name(rank)

    def asks_for_seat(self, name: bytes) -> bool:
        """True if ``name`` is that of somebody who has the token and asks for a seat."""
        return name.startswith(KNOCK + self.token.secret)

    def _name(self, rank: int) -> None:
        for which in (VOICE, HEART):
            self.ranks[socket_identity(self.ticket(rank).secret, rank, which)] = rank


VOICE, HEART, KNOCK = b"v", b"h", b"k"
"""The two sockets of a worker: what it says, and that it lives; and the one of somebody who asks to be a worker."""


def socket_identity(secret: bytes, rank: int, socket: bytes) -> bytes:
    """The name under which a worker's socket is known to the coordinator."""
    return socket + secret + rank.to_bytes(4, "big")
