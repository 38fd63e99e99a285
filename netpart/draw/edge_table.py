"""What crosses workers in a step, edge by edge: all tensors between two layers, and the sums of gradients."""

from __future__ import annotations

from dataclasses import dataclass

from netpart.draw.equal_chains import layer_flow
from netpart.draw.picture import Picture


@dataclass(frozen=True)
class EdgeBytes:
    """What an edge moves in a step, over all workers: ``forward`` values and ``backward`` gradients.

    ``edge`` names the two layers, or what is summed; ``carried_by`` names the collectives, or the number of bridges.
    """

    edge: str
    carried_by: str
    forward: int
    backward: int

    @property
    def total(self) -> int:
        """The bytes of both directions."""
        return self.forward + self.backward


def edges_by_bytes(shown: Picture) -> list[EdgeBytes]:
    """All edges of ``shown`` that cross workers, and its sums of gradients, those with most bytes first."""
    flow = layer_flow(shown)
    edges = [
        EdgeBytes(
            f"{flow.groups[arrow.source].name} → {flow.groups[arrow.target].name}", arrow.traffic.lines[0],
            arrow.traffic.forward, arrow.traffic.backward,
        )
        for arrow in flow.arrows if arrow.traffic.arrows
    ]  # fmt: skip
    sums = [EdgeBytes(f"Σ {each.name}", "", 0, each.nbytes) for each in shown.reductions]
    return sorted([*edges, *sums], key=lambda each: -each.total)
