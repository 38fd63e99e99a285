"""Planning time: the seconds of the processor that each part of `netpart plan` has, so that a table does not depend on
other load of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from time import process_time

from netpart.plan.search.planners import OPTIMAL, OPTIMAL_STAGES

GROUP_PROOFS = 16
"""EXACT has this fraction of its time for each objective, when other groups of devices are tried."""
COMPILING = 0.3
"""All is predicted in the rest of the time. In this share of it the fastest ways are compiled for their memory, and
some are simulated."""
TABLE = 10.0
"""Seconds for which all rows are compiled for their memory, also if the limit of the searches is less."""
LAST = 0.2
"""With floors, what was begun in time ends in this share of it."""
AHEAD = 0.3
"""The ways of all planners but those that search are predicted first, in up to this share of the time."""
SEARCHES = {OPTIMAL: 0.4, OPTIMAL_STAGES: 0.4}
"""The planners that search longest come next; each has this share of the time that is left."""
ALLOCATOR_SHARE = 0.125
"""The share of the time of each search of an allocator: GABRA and EXACT, by two objectives."""


@dataclass
class PlanningTime:
    """The time for a table with a ``limit``, in seconds, from now on. Ways are predicted for ``span`` seconds, until
    ``ends``; rows are compiled for their memory until ``last``."""

    limit: float
    floors: bool

    def __post_init__(self) -> None:
        begun = process_time()
        self.span = (1 - (LAST if self.floors else COMPILING)) * self.limit
        self.ends = begun + self.span
        self.last = begun + max(self.limit, TABLE)

    @property
    def is_over(self) -> bool:
        """True if rows are no longer compiled."""
        return process_time() > self.last

    def ahead_ends(self) -> float:
        """When the first share of what is left ends."""
        return self.ends - (1 - AHEAD) * (self.ends - process_time())

    def search_limit(self, name: str) -> float:
        """The seconds of a planner of SEARCHES."""
        return SEARCHES[name] * max(0.0, self.ends - process_time())

    def extend(self) -> None:
        """Compile whatever is asked for."""
        self.last = inf
