"""Adoption: planners of the fastest plan of a kind take over what other planners have found, if it is faster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from netpart.plan.search.planners import OPTIMAL, OPTIMAL_STAGES, STAGES, STRAIGHT_STAGES
from netpart.plan.search.proposal import Proposal


def adopt_faster_proposals(proposals: list[Proposal], spares: Sequence[Proposal]) -> list[Proposal]:
    """``proposals``, with the fastest of these and of ``spares`` as OPTIMAL, and the fastest of other stages as
    OPTIMAL_STAGES, where that one is slower, or does not fit."""
    stages = [p for p in proposals if p.row.name in (OPTIMAL, STAGES, STRAIGHT_STAGES)]
    found = _adopt_faster(proposals, OPTIMAL_STAGES, stages)
    return _adopt_faster(found, OPTIMAL, [*found, *spares])


def _adopt_faster(proposals: list[Proposal], name: str, others: Iterable[Proposal]) -> list[Proposal]:
    """``proposals``, with the fastest of ``others`` as ``name`` where that one is slower, or does not fit."""
    own = next(p for p in proposals if p.row.name == name)
    able = [p for p in (own, *others) if p.row.usable]
    best = min(able, key=lambda p: p.row.seconds, default=None)
    if best is None or best is own:
        return proposals
    adopted = replace(best, row=replace(best.row, name=name, proof=own.row.proof))
    return [adopted if p is own else p for p in proposals]
