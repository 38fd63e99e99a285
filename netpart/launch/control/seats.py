"""Seats: which process may act as which worker. Each worker has a ticket, and the names of its sockets are derived from
it.

A ticket is a secret that no other worker and no other holder of the run's token knows.
"""

from __future__ import annotations

from secrets import token_bytes

from netpart.launch.control.token import BYTES, RunToken


class WorkerSeats:
    """The seats of ``size`` workers.

    A process that asks for a seat shows ``token``. All tickets are derived from ``master``, which is for a launcher
    that starts all workers at once.
    """

    def __init__(self, token: RunToken, size: int) -> None:
        self.token = token
        self.master = RunToken(token_bytes(BYTES), token.key)
        self.turns = [0] * size
        self.teams = [0] * size
        self.ranks: dict[bytes, int] = {}
        self.left: set[bytes] = set()
        for rank in range(size):
            self._name(rank)

    def ticket(self, rank: int) -> RunToken:
        """The ticket that worker ``rank`` shows."""
        return self.master.ticket(rank, self.turns[rank])

    def free(self, rank: int) -> None:
        """Revoke a ticket. The next process that becomes worker ``rank`` gets another one."""
        for name in self._names(rank):
            del self.ranks[name]
            self.left.add(name)
        # The turn is part of the new ticket, so a process that returns late cannot act as the worker any more.
        self.turns[rank] += 1
        self.teams[rank] = 0
        self._name(rank)

    def enter_team(self, rank: int, team: int) -> None:
        """Worker ``rank`` writes checkpoints for team ``team`` from now on; what it still sends for an earlier one is
        nobody's."""
        for name in self._names(rank):
            del self.ranks[name]
        self.teams[rank] = team
        self._name(rank)

    def asks_for_seat(self, name: bytes) -> bool:
        """True if ``name`` belongs to a process that has the token and asks for a seat."""
        return name.startswith(KNOCK + self.token.secret)

    def lost_with(self, name: bytes) -> int | None:
        """The seat of the worker whose socket is ``name``, if that worker is lost once the connection is closed.

        None for the sockets of no worker, and for one that writes checkpoints: a worker closes it after each of them.
        """
        return self.ranks.get(name) if name.startswith((VOICE, HEART)) else None

    def _name(self, rank: int) -> None:
        self.ranks |= dict.fromkeys(self._names(rank), rank)

    def _names(self, rank: int) -> list[bytes]:
        """The identities of the sockets of the worker on a seat."""
        secret = self.ticket(rank).secret
        return [socket_identity(secret, rank, which, self.teams[rank]) for which in SOCKETS]


VOICE, HEART, SCRIBE, KNOCK = b"v", b"h", b"s", b"k"
"""The sockets of a worker, for messages, for heartbeats and for writing checkpoints, and the socket of a process that
asks to be a worker."""
SOCKETS = (VOICE, HEART, SCRIBE)


def socket_identity(secret: bytes, rank: int, socket: bytes, team: int = 0) -> bytes:
    """The identity under which the coordinator knows a worker's socket.

    The one for writing checkpoints belongs to a ``team`` of an elastic run, the others to the process.
    """
    return socket + secret + rank.to_bytes(4, "big") + (team.to_bytes(4, "big") if socket == SCRIBE and team else b"")
