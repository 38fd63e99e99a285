"""Portfolio: the proposals of all planners for a job, in one table, and the choice among them."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf
from operator import itemgetter
from time import process_time
from typing import Any

from netpart.choices import MAKESPAN, SECONDS
from netpart.errors import ConfigError, MemoryRefused, NetpartError
from netpart.families import PLANNERS
from netpart.graph.build import build_net
from netpart.graph.partition import pause_gc
from netpart.graph.scheme import is_cut_by_user
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.layer_loads import profile_net, work_rates
from netpart.plan.price.part_prices import CountedPrices, PartPrices
from netpart.plan.schemes.placing import Scheme
from netpart.plan.search.adoption import adopt_faster_proposals
from netpart.plan.search.planned_job import clear_plan_fields, with_micro_batches
from netpart.plan.search.planners import ALLOCATORS, CROWD, DATA, ONE, PlannedLayout, Planner, layout_key
from netpart.plan.search.planning_time import ALLOCATOR_SHARE, GROUP_PROOFS, SEARCHES, PlanningTime
from netpart.plan.search.predicted_ways import PredictedWays, order_counts, predict_in_turn
from netpart.plan.search.proposal import Proposal, ProposalRow, merge_proposals, row_objective
from netpart.plan.search.proposal_prices import ProposalPrices
from netpart.plan.search.simulated_rows import MOST_PARTS, StepSimulator, count_parts, simulate_fastest
from netpart.plan.search.task import PlanningTask
from netpart.plan.search.way_floors import Way, WayChoice, WayFloor, WayFloors, omit_rest
from netpart.progress import report_progress, track_items
from netpart.proto.element import float_size
from netpart.proto.reader import Job

AS_WRITTEN = "as written"
MICRO_BATCH_COUNTS = (1, 2, 4, 8, 16, 32)
"""Numbers of micro-batches that are tried for a pipeline, unless one is given."""


class Portfolio:
    """All proposals for ``job`` by ``task``. ``rates`` and ``prices`` as in ``predict_step``. ``micro_batches`` is the
    number for pipelines; None tries several, or uses the job's if its batch norm would otherwise see other batches.
    Allocators try ``groups``, other sizes of the groups of devices, as long as the task's limit allows. With
    ``simulate`` the fastest proposals are simulated, and compared by that. With ``floors`` no proposal is rewritten
    that cannot be the fastest (None: for many devices)."""

    def __init__(
        self, job: Job, task: PlanningTask, rates: Mapping[str, float] | None = None, micro_batches: int | None = None,
        groups: Sequence[int] = (), prices: PartPrices | None = None, simulate: StepSimulator | None = None,
        floors: bool | None = None,
    ) -> None:  # fmt: skip
        self.written = job
        self.job = clear_plan_fields(job)
        self.counted = prices is None
        prices = prices or CountedPrices(rates)
        net = build_net(job.proto, "train", job.folder)
        counted = profile_net(net, float_size(job.proto))
        self.bound = task.profile.work / sum(task.devices.speeds)
        own = max(1, job.proto.neuralnet.micro_batches)
        # Batch norm normalises each micro-batch by itself, so another number of them would change the result of
        # training.
        remembers = any(spec.running and not spec.read_only for node in net.nodes for spec in node.layer.params)
        several = [m for m in MICRO_BATCH_COUNTS if m <= min(net.rows, 4 * len(task.devices))]
        self.shares = [micro_batches] if micro_batches else [own] if remembers or own > 1 else several
        self.task = replace(
            task, job=self.job, micro_batches=tuple(self.shares), rates=rates or work_rates(counted, task.profile),
            limit=ALLOCATOR_SHARE * task.limit,
        )  # fmt: skip
        self.layouts: dict[tuple[str, tuple[int, ...], int], PlannedLayout] = {}
        self.floors = WayFloors(task.devices, prices)
        self.chooses_by_floors = len(task.devices) > CROWD if floors is None else floors
        rooms = {device.memory for device in task.devices.devices}
        room = rooms.pop() if self.chooses_by_floors and len(rooms) == 1 else inf
        self.priced = ProposalPrices(self.job, task.devices, prices, self.bound, room)
        self.time = PlanningTime(task.limit, self.chooses_by_floors)
        self.choice = WayChoice(self.tried_way, room, self.time.ends, self.time.span)
        # Kept by workers, as planners share the results that a task caches.
        self.tasks = {(tuple(range(len(task.devices))), task.group): self.task}
        # Many devices take long to simulate.
        self.simulate = None if self.chooses_by_floors else simulate
        self.spares: list[Proposal] = []
        self.fastest = inf
        self.predicted: dict[Hashable, PredictedWays] = {}
        self.late_groups = 0
        self.known_floors: dict[Hashable, list[WayFloor]] = {}
        found = self.regroup(list(self.propose(groups)), groups)
        if self.simulate:
            known = simulate_fastest([*found, *self.spares], self.simulate)
            found, self.spares = known[: len(found)], known[len(found) :]
        self.adopting = {p.row.name: p.row.refused for p in found if p.row.name in SEARCHES and p.row.refused}
        """Why a search that takes over what others have found has no plan of its own."""
        self.proposals = merge_proposals(adopt_faster_proposals(found, self.spares))

    @property
    def rows(self) -> list[ProposalRow]:
        """The rows of the table, the fastest first, then those with only a floor, and refused ones last."""
        rows = (p.row for p in self.proposals)
        return sorted(rows, key=lambda row: (bool(row.refused), row.is_floor, row.seconds))

    @property
    def untried(self) -> int:
        """The number of ways, and of groups of devices for an allocator, that were not tried for lack of time."""
        return self.late_groups + sum(len(ways.left) for ways in self.predicted.values())

    def best(self, objective: str = SECONDS) -> Proposal:
        """The proposal to use: one that is not slower than one worker or data parallelism.

        Raises MemoryRefused if no proposal fits the devices.
        """
        able = [p for p in self.proposals if p.row.usable]
        if not able:
            refusals = "; ".join(f"{p.row.name}: {p.row.refused}" for p in self.proposals[:2])
            raise MemoryRefused(f"plan: expected a plan that the devices can carry out, found none ({refusals})")
        plain = min((p.row.seconds for p in able if {ONE, DATA} & set(p.row.name.split(", "))), default=float("inf"))
        fast = [p for p in able if p.row.seconds <= plain]
        return min(fast, key=lambda p: (row_objective(p.row, objective), p.row.seconds))

    def find_proposal(self, name: str) -> Proposal:
        """The proposal of the planner ``name``; raises ConfigError for an unknown planner, and for a refused
        proposal."""
        found = next((p for p in self.proposals if name in p.row.name.split(", ")), None)
        if found is None or found.row.refused:
            got = repr(name) if found is None else f"one that is refused: {found.row.refused}"
            raise ConfigError(
                "--take",
                "a plan of the table",
                got,
                f"the planners are {', '.join(name for name, _ in PLANNERS.items())}",
            )
        return self.rewrite_proposal(found) if found.row.is_floor else found

    def rewrite_proposal(self, floor: Proposal) -> Proposal:
        """The proposal of which only a floor is known, in its place."""
        assert floor.layout is not None, "a proposal with a floor has a layout"
        self.time.extend()
        found = self.choose_predicted(floor.row.name, floor.layout)
        found = replace(found, layout=floor.layout)
        self.proposals = [found if p is floor else p for p in self.proposals]
        return found

    def allocated(self, objective: str) -> list[tuple[int, ...]] | None:
        """The workers of each block in the best allocation for ``objective``; for seconds, that for the makespan."""
        wanted = MAKESPAN if objective == SECONDS else objective
        layouts = [
            (row_objective(p.row, wanted), p.layout) for p in self.proposals if p.layout and p.layout.plan is not None
        ]
        layout = min(layouts, key=itemgetter(0), default=(0.0, None))[1]
        if layout is None or layout.plan is None:
            return None
        groups = self.task_of(layout.workers, layout.group).groups
        return [tuple(layout.workers[device] for device in groups[group]) for group in layout.plan]

    def propose(self, groups: Sequence[int] = ()) -> Iterator[Proposal]:
        """The proposals of all planners, and the job as it is written if that sets a cut."""
        net = self.written.proto.neuralnet
        if net.scheme or net.user_scheme or any(is_cut_by_user(layer) for layer in net.layer):
            cut = partial(
                partition_by_scheme, self.written.proto, len(self.task.devices), self.written.folder, compact=True
            )
            written = self.priced.fitted(self.priced.price_cut(AS_WRITTEN, self.written, cut))
            self.choice.note(written.row)
            yield written
        planners = dict(PLANNERS.items())
        if not self.chooses_by_floors:
            self.predict_ahead(planners, groups)
        found = {
            name: self.planned(name, planners[name])
            for name in track_items(self.ordered(planners), "plan", len(planners))
        }
        yield from (found[name] for name in planners)

    def predict_ahead(self, planners: Mapping[str, Planner], groups: Sequence[int]) -> None:
        """The predictions of all ways, as far as there is time for them; between them the two long searches."""
        own = self.task.group
        plain = [(name, own) for name in planners if name not in SEARCHES and name not in ALLOCATORS]
        self.predict_rows(planners, plain, self.time.ahead_ends())
        for name in SEARCHES:
            self.predict_search(name, planners[name])
        allocated = [(name, group) for group in (own, *groups) for name in ALLOCATORS]
        self.predict_rows(planners, [*allocated, *plain], self.time.ends)

    def predict_search(self, name: str, planner: Planner) -> None:
        """The predictions of what a long search finds."""
        if (ways := self.row_ways(name, planner, self.task.group)) is not None:
            ways.try_in_time(self.time.ends)

    def predict_rows(self, planners: Mapping[str, Planner], rows: Sequence[tuple[str, int]], ends: float) -> None:
        """The ways of planners for groups, in turn until ``ends``. A planner is asked for its ways if there is time."""
        asked = [(name, self.row_ways(name, planners[name], group)) for name, group in rows if process_time() < ends]
        predict_in_turn([(name, ways) for name, ways in asked if ways is not None], ends)

    def row_ways(self, name: str, planner: Planner, group: int) -> PredictedWays | None:
        """The ways of a planner for all devices; None if it refuses them."""
        try:
            return self.ways_of(name, self.placed_layout(name, planner, tuple(range(len(self.task.devices))), group))
        except NetpartError:
            return None

    def ordered(self, planners: Mapping[str, Planner]) -> list[str]:
        """The names of planners. Those with the least floors or predictions come first: the sooner a fast plan is
        known, the fewer others are rewritten or compiled."""
        if not self.chooses_by_floors:
            return sorted(planners, key=lambda name: self.known_seconds(name, self.task.group))
        everyone = tuple(range(len(self.task.devices)))
        return sorted(planners, key=lambda name: self.floor_order(name, planners[name], everyone))

    def floor_order(self, name: str, planner: Planner, workers: tuple[int, ...]) -> tuple[bool, float]:
        """Sorts planners by the first of their ways in the order in which they are tried; refused ones come first."""
        report_progress(f"floor of {name}")
        try:
            layout = self.layout_of(name, planner, workers, self.task.group)
        except NetpartError:
            return False, 0.0
        return min(map(self.choice.order, self.floors_of(name, replace(layout.on(workers), group=self.task.group))))

    def regroup(self, proposals: list[Proposal], groups: Sequence[int]) -> list[Proposal]:
        """``proposals``, with that for the best size of the groups of devices for each allocator."""
        found = {p.row.name: p for p in proposals}
        for group, name in product(groups, [name for name in ALLOCATORS if name in found]):
            # Without floors only what was predicted in time is compared.
            if self.choice.fastest < inf and process_time() > self.time.ends:
                self.late_groups += 1
            elif self.may_be_faster_grouped(found[name].row, name, group):
                pair = found[name], self.planned(name, PLANNERS.get(name), group)
                found[name] = min(pair, key=lambda p: (bool(p.row.refused), p.row.is_floor, p.row.seconds))
        return list(found.values())

    def may_be_faster_grouped(self, row: ProposalRow, name: str, group: int) -> bool:
        """True if an allocator's proposal for ``group`` may be faster than its ``row``."""
        return not (row.usable or self.is_late) or self.group_seconds(name, group) < row.seconds

    def group_seconds(self, name: str, group: int) -> float:
        """The least seconds that are predicted of an allocator for ``group``; infinite if there was no time for it."""
        seconds = self.known_seconds(name, group)
        self.late_groups += seconds == inf
        return seconds

    def known_seconds(self, name: str, group: int) -> float:
        """The least seconds that were predicted of a planner for all devices; infinite if there was no time for it."""
        late = (name, tuple(range(len(self.task.devices))), group) not in self.layouts
        ways = None if late else self.row_ways(name, PLANNERS.get(name), group)
        return ways.seconds if ways else inf

    def planned(self, name: str, planner: Planner, group: int | None = None) -> Proposal:
        """The proposal of a planner for all devices. If some lack room for it and others have more, the planner is
        asked again for the others, and that proposal is used if it fits."""
        workers = tuple(range(len(self.task.devices)))
        first = found = self.proposed(name, planner, workers, group)
        while found.row.refused and (roomier := self.roomier(found.row, workers)):
            workers = roomier
            found = self.proposed(name, planner, roomier, group)
        return first if found.row.refused else found

    def roomier(self, row: ProposalRow, workers: tuple[int, ...]) -> tuple[int, ...]:
        """The workers in ``workers`` that have room for what ``row`` needs there; () unless some have more than the
        rest. A single worker is not returned: another planner proposes that."""
        have = [device.memory for device in self.task.devices.devices]
        lacking = {worker for worker, need in enumerate(row.memory) if need > have[worker]}
        rest = tuple(worker for worker in workers if worker not in lacking)
        more = lacking and max(have[w] for w in workers) > max(have[w] for w in lacking)
        return rest if more and 1 < len(rest) < len(workers) else ()

    def proposed(self, name: str, planner: Planner, workers: tuple[int, ...], group: int | None = None) -> Proposal:
        """The proposal of a planner for the devices of ``workers``, in groups of ``group`` (None: as in the task)."""
        try:
            layout = self.placed_layout(name, planner, workers, group or self.task.group)
        except NetpartError as error:
            return Proposal(ProposalRow(name, refused=str(error)), self.job)
        return self.proposal(name, layout)

    def placed_layout(self, name: str, planner: Planner, workers: tuple[int, ...], group: int) -> PlannedLayout:
        """The decision of a planner, on the devices of ``workers``."""
        return replace(self.layout_of(name, planner, workers, group).on(workers), group=group)

    def layout_of(self, name: str, planner: Planner, workers: tuple[int, ...], group: int) -> PlannedLayout:
        """The decision of a planner, which is asked once for the same devices."""
        key = name, workers, group
        if key not in self.layouts:
            task = self.task_of(workers, group)
            if name in SEARCHES:
                # The search knows counted prices only, and the devices that it plans for.
                everyone = workers == tuple(range(len(self.task.devices)))
                shared = self.priced.recomputing if self.counted and everyone else None
                task = replace(task, limit=self.time.search_limit(name), recomputing=shared)
            self.layouts[key] = planner(task)
        return self.layouts[key]

    def task_of(self, workers: tuple[int, ...], group: int) -> PlanningTask:
        """The task for the devices of ``workers``, in groups of ``group``."""
        key = workers, group
        if key not in self.tasks:
            # Proofs for other groups share the time that one proof may take.
            limit = self.task.limit / (1 if group == self.task.group else GROUP_PROOFS)
            devices = self.task.devices.of(workers)
            self.tasks[key] = replace(self.task, devices=devices, group=group, limit=limit)
        return self.tasks[key]

    def proposal(self, name: str, layout: PlannedLayout) -> Proposal:
        """The fastest combination of variant and micro-batches that fits the devices, as it is or with recomputed
        layers."""
        found = (self.choose_by_floor if self.chooses_by_floors else self.choose_predicted)(name, layout)
        row = replace(found.row, proof=layout.proof, **self.allocation(layout))
        return replace(found, row=row, layout=layout)

    def choose_by_floor(self, name: str, layout: PlannedLayout) -> Proposal:
        """The fastest way that fits; only its floor if that shows that it is not the fastest plan."""
        chosen = self.choice.choose(name, self.floors_of(name, layout))
        return replace(chosen, row=replace(chosen.row, gap=chosen.row.seconds / self.bound - 1))

    def floors_of(self, name: str, layout: PlannedLayout) -> list[WayFloor]:
        """The floor of each way, found once for planners that place the blocks alike."""
        key = layout_key(name, layout)
        if key not in self.known_floors:
            self.known_floors[key] = self.find_floors(layout)
        return self.known_floors[key]

    def find_floors(self, layout: PlannedLayout) -> list[WayFloor]:
        """The floor of each way."""
        recomputes = self.job.proto.neuralnet.recompute
        jobs = ((way, with_micro_batches(self.job, way[1], recomputes)) for way in self.ways(layout))
        return [self.floors.find_floor(job, way) for way, job in jobs]

    def tried_way(self, name: str, way: Way, limit: float) -> Proposal:
        """The proposal for one way, with recomputed layers if it does not fit otherwise. If it is not faster than the
        ``limit``, in seconds, it does not matter whether it fits."""
        with pause_gc():
            plain = self.priced.laid_out(name, *way)
            if plain.partition is not None and plain.row.seconds >= limit:
                return omit_rest(plain)
            kept = self.priced.fitted(plain)
            return (self.priced.with_recomputation(plain) or kept) if kept.row.refused else kept

    def choose_predicted(self, name: str, layout: PlannedLayout) -> Proposal:
        """The fastest way that fits, of all that are predicted: the first one, and others while there is time. Later
        they are only as long as no plan at all fits. After the limit, a row that is not predicted to be faster than a
        plan that fits is not compiled, and no layers are recomputed to let others fit."""
        ways = self.ways_of(name, layout)
        ways.try_in_time(self.time.ends)
        if self.is_late and ways.seconds >= self.fastest:
            slower = ways.tried[0][1]
            return omit_rest(replace(slower, row=replace(slower.row, name=name)))
        # Generators: predicting memory compiles every worker's program, so candidates are tried one by one until one
        # fits.
        kept = next((p for p in map(self.priced.fitted, ways.fastest()) if not p.row.refused), None)
        late = (self.priced.fitted(way) for way in iter(ways.try_next, None) if self.fastest == inf)
        kept = kept or next((p for p in late if not p.row.refused), None)
        faster = ways.fastest(inf if kept is None else kept.row.seconds)
        tries = filter(None, map(self.priced.with_recomputation, faster if not self.is_late else ()))
        # The plans of the search are few, and the one that is made for little memory is not the first.
        again = min(tries, key=lambda p: p.row.seconds, default=None) if layout.proof else next(tries, None)
        fitting = [p for p in (kept, again) if p is not None]
        if layout.proof and self.simulate:
            tried = [p for p in ways.fastest() if p.partition and count_parts(p.partition) <= MOST_PARTS]
            self.spares = [self.priced.fitted(p) for p in tried]
        found = min(fitting, key=lambda p: p.row.seconds, default=None) or self.priced.fitted(next(iter(ways.tried))[1])
        if found.row.usable:
            self.fastest = min(self.fastest, found.row.seconds)
        return replace(found, row=replace(found.row, name=name))

    @property
    def is_late(self) -> bool:
        """True after the limit, if a plan that fits is known."""
        return self.time.is_over and self.fastest < inf

    def ways_of(self, name: str, layout: PlannedLayout) -> PredictedWays:
        """The ways of a layout. Those of allocators that place the blocks alike are predicted once."""
        key = layout_key(name, layout)
        if key not in self.predicted:
            ways = deque(self.ways(layout))
            self.predicted[key] = PredictedWays(ways, lambda way: self.priced.laid_out(name, *way), bool(layout.proof))
        return self.predicted[key]

    def ways(self, layout: PlannedLayout) -> list[tuple[Scheme, int]]:
        """The combinations of variant and micro-batches that are tried."""
        schemes = layout.scheme, *layout.variants
        if layout.counts:
            return list(zip(schemes, layout.counts, strict=True))
        shares = (
            order_counts(self.shares, len(layout.workers))
            if layout.pipelined
            else [max(1, self.job.proto.neuralnet.micro_batches)]
        )
        return list(product(schemes, shares))

    def allocation(self, layout: PlannedLayout) -> dict[str, Any]:
        """Both objectives of an allocation of blocks, with the gaps to their best known bounds."""
        if layout.plan is None:
            return {}
        task = self.task_of(layout.workers, layout.group)
        return {"group": layout.group, **task.rate_plan(layout.plan)}
