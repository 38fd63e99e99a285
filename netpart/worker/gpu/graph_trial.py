"""Graph trial: keeps the fastest of several graphs that compute the same.

Whether kernels gain from running in parallel depends on their sizes and on the GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TRIED = 5
"""Number of timed launches of each graph. The first of them also uploads the graph to the device."""


class GraphTrial:
    """Trial of ``graphs``: launched in turn until each has been timed often enough, then only the fastest.

    Of several that are equally fast, the first is kept.

    Nothing waits for a time: it is read once the device has reached its event.
    """

    def __init__(self, xp: Any, graphs: Sequence[Any]) -> None:
        self.xp = xp
        self.graphs = list(graphs)
        self.launches = 0
        self.events: list[tuple[Any, Any]] = []

    def launch(self, stream: Any) -> None:
        """Enqueue the next graph."""
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
        """True if each graph has been timed often enough."""
        return len(self.events) == TRIED * len(self.graphs)

    @property
    def over(self) -> bool:
        """True if all times are available."""
        return len(self.graphs) > 1 and self.full and bool(self.events[-1][1].done)

    @property
    def fastest(self) -> int:
        """The number of the fastest graph."""
        times = [self.xp.cuda.get_elapsed_time(*pair) for pair in self.events]
        # The minimum, not the mean: it excludes the upload of the first launch and other disturbances.
        best = [min(times[i :: len(self.graphs)]) for i in range(len(self.graphs))]
        return best.index(min(best))
