"""Gathering: the time between two teams of an elastic run, in which the workers leave the old team."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Gathering:
    """The next team is number ``team``. ``awaited`` are the seats of workers that have not left the old team yet.

    The loss, or the snapshot at which others join, was known at ``began``: workers were asked to leave then.
    ``lost`` and ``joined`` are texts for the user; ``reached`` is the newest step that the old team is known to have
    begun.
    """

    team: int
    began: float
    reached: int
    awaited: set[int] = field(default_factory=set)
    waits: bool = False
    """True once the user was told that too few workers are there."""
    lost: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
