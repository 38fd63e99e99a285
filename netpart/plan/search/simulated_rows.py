"""Simulated rows: the proposals that are predicted to be fastest are simulated, and the choice among them is by that.

A prediction plays one micro-batch layer by layer, a simulation every message of every worker at the same prices. The
simulator is above this floor (``netpart.measure.simulate``), so the caller of a portfolio hands it in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from netpart.graph.partition import Partition
from netpart.plan.search.proposal import PlacementKey, Proposal, placement_key
from netpart.progress import report_progress

StepSimulator = Callable[[Partition], float]
"""Function from a partition to the seconds of a step."""
MARGIN = 1.25
"""A proposal is simulated if it is predicted to take up to so many times what the best simulated one takes."""
MOST_PARTS = 20_000
"""Parts of graphs that are simulated for one table, over all micro-batches: some seconds of work."""


def simulate_fastest(proposals: Sequence[Proposal], simulate: StepSimulator) -> list[Proposal]:
    """``proposals``, the fastest with the seconds of a simulated step, in the order of what is predicted.

    Equal placements are simulated once. None is that would exceed MOST_PARTS in all.
    """
    found: dict[PlacementKey, float] = {}
    left = MOST_PARTS
    able = [(p.row, p.partition) for p in proposals if p.partition is not None and not p.row.refused]
    for row, partition in sorted(able, key=lambda pair: pair[0].seconds):
        if row.seconds > MARGIN * min(found.values(), default=float("inf")):
            break
        key = placement_key(partition)
        if key not in found and count_parts(partition) <= left:
            report_progress(f"simulating plan {len(found) + 1}: {row.name}")
            left -= count_parts(partition)
            found[key] = simulate(partition)
    return [_with_simulation(p, found) for p in proposals]


def count_parts(partition: Partition) -> int:
    """The parts of the training graphs of all micro-batches."""
    return sum(len(micro.graph.parts) for micro in partition.phases["train"])


def _with_simulation(proposal: Proposal, found: dict[PlacementKey, float]) -> Proposal:
    """``proposal`` with its simulated seconds, if it has any."""
    seconds = found.get(placement_key(proposal.partition)) if proposal.partition else None
    return replace(proposal, row=replace(proposal.row, simulated=seconds))
