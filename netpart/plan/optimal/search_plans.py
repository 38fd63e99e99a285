"""The search: the plans that are optimal for some weights, priced by ``predict_step``, again and again.

Tables have prices that a plan takes at least. The plan that is optimal by the tables is partitioned, what its outputs
really cost replaces their prices, and the search starts again. It ends when the plan that is optimal by the tables has
real prices only, or when the time is up. Every round has a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import process_time

from netpart.errors import NetpartError
from netpart.graph.partition import Partition
from netpart.plan.optimal.branching import PlanBranching
from netpart.plan.optimal.cut_choices import CutChoice
from netpart.plan.optimal.narrowing import narrow_space
from netpart.plan.optimal.plan_prices import PricedJob, output_transfers
from netpart.plan.optimal.plan_space import Assignment, PlanSpace
from netpart.plan.price.part_prices import CountedPrices
from netpart.plan.price.predict import predict_memory
from netpart.plan.price.recompute_choice import RecomputeChoice

MOST_WORKERS = 16
"""Workers for which tables of all choices are small enough."""
MEMORY_SHARES = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Prices of memory that are tried in this order until a plan fits, as the share of a step that a full device costs."""
CLOSE = 2e-3
"""A gap at which the search ends."""
LEAST = 3.0
"""Seconds that the search has at least, without its first tables."""
NARROWING = 0.7
"""The share of the time after which no more choices are left out."""
PRICED = 3
"""Plans of a round that are partitioned."""


@dataclass(frozen=True)
class FoundPlan:
    """A plan: its predicted seconds, the choice of each layer, its seconds by the additive price, and the bytes of each
    worker if no layer reuses the space of another."""

    seconds: float
    choices: Mapping[str, CutChoice]
    additive: float
    memory: tuple[float, ...]


def search_plans(
    priced: PricedJob, limit: float = 10.0, report: Callable[[str], None] = lambda text: None
) -> PlanSearch:
    """Search the plans of ``priced`` for ``limit`` seconds of the processor, or LEAST, after the first tables are made;
    ``report`` is called with the progress.

    Raises NetpartError for more than MOST_WORKERS workers.
    """
    workers = len(priced.devices)
    if workers > MOST_WORKERS:
        raise NetpartError(f"optimal: expected at most {MOST_WORKERS} workers, got {workers}; plan for fewer")
    loose = priced.loose_space()
    found = PlanSearch(priced, loose, process_time() + max(limit, LEAST), report)
    found.run()
    return found


