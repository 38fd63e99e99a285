"""The search: the plans that are optimal for some weights, priced by ``predict_step``, again and again.

Tables have prices that a plan takes at least. The plan that is optimal by the tables is partitioned, what its outputs
really cost replaces their prices, and the search starts again. It ends when the plan that is optimal by the tables has
real prices only, or when the time is up. Every round has a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic

from netpart.errors import NetpartError
from netpart.graph.partition import Partition
from netpart.plan.optimal.branching import BranchSearch
from netpart.plan.optimal.cut_choices import CutChoice
from netpart.plan.optimal.plan_prices import PricedJob, output_transfers
from netpart.plan.optimal.plan_space import Assignment, PlanSpace

MOST_WORKERS = 16
"""Workers for which tables of all choices are small enough."""
CLOSE = 2e-3
"""A gap at which the search ends."""
PRICED = 3
"""Plans of a round that are partitioned."""


@dataclass(frozen=True)
class FoundPlan:
    """A plan: its predicted seconds, and the choice of each layer."""

    seconds: float
    choices: Mapping[str, CutChoice]
    additive: float


@dataclass
class PlanSearch:
    """The search for ``priced``, for ``limit`` seconds. ``plans`` are those found, the fastest first; no plan takes less
    than ``bound`` seconds by the additive price, if that is ``proved``."""

    priced: PricedJob
    limit: float = 10.0
    report: Callable[[str], None] = lambda text: None
    plans: list[FoundPlan] = field(init=False, default_factory=list)
    bound: float = field(init=False, default=0.0)
    rounds: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        workers = len(self.priced.devices)
        if workers > MOST_WORKERS:
            raise NetpartError(f"optimal: expected at most {MOST_WORKERS} workers, got {workers}; plan for fewer")
        self.ends = monotonic() + self.limit
        self.net = self.priced.net()
        self.space = PlanSpace(self.net, self.priced.setting())
        self.seen: set[tuple[int, ...]] = set()
        for memory in self._memory_prices():
            self._search_rounds(memory)

    @property
    def proved(self) -> bool:
        """True if ``bound`` is proved."""
        return self.space.proved

    @property
    def gap(self) -> float:
        """The distance of the best plan by the additive price to the bound."""
        best = min((plan.additive for plan in self.plans), default=float("inf"))
        return max(0.0, best / self.bound - 1) if self.bound else float("inf")

    def _memory_prices(self) -> Iterator[float]:
        """Seconds for a byte of memory: 0 first."""
        yield 0.0

    def _search_rounds(self, memory: float) -> None:
        """Solve, price and correct until nothing new is found or the time is up."""
        while True:
            self.rounds += 1
            found = BranchSearch(self.space, memory, CLOSE, self._is_late)
            self.bound = found.bound if memory == 0 else self.bound
            fresh = [each for each in found.by_seconds() if self._is_new(each)][:PRICED]
            for assignment in fresh:
                self._price(assignment)
                if self._is_late():
                    return
            if not fresh or self.gap < CLOSE:
                return

    def _is_late(self) -> bool:
        """True when the time is up."""
        return monotonic() > self.ends

    def _is_new(self, assignment: Assignment) -> bool:
        """True for a plan that was not priced before."""
        key = tuple(assignment[v] for v in self.space.variables)
        new = key not in self.seen
        self.seen.add(key)
        return new

    def _price(self, assignment: Assignment) -> None:
        """Partition a plan, correct the tables by it, and keep it."""
        choices = self.space.plan_choices(assignment)
        partition = self.priced.partition(choices)
        seconds = self.priced.predicted_seconds(partition)
        self._correct(partition, assignment)
        self.plans.append(FoundPlan(seconds, choices, self.space.additive_seconds(assignment)))
        self.plans.sort(key=lambda plan: plan.seconds)
        self.report(f"{len(self.plans)} plans, the best {self.plans[0].seconds:.4g} s")

    def _correct(self, partition: Partition, assignment: Assignment) -> None:
        """Replace the prices of outputs by what they cost in ``partition``."""
        real = output_transfers(partition, self.net, self.priced.devices)
        for transfers in self.space.transfers:
            if self.space.is_joint(transfers):
                self.space.correct(transfers, assignment, *real.get((transfers.node, transfers.output), (0.0, 0.0)))
