"""Proposal: one way to cut a job, the prediction for it, and the merging of equal proposals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from netpart.choices import OBJECTIVES, PROFIT, SECONDS
from netpart.graph.partition import Partition
from netpart.graph.recomputed import layers_recomputed
from netpart.plan.search.planners import PlannedLayout, PlanProof
from netpart.proto.reader import Job
from netpart.spec import Placement

PlacementKey = tuple[int, tuple[bool, ...], tuple[Placement, ...]]
"""Micro-batches, whether the activations of each layer are recomputed, and the placements of the layers in training."""


@dataclass(frozen=True)
class ProposalRow:
    """A row of the table: the planners that made the proposal, and the prediction for a training step.

    ``is_floor``: the seconds are the least that a step can take; it is not worked out further, as they are more than
    those of another row, or for lack of time. Otherwise ``seconds`` are predicted, or else simulated, and ``predicted``
    has the prediction. ``gap`` is that to their lower bound. ``recompute``: some layers are recomputed, as there is no
    room to keep them. ``workers`` compute some part. ``refused`` is the reason why the proposal cannot be used.
    ``profit`` and ``makespan`` are those of an allocation of blocks, each with its gap to the proved bound, on groups
    of ``group`` devices that share rows. ``proof`` is what a planner of whole steps proved.
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
    group: int = 1
    proof: PlanProof | None = None
    predicted: float | None = None
    is_floor: bool = False

    @property
    def usable(self) -> bool:
        """True if the proposal is rewritten, and fits the devices."""
        return not (self.refused or self.is_floor)


@dataclass(frozen=True)
class Proposal:
    """A row, the job that implements it, and its partition. Those without a partition are alike if their ``key`` is."""

    row: ProposalRow
    job: Job
    partition: Partition | None = None
    layout: PlannedLayout | None = None
    key: PlacementKey | None = None


def placement_key(found: Partition) -> PlacementKey:
    """Identity of a partition: two partitions with the same key have the same training step."""
    return len(found.phases["train"]), layers_recomputed(found.job.neuralnet), tuple(found.graph.placements)


def merge_proposals(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Merge proposals with equal placements and micro-batches into one that has all their names."""
    found: dict[PlacementKey | str, Proposal] = {}
    for p in proposals:
        alike = placement_key(p.partition) if p.partition else p.key or p.row.name
        if alike in found:
            old = found[alike]
            row = replace(
                old.row,
                name=f"{old.row.name}, {p.row.name}",
                proof=old.row.proof or p.row.proof,
                **_best_figures(old.row, p.row),
            )
            allocated = p.layout is not None and p.layout.plan is not None
            found[alike] = replace(old, row=row, layout=p.layout if allocated else old.layout)
        else:
            found[alike] = p
    return list(found.values())


def _best_figures(first: ProposalRow, second: ProposalRow) -> dict[str, Any]:
    """The objectives of an allocation, from two rows of the same plan: those with the smaller (proved) gap."""
    found: dict[str, Any] = {
        objective: min(
            filter(None, (getattr(first, objective), getattr(second, objective))), key=lambda v: v[1], default=None
        )
        for objective in OBJECTIVES
    }
    return found | {"group": max(first.group, second.group)}


def row_objective(row: ProposalRow, objective: str) -> float:
    """The value of ``objective``, as a value to minimise; infinite for a row without it."""
    if objective == SECONDS:
        return row.seconds
    figure = row.profit if objective == PROFIT else row.makespan
    return float("inf") if figure is None else figure[0] * (-1 if objective == PROFIT else 1)
