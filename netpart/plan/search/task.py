"""Task: the input of planners, and intermediate results that several of them share, each computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from netpart.choices import OBJECTIVES
from netpart.errors import NetpartError
from netpart.plan.price.devices import Devices
from netpart.plan.price.net_profile import NetProfile
from netpart.plan.price.recompute_choice import RecomputeChoice
from netpart.plan.search.blocks import LayerBlock, group_layers
from netpart.plan.search.exact import ProvedPlan, solve_exactly
from netpart.plan.search.gabra import EvolutionResult, run_gabra
from netpart.plan.search.greedy import allocate_greedily
from netpart.plan.search.knapsacks import Knapsacks, Plan, make_knapsacks
from netpart.plan.search.local_search import improve_plan
from netpart.proto.reader import Job

SLACKS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
"""Slacks of the capacities that are tried in this order if none is given."""


@dataclass(frozen=True)
class PlanningTask:
    """The input of planners: the layers and their work, and the devices.

    ``count`` is the number of blocks (None: as the net has them). ``slack`` is how far a device's capacity exceeds its
    fair share (None: the least of SLACKS with a legal plan). ``limit`` are the seconds of all planners together, as a
    ``Portfolio`` takes it; in what that hands to a planner, those of one of its searches. Allocators place blocks on
    groups of ``group`` devices, which share the rows of a block. ``job`` is what is planned, without cuts,
    ``micro_batches`` are the numbers that are tried for pipelines, ``rates`` are as in ``predict_step``, and
    ``recomputing`` is shared by those who ask for the layers to recompute; allocators need none of these.
    """

    profile: NetProfile
    devices: Devices
    count: int | None = None
    slack: float | None = None
    seed: int = 1
    limit: float = 5.0
    group: int = 1
    job: Job | None = None
    micro_batches: tuple[int, ...] = (1,)
    rates: Mapping[str, float] = field(default_factory=dict)
    recomputing: RecomputeChoice | None = None

    @cached_property
    def blocks(self) -> list[LayerBlock]:
        """The blocks that allocators place: the paper's partitions."""
        return group_layers(self.profile, self.count, len(self.groups))

    @cached_property
    def groups(self) -> list[tuple[int, ...]]:
        """The devices that share the rows of a block, group by group; the last group may be smaller."""
        devices = len(self.devices)
        return [tuple(range(first, min(first + self.group, devices))) for first in range(0, devices, self.group)]

    @property
    def speeds(self) -> list[float]:
        """The speed of each group: rows are divided evenly, so all devices of a group wait for its slowest."""
        return [len(group) * min(self.devices.speeds[device] for device in group) for group in self.groups]

    @cached_property
    def start(self) -> tuple[Knapsacks, Plan]:
        """The blocks and devices as knapsacks, and a legal plan; raises ConfigError if none exists (proved)."""
        slacks = SLACKS if self.slack is None else (self.slack,)
        problems = [make_knapsacks([block.work for block in self.blocks], self.speeds, s) for s in slacks]
        for problem in problems:
            try:
                return problem, allocate_greedily(problem)
            except NetpartError:
                continue
        # GREEDY may fail although a legal plan exists; EXACT finds one or proves that no plan is legal.
        return problems[-1], solve_exactly(problems[-1], self.limit).plan

    def problem(self, objective: str) -> Knapsacks:
        """The knapsacks, for ``objective``."""
        return replace(self.start[0], objective=objective)

    @cached_property
    def evolutions(self) -> dict[str, EvolutionResult]:
        """The result of GABRA for each objective."""
        problems = map(self.problem, OBJECTIVES)
        return {
            problem.objective: run_gabra(problem, self.seed, known=[self.start[1]], limit=self.limit)
            for problem in problems
        }

    @cached_property
    def proofs(self) -> dict[str, ProvedPlan]:
        """The result of EXACT for each objective, started with the better plan of GREEDY and GABRA."""
        found = {}
        for problem in map(self.problem, OBJECTIVES):
            plans = improve_plan(problem, self.start[1]), self.evolutions[problem.objective].plan
            found[problem.objective] = solve_exactly(problem, self.limit, max(plans, key=problem.fitness))
        return found

    def bound(self, objective: str) -> float:
        """The bound that no allocation can beat: proved by EXACT, or the closed form if EXACT fails."""
        try:
            return self.proofs[objective].bound
        except NetpartError:
            return self.problem(objective).bound

    def rate_plan(self, plan: Plan) -> dict[str, tuple[float, float]]:
        """By objective, the value of an allocation of blocks, and its gap to the bound."""
        values = ((each, self.problem(each).value(plan)) for each in OBJECTIVES)
        return {each: (value, self.problem(each).gap(value, self.bound(each))) for each, value in values}
