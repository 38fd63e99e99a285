"""Planners: each makes a layout from a task, that is, a scheme that places the layers of any net of the job."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from netpart.choices import MAKESPAN, PROFIT
from netpart.errors import NetpartError
from netpart.families import PLANNERS, SCHEMES
from netpart.plan.optimal.chosen_scheme import scheme_from_choices
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.search_plans import MOST_WORKERS, search_plans
from netpart.plan.optimal.staged_plans import search_staged_plans
from netpart.plan.schemes.data import data_parallel_by_speed
from netpart.plan.schemes.hybrid import hybrid_scheme
from netpart.plan.schemes.on_workers import restrict_scheme, scheme_from_workers
from netpart.plan.schemes.placing import Scheme
from netpart.plan.search.blocks import group_layers
from netpart.plan.search.knapsacks import Plan
from netpart.plan.search.local_search import improve_plan
from netpart.plan.search.task import PlanningTask
from netpart.plan.stages.device_stages import search_device_stages

FEW_PLANS = 4
"""Plans of the search of which the fastest that fits is proposed."""
VARIANTS, FEWEST_VARIANTS = 32, 4
"""Limits of the blocks after which a change of the cut is tried: for up to CROWD workers, and for many."""
CROWD = 16
"""Workers for which all variants are tried."""


@dataclass(frozen=True)
class PlanProof:
    """What is proved of a plan: no placement takes less than ``bound`` seconds if all workers wait for each other after
    every layer; ``gap`` is the distance of the best plan to it. ``proved``: it holds for all choices of the net."""

    bound: float
    gap: float
    proved: bool


@dataclass(frozen=True)
class PlannedLayout:
    """The decision of a planner.

    ``pipelined``: it is a pipeline, which needs micro-batches to be busy. ``plan`` is the group of devices of each
    block, if the planner placed blocks. One of ``variants`` is used instead if it is predicted to be faster, or if only
    it fits the devices. ``counts`` are the micro-batches of the scheme and of each variant, if the planner chose them.
    ``workers`` are the workers of the task that it was made for, ``group`` its group. ``proof`` is the bound of a
    planner that has one.
    """

    scheme: Scheme
    pipelined: bool = False
    plan: Plan | None = None
    variants: tuple[Scheme, ...] = ()
    counts: tuple[int, ...] = ()
    workers: tuple[int, ...] = ()
    group: int = 1
    proof: PlanProof | None = None

    def on(self, workers: tuple[int, ...]) -> PlannedLayout:
        """The same layout with ``workers`` in place of workers 0, 1, ..."""
        schemes = [restrict_scheme(scheme, workers) for scheme in (self.scheme, *self.variants)]
        return replace(self, scheme=schemes[0], variants=tuple(schemes[1:]), workers=workers)


def layout_key(name: str, layout: PlannedLayout) -> Hashable:
    """Equal for layouts with the same ways: of one planner, or of allocators that place the blocks alike."""
    return name if layout.plan is None else tuple(layout.plan), layout.workers, layout.group


Planner = Callable[[PlanningTask], PlannedLayout]


def _plan_one_worker(task: PlanningTask) -> PlannedLayout:
    """All layers on the fastest device; variants use a device of each other kind."""
    fastest = int(np.argmax(task.devices.speeds))
    # Reversed, so that the lowest worker of each kind remains.
    kinds = {device: worker for worker, device in reversed(list(enumerate(task.devices.devices)))}
    others = sorted(kinds[device] for device in kinds.keys() - {task.devices.devices[fastest]})
    alone = [
        scheme_from_workers({layer.name: (worker,) for layer in task.profile.layers}) for worker in (fastest, *others)
    ]
    return PlannedLayout(alone[0], variants=tuple(alone[1:]))


def _plan_by_scheme(name: str, task: PlanningTask) -> PlannedLayout:
    """The registered scheme ``name``."""
    return PlannedLayout(SCHEMES.get(name))


def _plan_by_speed(task: PlanningTask) -> PlannedLayout:
    """Data parallelism with more rows for faster devices."""
    return PlannedLayout(data_parallel_by_speed(task.devices.speeds))


def _plan_hybrid(name: str, task: PlanningTask) -> PlannedLayout:
    """The registered scheme ``name``; in variants the layers before some block are cut on the batch instead."""
    names = [layer.name for layer in task.profile.layers]
    starts = [block.layers.start for block in group_layers(task.profile)][1:]
    # Every k-th bound, rounded up, so that there are at most this number of them.
    some = starts[:: -(-len(starts) // _most_variants(len(task.devices)))] if starts else []
    scheme = SCHEMES.get(name)
    return PlannedLayout(scheme, variants=tuple(hybrid_scheme(frozenset(names[:start]), scheme) for start in some))


def _most_variants(workers: int) -> int:
    """The most variants of a hybrid that are tried for this number of workers."""
    # A rewrite has up to a bridge for each pair of workers, so the time for all variants stays about the same.
    return max(FEWEST_VARIANTS, VARIANTS * CROWD**2 // max(workers, CROWD) ** 2)


def _plan_stages(task: PlanningTask, straight: bool = False) -> PlannedLayout:
    """PipeDream's stages."""
    found = search_device_stages(task.profile, task.devices, straight)
    of_layer = {task.profile.layers[i].name: stage.workers for stage in found for i in stage.layers}
    return PlannedLayout(scheme_from_workers(of_layer), len(found) > 1)


