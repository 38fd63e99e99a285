"""SeatView: the workers of one team of an elastic run, by their ranks in it."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.teams.team import Team


class SeatView:
    """What ``team``, which knows its workers by seats, says of ``members``, by rank."""

    def __init__(self, team: Team, members: Sequence[MemberRecord]) -> None:
        self.team = team
        self.seats = [member.seat for member in members]

    def descriptors(self) -> list[int]:
        """Those of the team."""
        return self.team.descriptors()

    def dead(self) -> dict[int, str]:
        """Workers that have ended, and how."""
        found = self.team.dead()
        return {rank: found[seat] for rank, seat in enumerate(self.seats) if seat in found}

    def where(self, rank: int) -> str:
        """The host of a worker."""
        return self.team.where(self.seats[rank])

    def log_tail(self, rank: int, lines: int = 12) -> str:
        """The last lines of a worker's log."""
        return self.team.log_tail(self.seats[rank], lines)
