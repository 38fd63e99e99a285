"""Proposal: how a job may be cut, what is predicted of that, and when two proposals are one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from netpart.choices import OBJECTIVES, PROFIT, SECONDS
from netpart.graph.partition import Partition
from netpart.plan.search.planners import PlannedLayout
from netpart.proto.reader import Job
from netpart.spec import Placement

PlacementKey = tuple[int, bool, tuple[Placement, ...]]
"""Micro-batches, whether activations are computed again, and the placements of the layers in training."""


@dataclass(frozen=True)
class ProposalRow:
    """A proposal: the planners that made it, and what is predicted of a training step; ``gap`` is that to the bound.

    ``recompute``: activations are computed again, as there is no room to hold them.

    ``workers`` have a part in it. ``refused`` says why it cannot be taken. ``profit`` and ``makespan`` are those of an
    allocation of blocks with their gaps to what is proved.
    """

    name: str
    micro_batches: int = 1
    recompute: bool = False
    seconds: float = float("inf")
    gap: float = float("inf")
    moved: int = 0
    memory: tuple[int, ...] = ()
    workers: tuple[int, ...] = ()
    refused: str = ""
    profit: tuple[float, float] | None = None
    makespan: tuple[float, float] | None = None


@dataclass(frozen=True)
class Proposal:
    """A row, and the job that carries it out, cut."""

    row: ProposalRow
    job: Job
    partition: Partition | None = None
    layout: PlannedLayout | None = None


def placement_key(found: Partition) -> PlacementKey:
    """What makes a partition: two with the same take the same step."""
    return len(found.phases["train"]), found.job.neuralnet.recompute, tuple(found.graph.placements)


def merge_proposals(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Proposals that place all layers alike and have as many micro-batches become one, with all their names."""
    found: dict[PlacementKey | str, Proposal] = {}
    for p in proposals:
        alike = placement_key(p.partition) if p.partition else p.row.name
        if alike in found:
            old = found[alike]
            row = replace(old.row, name=f"{old.row.name}, {p.row.name}", **_best_figures(old.row, p.row))
            allocated = p.layout is not None and p.layout.plan is not None
            found[alike] = replace(old, row=row, layout=p.layout if allocated else old.layout)
        else:
            found[alike] = p
    return list(found.values())


def _best_figures(first: ProposalRow, second: ProposalRow) -> dict[str, Any]:
    """The figures of an allocation, of two rows of the same plan: the smaller gap is what is known."""
    return {
        objective: min(
            filter(None, (getattr(first, objective), getattr(second, objective))), key=lambda v: v[1], default=None
        )
        for objective in OBJECTIVES
    }


def row_objective(row: ProposalRow, objective: str) -> float:
    """What ``objective`` is, to be small; infinite of a row that has no such figure."""
    if objective == SECONDS:
        return row.seconds
    figure = row.profit if objective == PROFIT else row.makespan
    return float("inf") if figure is None else figure[0] * (-1 if objective == PROFIT else 1)
