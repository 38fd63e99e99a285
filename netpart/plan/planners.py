"""Planners: each looks at a task in its own way and says how to place the layers of any net of the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from netpart.errors import NetpartError
from netpart.plan.blocks import Block, blocks
from netpart.plan.devices import Devices
from netpart.plan.exact import Proof, exact
from netpart.plan.gabra import Evolution, gabra
from netpart.plan.greedy import greedy
from netpart.plan.knapsacks import MAKESPAN, OBJECTIVES, PROFIT, Knapsacks, Plan, knapsacks
from netpart.plan.local_search import polished
from netpart.plan.net_profile import NetProfile
from netpart.plan.schemes import SCHEMES, Scheme
from netpart.plan.schemes.data import data_by_speed
from netpart.plan.schemes.data_then import data_then
from netpart.plan.schemes.on_workers import on_workers
from netpart.plan.stages import best_pipeline

SLACKS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
"""Of the capacities, tried in this order where none is asked for."""
VARIANTS = 32
"""Blocks, at most, behind which a change of the cut is tried."""


@dataclass(frozen=True)
class Task:
    """What is to be planned: the layers and their work, and the devices.

    ``count`` is the number of blocks (None: as the net has them), ``slack`` how far a device's capacity is above its
    fair share (None: the least of SLACKS that leaves a legal plan), ``limit`` the seconds that EXACT may take.
    Allocators place blocks on groups of ``group`` devices, which share the rows of what they compute.
    """

    profile: NetProfile
    devices: Devices
    count: int | None = None
    slack: float | None = None
    seed: int = 1
    limit: float = 5.0
    group: int = 1

    @cached_property
    def blocks(self) -> list[Block]:
        """What allocators place: the paper's partitions."""
        return blocks(self.profile, self.count, len(self.groups))

    @cached_property
    def groups(self) -> list[tuple[int, ...]]:
        """The devices that share the rows of a block, group by group; the last one has what is left."""
        devices = len(self.devices)
        return [tuple(range(first, min(first + self.group, devices))) for first in range(0, devices, self.group)]

    @property
    def speeds(self) -> list[float]:
        """The speed of each group: its rows are shared out evenly, so all wait for the slowest."""
        return [len(group) * min(self.devices.speeds[device] for device in group) for group in self.groups]

    @cached_property
    def start(self) -> tuple[Knapsacks, Plan]:
        """The blocks and devices as knapsacks, and a legal plan; ConfigError if it is proved that there is none."""
        slacks = SLACKS if self.slack is None else (self.slack,)
        problems = [knapsacks([block.work for block in self.blocks], self.speeds, s) for s in slacks]
        for problem in problems:
            try:
                return problem, greedy(problem)
            except NetpartError:
                continue
        return problems[-1], exact(problems[-1], self.limit).plan

    def problem(self, objective: str) -> Knapsacks:
        """The knapsacks, for an objective."""
        return replace(self.start[0], objective=objective)

    @cached_property
    def evolutions(self) -> dict[str, Evolution]:
        """What GABRA found for each objective."""
        problems = map(self.problem, OBJECTIVES)
        return {problem.objective: gabra(problem, self.seed, known=[self.start[1]]) for problem in problems}

    @cached_property
    def proofs(self) -> dict[str, Proof]:
        """What EXACT proved of each objective, beginning with the better plan of GREEDY and GABRA: none beats it."""
        found = {}
        for problem in map(self.problem, OBJECTIVES):
            plans = polished(problem, self.start[1]), self.evolutions[problem.objective].plan
            found[problem.objective] = exact(problem, self.limit, max(plans, key=problem.fitness))
        return found

    def bound(self, objective: str) -> float:
        """What no allocation can beat: as EXACT proved, or in closed form if it cannot be asked."""
        try:
            return self.proofs[objective].bound
        except NetpartError:
            return self.problem(objective).bound


