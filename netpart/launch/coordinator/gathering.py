"""Gathering: the time between two teams of an elastic run, in which the workers leave the old team."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic


@dataclass
class Gathering:
    """The time from when a loss, or the snapshot at which others join, was known (``began``) until the run goes on.

    The next team is number ``team``; workers were asked ``asked`` to leave the old one, and those on the seats
    ``awaited`` have not left it yet. ``lost`` and ``joined`` are texts for the user; ``reached`` is the newest step
    that the last team which got that far is known to have begun.
    """

    began: float
    reached: int
    team: int = 0
    asked: float = 0.0
    awaited: set[int] = field(default_factory=set)
    waits: bool = False
    """True once it was reported that too few workers are there."""
    lost: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)

    def await_team(self, team: int, seats: set[int]) -> None:
        """Wait for the workers on ``seats`` to leave their team; the next one has number ``team``."""
        self.team, self.asked, self.awaited = team, monotonic(), seats
