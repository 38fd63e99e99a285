"""Simulated rows: the proposals that are predicted to be fastest are simulated, and compared by that.

A prediction plays one micro-batch layer by layer, a simulation every message of every worker at the same prices. The
simulator is above this floor (``netpart.measure.simulate``), so the caller of a portfolio hands it in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from netpart.graph.partition import Partition
from netpart.plan.search.proposal import PlacementKey, Proposal, placement_key
from netpart.progress import report_progress

StepSimulator = Callable[[Partition], float | None]
"""Function from a partition to the seconds of a step; None if it cannot be simulated here."""
MARGIN = 1.25
"""A proposal is simulated if it is predicted to take up to so many times what the best simulated one takes."""
MOST_PARTS = 20_000
"""Parts of graphs that are simulated for one table, over all micro-batches: some seconds of work."""


def simulate_fastest(proposals: Sequence[Proposal], simulate: StepSimulator) -> list[Proposal]:
    """``proposals``, the fastest with the seconds of a simulated step.

    Equal placements are simulated once. None is if it would exceed MOST_PARTS in all.
    """
    found: dict[PlacementKey, float | None] = {}
    best, left = float("inf"), MOST_PARTS
    able = [(p.row, p.partition) for p in proposals if p.partition is not None and not p.row.refused]
    for row, partition in sorted(able, key=lambda pair: pair[0].seconds):
        if row.seconds > MARGIN * best:
            break
        key = placement_key(partition)
        if key not in found and count_parts(partition) <= left:
            report_progress(f"simulating plan {len(found) + 1}: {row.name}")
            left -= count_parts(partition)
            found[key] = seconds = simulate(partition)
            best = min(best, seconds or best)
    return [_with_simulation(p, found) for p in proposals]


def count_parts(partition: Partition) -> int:
    """The parts of the training graphs of all micro-batches."""
    return sum(len(micro.graph.parts) for micro in partition.phases["train"])


def _with_simulation(proposal: Proposal, found: dict[PlacementKey, float | None]) -> Proposal:
    """``proposal`` with its simulated seconds, if it has any."""
    seconds = found.get(placement_key(proposal.partition)) if proposal.partition else None
    if seconds is None:
        return proposal
    row = proposal.row
    gap = (1 + row.gap) * seconds / row.seconds - 1
    return replace(proposal, row=replace(row, seconds=seconds, predicted=row.seconds, gap=gap))
