"""Predicted ways: the ways to cut a net that a planner proposes, of which as many are predicted as there is time for.

A prediction takes a small part of the time in which the workers of a plan are compiled for their memory. So all ways of
all planners are predicted first, and only those are compiled that may be the fastest of their row. Of the ways of a row
the fastest keeps its partition; another one is cut again if that does not fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf, log
from time import process_time

from netpart.plan.search.proposal import Proposal
from netpart.plan.search.way_floors import Way
from netpart.progress import report_progress


@dataclass
class PredictedWays:
    """The ways of a row: those that are ``left``, and those that were ``tried``, the fastest first. ``predict`` cuts
    the job in a way, and predicts a step. With ``keeps`` all have their partitions."""

    left: deque[Way]
    predict: Callable[[Way], Proposal]
    keeps: bool = False
    tried: list[tuple[Way, Proposal]] = field(default_factory=list)

    def try_next(self) -> Proposal | None:
        """The next way, predicted; None if none is left."""
        if not self.left:
            return None
        way = self.left.popleft()
        found = self.predict(way)
        self.tried = sorted([*self.tried, (way, found)], key=lambda pair: pair[1].row.seconds)
        if not self.keeps:
            self.tried[1:] = [(each, replace(p, partition=None)) for each, p in self.tried[1:]]
        return found

    def try_in_time(self, ends: float) -> None:
        """One way at least, and others until ``ends``, in seconds of the processor."""
        if not self.tried:
            self.try_next()
        while process_time() < ends and self.try_next() is not None:
            pass

    @property
    def seconds(self) -> float:
        """The seconds of the fastest way that was tried."""
        return self.tried[0][1].row.seconds if self.tried else inf

    def fastest(self, limit: float = inf) -> Iterator[Proposal]:
        """The ways that were tried and take less than ``limit`` seconds, the fastest first, with their partitions."""
        for way, found in list(self.tried):
            if found.row.seconds >= limit:
                return
            yield found if found.partition is not None else self.predict(way)


def predict_in_turn(rows: Iterable[tuple[str, PredictedWays]], ends: float) -> None:
    """Predict the ways of all ``rows`` until ``ends``, in seconds of the processor: the first of each, then the second
    of each, and so on."""
    waiting = deque(rows)
    while waiting and process_time() < ends:
        name, ways = waiting.popleft()
        report_progress(f"predicting {name}: way {len(ways.tried) + 1}")
        if ways.try_next() is not None:
            waiting.append((name, ways))


def order_counts(counts: Sequence[int], workers: int) -> list[int]:
    """Numbers of micro-batches in the order in which they are tried: those near two for each worker first."""
    return sorted(counts, key=lambda count: abs(log(count / (2 * workers))))