@dataclass(frozen=True)
class Layout:
    """What a planner decided. ``pipelined``: it is a pipeline, which micro-batches keep busy. ``plan`` is the group of
    devices of each block, if it was those that it placed. Of ``variants`` one is taken instead if it is predicted to be
    faster."""

    scheme: Scheme
    pipelined: bool = False
    plan: Plan | None = None
    variants: tuple[Scheme, ...] = ()


Planner = Callable[[Task], Layout]


def one_worker(task: Task) -> Layout:
    """Everything on the fastest device."""
    fastest = int(np.argmax(task.devices.speeds))
    return Layout(on_workers({layer.name: (fastest,) for layer in task.profile.layers}))


def by_scheme(name: str, task: Task) -> Layout:
    """The scheme of that name."""
    return Layout(SCHEMES.get(name))


def by_speed(task: Task) -> Layout:
    """Data parallelism with more rows for faster devices."""
    return Layout(data_by_speed(task.devices.speeds))


def data_until(name: str, task: Task) -> Layout:
    """The scheme of that name, with the layers above some block cut on the batch instead."""
    names = [layer.name for layer in task.profile.layers]
    starts = [block.layers.start for block in blocks(task.profile)][1:]
    some = starts[:: -(-len(starts) // VARIANTS)] if starts else []
    scheme = SCHEMES.get(name)
    return Layout(scheme, variants=tuple(data_then(frozenset(names[:start]), scheme) for start in some))


def stages(task: Task, straight: bool = False) -> Layout:
    """PipeDream's stages, all devices taken for the slowest; the fastest devices get the first stages."""
    slowest = min(task.devices.speeds)
    layers = tuple(
        replace(layer, forward=layer.forward / slowest, backward=layer.backward / slowest)
        for layer in task.profile.layers
    )
    bandwidth = task.devices.between(range(len(task.devices))).bandwidth
    found = best_pipeline(replace(task.profile, layers=layers), len(task.devices), bandwidth, straight)
    order = np.argsort(-np.asarray(task.devices.speeds), kind="stable").tolist()
    of_layer: dict[str, tuple[int, ...]] = {}
    for stage in found.stages:
        workers, order = tuple(sorted(order[: stage.replicas])), order[stage.replicas :]
        of_layer |= {layers[i].name: workers for i in stage.layers}
    return Layout(on_workers(of_layer), len(found.stages) > 1)


def by_greedy(objective: str, task: Task) -> Layout:
    """GREEDY for an objective."""
    return allocated(task, polished(task.problem(objective), task.start[1]))


def by_gabra(objective: str, task: Task) -> Layout:
    """GABRA for an objective."""
    return allocated(task, task.evolutions[objective].plan)


def by_exact(objective: str, task: Task) -> Layout:
    """EXACT for an objective."""
    return allocated(task, task.proofs[objective].plan)


def allocated(task: Task, plan: Plan) -> Layout:
    """The layout of an allocation of blocks."""
    of_layer: Mapping[str, tuple[int, ...]] = {
        task.profile.layers[i].name: task.groups[group]
        for block, group in zip(task.blocks, plan, strict=True)
        for i in block.layers
    }
    return Layout(on_workers(of_layer), True, plan)


ONE, DATA = "one worker", "data"

PLANNERS: dict[str, Planner] = {
    ONE: one_worker,
    DATA: partial(by_scheme, "DATA"),
    "data by speed": by_speed,
    **{
        name.lower().replace("_", "-"): partial(by_scheme, name)
        for name in SCHEMES.names()
        if name not in ("SEQUENTIAL", "DATA", "PIPELINE")
    },
    "data then gather-scatter": partial(data_until, "GATHER_SCATTER"),
    "data then column-row": partial(data_until, "COLUMN_ROW"),
    "stages": stages,
    "straight stages": partial(stages, straight=True),
    **{
        f"{name} {objective}": partial(planner, objective)
        for objective in (PROFIT, MAKESPAN)
        for name, planner in {"greedy": by_greedy, "gabra": by_gabra, "exact": by_exact}.items()
    },
}
"""Every planner by the name of its row."""
