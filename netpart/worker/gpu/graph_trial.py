"""Trial: graphs that compute the same, of which the fastest is kept: what kernels beside each other gain depends on how
large they are, and on the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TRIED = 5
"""Launches of each graph that are timed; the first of them also brings it to the device."""


class GraphTrial:
    """``graphs`` in turn, until each was timed often enough; from then on the one with the shortest time, of several
    the first. Nobody waits for a time: it is looked at once the device has come there."""

    def __init__(self, xp: Any, graphs: Sequence[Any]) -> None:
        self.xp = xp
        self.graphs = list(graphs)
        self.launches = 0
        self.events: list[tuple[Any, Any]] = []

    def launch(self, stream: Any) -> None:
        """Enqueues what all of them do."""
        if self.over:
            self.graphs = [self.graphs[self.fastest]]
            self.events = []
        graph = self.graphs[self.launches % len(self.graphs)]
        timed = len(self.graphs) > 1 and not self.full
        self.launches += 1
        start = stream.record(self.xp.cuda.Event()) if timed else None
        graph.launch(stream)
        if timed:
            self.events.append((start, stream.record(self.xp.cuda.Event())))

    @property
    def full(self) -> bool:
        """True if each was timed often enough."""
        return len(self.events) == TRIED * len(self.graphs)

    @property
    def over(self) -> bool:
        """True if all times are there."""
        return len(self.graphs) > 1 and self.full and bool(self.events[-1][1].done)

    @property
    def fastest(self) -> int:
        """The number of the fastest."""
        times = [self.xp.cuda.get_elapsed_time(*pair) for pair in self.events]
        best = [min(times[i :: len(self.graphs)]) for i in range(len(self.graphs))]
        return best.index(min(best))
