"""Planners: each looks at a task in its own way and says how to place the layers of any net of the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from netpart.choices import MAKESPAN, PROFIT
from netpart.families import PLANNERS, SCHEMES
from netpart.plan.schemes.data import data_by_speed
from netpart.plan.schemes.data_then import data_then
from netpart.plan.schemes.on_workers import among, on_workers
from netpart.plan.schemes.placing import Scheme
from netpart.plan.search.blocks import blocks
from netpart.plan.search.knapsacks import Plan
from netpart.plan.search.local_search import polished
from netpart.plan.search.pipeline_stages import best_pipeline
from netpart.plan.search.task import Task

VARIANTS = 32
"""Blocks, at most, behind which a change of the cut is tried."""


@dataclass(frozen=True)
class Layout:
    """What a planner decided. ``pipelined``: it is a pipeline, which micro-batches keep busy. ``plan`` is the group of
    devices of each block, if it was those that it placed. Of ``variants`` one is taken instead if it is predicted to be
    faster, or if it fits the devices alone. ``workers`` are those of the task that it was made for."""

    scheme: Scheme
    pipelined: bool = False
    plan: Plan | None = None
    variants: tuple[Scheme, ...] = ()
    workers: tuple[int, ...] = ()

    def on(self, workers: tuple[int, ...]) -> Layout:
        """The same with ``workers`` in place of workers 0, 1, ..."""
        schemes = [among(scheme, workers) for scheme in (self.scheme, *self.variants)]
        return replace(self, scheme=schemes[0], variants=tuple(schemes[1:]), workers=workers)


Planner = Callable[[Task], Layout]


def _one_worker(task: Task) -> Layout:
    """Everything on the fastest device, or on one of another kind."""
    fastest = int(np.argmax(task.devices.speeds))
    kinds = {device: worker for worker, device in reversed(list(enumerate(task.devices.devices)))}
    others = sorted(kinds[device] for device in kinds.keys() - {task.devices.devices[fastest]})
    alone = [on_workers({layer.name: (worker,) for layer in task.profile.layers}) for worker in (fastest, *others)]
    return Layout(alone[0], variants=tuple(alone[1:]))


def _by_scheme(name: str, task: Task) -> Layout:
    """The scheme of that name."""
    return Layout(SCHEMES.get(name))


def _by_speed(task: Task) -> Layout:
    """Data parallelism with more rows for faster devices."""
    return Layout(data_by_speed(task.devices.speeds))


def _data_until(name: str, task: Task) -> Layout:
    """The scheme of that name, with the layers above some block cut on the batch instead."""
    names = [layer.name for layer in task.profile.layers]
    starts = [block.layers.start for block in blocks(task.profile)][1:]
    some = starts[:: -(-len(starts) // VARIANTS)] if starts else []
    scheme = SCHEMES.get(name)
    return Layout(scheme, variants=tuple(data_then(frozenset(names[:start]), scheme) for start in some))


def _stages(task: Task, straight: bool = False) -> Layout:
    """PipeDream's stages, all devices taken for the slowest; the fastest devices get the first stages."""
    slowest = min(task.devices.speeds)
    layers = tuple(
        replace(layer, forward=layer.forward / slowest, backward=layer.backward / slowest)
        for layer in task.profile.layers
    )
    bandwidth = task.devices.between(range(len(task.devices))).bandwidth
    found = best_pipeline(replace(task.profile, layers=layers), len(task.devices), bandwidth, straight=straight)
    order = np.argsort(-np.asarray(task.devices.speeds), kind="stable").tolist()
    of_layer: dict[str, tuple[int, ...]] = {}
    for stage in found.stages:
        workers, order = tuple(sorted(order[: stage.replicas])), order[stage.replicas :]
        of_layer |= {layers[i].name: workers for i in stage.layers}
    return Layout(on_workers(of_layer), len(found.stages) > 1)


def _by_greedy(objective: str, task: Task) -> Layout:
    """GREEDY for an objective."""
    return _allocated(task, polished(task.problem(objective), task.start[1]))


def _by_gabra(objective: str, task: Task) -> Layout:
    """GABRA for an objective."""
    return _allocated(task, task.evolutions[objective].plan)


def _by_exact(objective: str, task: Task) -> Layout:
    """EXACT for an objective."""
    return _allocated(task, task.proofs[objective].plan)


def _allocated(task: Task, plan: Plan) -> Layout:
    """The layout of an allocation of blocks."""
    of_layer: Mapping[str, tuple[int, ...]] = {
        task.profile.layers[i].name: task.groups[group]
        for block, group in zip(task.blocks, plan, strict=True)
        for i in block.layers
    }
    return Layout(on_workers(of_layer), True, plan)


ONE, DATA = "one worker", "data"

for _name, _planner in {
    ONE: _one_worker,
    DATA: partial(_by_scheme, "DATA"),
    "data by speed": _by_speed,
    **{
        name.lower().replace("_", "-"): partial(_by_scheme, name)
        for name in SCHEMES.names()
        if name not in ("SEQUENTIAL", "DATA", "PIPELINE")
    },
    "data then gather-scatter": partial(_data_until, "GATHER_SCATTER"),
    "data then column-row": partial(_data_until, "COLUMN_ROW"),
    "stages": _stages,
    "straight stages": partial(_stages, straight=True),
    **{
        f"{name} {objective}": partial(planner, objective)
        for objective in (PROFIT, MAKESPAN)
        for name, planner in {"greedy": _by_greedy, "gabra": _by_gabra, "exact": _by_exact}.items()
    },
}.items():
    PLANNERS.add(_name)(_planner)
