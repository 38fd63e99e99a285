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
    best = _find_fastest([p for p in (own, *others) if p.row.usable])
    if best is None or best is own:
        return proposals
    adopted = replace(best, row=replace(best.row, name=name, proof=own.row.proof))
    return [adopted if p is own else p for p in proposals]


def _find_fastest(proposals: Sequence[Proposal]) -> Proposal | None:
    """The proposal that takes least; None without any.

    A simulation counts more than a prediction omits, so one that was not simulated is compared with the fastest
    simulated one by what is predicted of both.
    """
    simulated = [p for p in proposals if p.row.predicted is not None]
    others = [p for p in proposals if p.row.predicted is None]
    fastest = [min(some, key=lambda p: p.row.seconds) for some in (simulated, others) if some]
    return min(fastest, key=lambda p: p.row.seconds if p.row.predicted is None else p.row.predicted, default=None)