@dataclass
class PlanSearch:
    """The search of the plans of ``priced``, whose space with bounds is ``loose``, until the processor's clock is at
    ``ends``. ``plans`` are those found, the fastest first; no plan takes less than ``bound`` seconds by the additive
    price, if that is ``proved``. ``fitting`` is the fastest that the devices have
    room for, perhaps with recomputed layers."""

    priced: PricedJob
    loose: PlanSpace
    ends: float
    report: Callable[[str], None]
    plans: list[FoundPlan] = field(init=False, default_factory=list)
    bound: float = field(init=False, default=0.0)
    rounds: int = field(init=False, default=0)
    fitting: FoundPlan | None = field(init=False, default=None)
    seen: set[tuple[CutChoice, ...]] = field(init=False, default_factory=set)
    recomputing: RecomputeChoice = field(init=False)

    def __post_init__(self) -> None:
        own = RecomputeChoice(self.priced.devices, CountedPrices(self.priced.rates))
        self.recomputing = self.priced.recomputing or own

    def run(self) -> None:
        """Search without a price of memory, and then with higher and higher ones until a plan fits, or takes longer
        than an earlier one that fits with recomputed layers."""
        least = float("inf")
        for price in self._memory_prices():
            before = len(self.seen)
            found = self._search_rounds(price)
            best = min(found, key=lambda plan: plan.seconds, default=None)
            if best is not None:
                if best.seconds >= least:
                    return
                fits = self._fits(best)
                seconds = best.seconds if fits else self._recomputed_seconds(best)
                if seconds < least:
                    least, self.fitting = seconds, best
                if fits:
                    return
            if price and self._is_late() and len(self.seen) > before:
                return

    def best_plans(self, count: int) -> list[FoundPlan]:
        """The plan that fits, and the fastest others: at most ``count``."""
        others = [plan for plan in self.plans if plan is not self.fitting]
        return [*filter(None, [self.fitting]), *others][:count]

    @property
    def proved(self) -> bool:
        """True if ``bound`` is proved."""
        return self.loose.proved

    @property
    def gap(self) -> float:
        """The distance of the best plan by the additive price to the bound."""
        best = min((plan.additive for plan in self.plans), default=float("inf"))
        return max(0.0, best / self.bound - 1) if self.bound else float("inf")

    def _memory_prices(self) -> Iterator[float]:
        """Seconds for a byte of a worker's memory: 0, then from low to high for devices with a limit."""
        yield 0.0
        least = min(device.memory for device in self.priced.devices.devices)
        yield from (share * self.bound / least for share in MEMORY_SHARES if least < float("inf"))

    def _fits(self, plan: FoundPlan) -> bool:
        """True if all devices have room for ``plan``. Programs are compiled to know, unless there is room for twice as
        much as the layers hold: messages and buckets need some too."""
        rooms = [device.memory for device in self.priced.devices.devices]
        if all(2 * need <= room for need, room in zip(plan.memory, rooms, strict=True)):
            return True
        needs = predict_memory(self.priced.partition(plan.choices))
        return all(need <= room for need, room in zip(needs, rooms, strict=True))

    def _recomputed_seconds(self, plan: FoundPlan) -> float:
        """The predicted seconds of ``plan`` with as few recomputed layers as let it fit; infinite if none may."""
        if not self.priced.recomputes:
            return float("inf")
        found = self.recomputing.recompute_least(self.priced.partition(plan.choices))
        return self.recomputing.step_seconds(found) if found else float("inf")

    def _search_rounds(self, memory: float) -> list[FoundPlan]:
        """Solve, price and correct until nothing new is found or the time is up; the plans that were found."""
        made: list[FoundPlan] = []
        began = process_time()
        latest = began + NARROWING * (self.ends - began)
        narrow = narrow_space(self.loose, memory, lambda: process_time() > latest)
        while True:
            self.rounds += 1
            found = PlanBranching(narrow.space, memory, CLOSE, self._is_late)
            found.explore()
            self.bound = min(found.bound, narrow.others) if memory == 0 else self.bound
            fresh = [each for each in found.by_seconds() if self._is_new(narrow.space.plan_choices(each))][:PRICED]
            for assignment in fresh:
                made.append(self._price(narrow.space, assignment))
                if self._is_late():
                    return made
            if not fresh or self.gap < CLOSE:
                return made

    def _is_late(self) -> bool:
        """True when the time is up: that of the processor, so that a busy machine changes no plan."""
        return process_time() > self.ends

    def _is_new(self, choices: Mapping[str, CutChoice]) -> bool:
        """True for a plan that was not priced before."""
        key = tuple(choices.values())
        new = key not in self.seen
        self.seen.add(key)
        return new

    def _price(self, space: PlanSpace, assignment: Assignment) -> FoundPlan:
        """Partition a plan, correct the tables by it, and keep it."""
        choices = space.plan_choices(assignment)
        partition = self.priced.partition(choices)
        seconds = self.priced.predicted_seconds(partition)
        self._correct(space, partition, assignment)
        memory = tuple(space.worker_memory(assignment))
        found = FoundPlan(seconds, choices, space.additive_seconds(assignment), memory)
        self.plans = sorted([*self.plans, found], key=lambda plan: plan.seconds)
        self.report(f"{len(self.plans)} plans, the best {self.plans[0].seconds:.4g} s")
        return found

    def _correct(self, space: PlanSpace, partition: Partition, assignment: Assignment) -> None:
        """Replace the prices of outputs by what they cost in ``partition``."""
        real = output_transfers(partition, space.layers.net, self.priced.devices)
        for transfers in space.outputs.transfers:
            space.correct(transfers, assignment, *real.get((transfers.node, transfers.output), (0.0, 0.0)))