def _plan_by_greedy(objective: str, task: PlanningTask) -> PlannedLayout:
    """GREEDY for ``objective``."""
    # ``task.start`` is greedy for the profit; exchanges improve it for this objective.
    return _layout_of_plan(task, improve_plan(task.problem(objective), task.start[1]))


def _plan_by_gabra(objective: str, task: PlanningTask) -> PlannedLayout:
    """GABRA for ``objective``."""
    return _layout_of_plan(task, task.evolutions[objective].plan)


def _plan_by_exact(objective: str, task: PlanningTask) -> PlannedLayout:
    """EXACT for ``objective``."""
    return _layout_of_plan(task, task.proofs[objective].plan)


def _layout_of_plan(task: PlanningTask, plan: Plan) -> PlannedLayout:
    """The layout for an allocation of blocks to groups."""
    of_layer: Mapping[str, tuple[int, ...]] = {
        task.profile.layers[i].name: task.groups[group]
        for block, group in zip(task.blocks, plan, strict=True)
        for i in block.layers
    }
    return PlannedLayout(scheme_from_workers(of_layer), True, plan)


def _plan_optimal(task: PlanningTask) -> PlannedLayout:
    """OPTIMAL for the job of the task; variants are the next best plans."""
    found = search_plans(replace(_priced_job(task), recomputes=True), task.limit)
    schemes = [scheme_from_choices(plan.choices) for plan in found.best_plans(FEW_PLANS)]
    proof = PlanProof(found.bound, found.gap, found.proved)
    return PlannedLayout(schemes[0], variants=tuple(schemes[1:]), proof=proof)


def _plan_optimal_stages(task: PlanningTask) -> PlannedLayout:
    """The best pipeline of stages that are optimal inside; variants are those with other numbers of micro-batches."""
    if len(task.devices) > MOST_WORKERS:
        got = str(len(task.devices))
        raise NetpartError(f"optimal stages: expected at most {MOST_WORKERS} workers, got {got}; plan for fewer")
    found = search_staged_plans(_priced_job(task), task.micro_batches, task.limit)[:FEW_PLANS]
    if not found and max(task.micro_batches, default=1) == 1:
        raise NetpartError("optimal stages: expected several micro-batches, got 1; give --micro-batches")
    if not found:
        raise NetpartError(
            "optimal stages: expected a pipeline that is faster than one stage, found none; take optimal"
        )
    schemes = [scheme_from_choices(plan.choices) for plan in found]
    counts = tuple(plan.micro_batches for plan in found)
    return PlannedLayout(schemes[0], True, variants=tuple(schemes[1:]), counts=counts)


def _priced_job(task: PlanningTask) -> PricedJob:
    """The job of the task, on its devices; raises NetpartError if it has none."""
    if task.job is None:
        raise NetpartError("optimal: expected a job, got a profile alone; plan for a JOB")
    return PricedJob(task.job.proto, task.job.folder, task.devices, task.rates, recomputing=task.recomputing)


ONE, DATA, OPTIMAL, OPTIMAL_STAGES = "one worker", "data", "optimal", "optimal stages"
STAGES, STRAIGHT_STAGES = "stages", "straight stages"
ALLOCATORS: dict[str, Planner] = {
    f"{name} {objective}": partial(planner, objective)
    for objective in (PROFIT, MAKESPAN)
    for name, planner in {"greedy": _plan_by_greedy, "gabra": _plan_by_gabra, "exact": _plan_by_exact}.items()
}
"""Planners that place blocks on groups of devices."""

for _name, _planner in {
    ONE: _plan_one_worker,
    DATA: partial(_plan_by_scheme, "DATA"),
    "data by speed": _plan_by_speed,
    **{
        name.lower().replace("_", "-"): partial(_plan_by_scheme, name)
        for name in SCHEMES.names()
        if name not in ("SEQUENTIAL", "DATA", "PIPELINE", "OPTIMAL")
    },
    "data then gather-scatter": partial(_plan_hybrid, "GATHER_SCATTER"),
    "data then column-row": partial(_plan_hybrid, "COLUMN_ROW"),
    OPTIMAL: _plan_optimal,
    OPTIMAL_STAGES: _plan_optimal_stages,
    STAGES: _plan_stages,
    STRAIGHT_STAGES: partial(_plan_stages, straight=True),
    **ALLOCATORS,
}.items():
    PLANNERS.add(_name)(_planner)
