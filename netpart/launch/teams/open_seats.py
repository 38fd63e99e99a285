"""OpenSeats: the seats of workers that join by themselves: who gets which rank, and where each worker is."""

from __future__ import annotations

from netpart.launch.control.framing import printable_text
from netpart.launch.teams.team import Team
from netpart.proto.control_pb2 import JoinedProto, JoinProto
from netpart.resources import installed_version


class OpenSeats(Team):
    """A team with workers that join. ``seats`` has their ranks, each with the host of its worker, "" for none yet.

    ``met_ranks`` are those that have introduced themselves. ``any_rank``: a rank that is not free is no more than a
    wish. The run begins with ``first`` workers; the seats from there on are for those that join an elastic run later.
    """

    seats: dict[int, str]
    met_ranks: set[int]
    first: int
    any_rank = False

    def open_seats(self, ranks: range, first: int = 0) -> None:
        """Make the seats of ``ranks`` free. ``first`` is the number of workers with which the run begins."""
        self.seats = dict.fromkeys(ranks, "")
        self.met_ranks = set()
        self.first = first or ranks.stop

    def free_seats(self) -> tuple[int, ...]:
        """Ranks that no worker has taken."""
        return tuple(rank for rank, where in self.seats.items() if not where)

    def missing(self) -> tuple[int, ...]:
        """Ranks without which the run does not begin, and that no worker has taken."""
        return tuple(rank for rank in self.free_seats() if rank < self.first)

    def admit(self, wish: JoinProto) -> JoinedProto:
        """The rank of a process that asks to be a worker, or why it is refused."""
        if wish.version != installed_version():
            own = installed_version()
            other = printable_text(wish.version)
            return JoinedProto(refused=f"expected netpart {own}, got {other}; install the same on every host")
        missing = self.free_seats()
        if not missing:
            return JoinedProto(refused="expected fewer workers: all have joined; raise --workers to use more")
        free = wish.rank in missing or not self.any_rank
        rank = wish.rank if wish.HasField("rank") and free else missing[0]
        if rank not in missing:
            return JoinedProto(refused=self._taken_text(rank, missing))
        self.seats[rank] = printable_text(wish.host) or "a host without a name"
        return JoinedProto(rank=rank)

    def _taken_text(self, rank: int, missing: tuple[int, ...]) -> str:
        """Why a process cannot have ``rank``. Ranks below those of the seats are workers of this host."""
        free = ", ".join(map(str, missing))
        why = "is taken" if 0 <= rank <= max(self.seats) else "does not exist"
        return f"expected a rank that is free, got {rank}, which {why}; free: {free}. Omit --rank"

    def note_process(self, rank: int, pid: int) -> None:
        self.met_ranks.add(rank)

    def leave(self, rank: int) -> None:
        self.seats[rank] = ""
        self.met_ranks.discard(rank)

    def where(self, rank: int) -> str:
        return self.seats.get(rank, "")

    def stopped(self, rank: int) -> bool:
        """True for a silent worker that has introduced itself: its process cannot be inspected from here, so it counts
        as lost."""
        return rank in self.met_ranks
