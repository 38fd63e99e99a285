"""Way floors: for many devices, no way to cut a job is rewritten whose least seconds are above a plan that is known.

A way is a job with a number of micro-batches, and a scheme. Its floor follows from its placements
(``netpart.plan.price.step_floor``). Many ways of the planners place the layers alike; these are tried once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import inf
from time import process_time

from netpart.choices import DELAYED
from netpart.errors import ConfigError
from netpart.graph.build import build_net
from netpart.graph.net import Net
from netpart.graph.passes.uneven_cuts import cut_extent
from netpart.graph.recomputed import layers_recomputed
from netpart.plan.partition import SchemePlacer
from netpart.plan.price.devices import Devices
from netpart.plan.price.like_layers import LikeLayers
from netpart.plan.price.part_prices import PartPrices
from netpart.plan.price.step_floor import floor_model
from netpart.plan.schemes.placing import Scheme
from netpart.plan.search.proposal import PlacementKey, Proposal, ProposalRow
from netpart.program.schedules.schedule import schedule_order
from netpart.proto.element import float_size
from netpart.proto.reader import Job
from netpart.units import bytes_text

SECONDS_PER_MESSAGE = 1e-4
"""Seconds of the processor, about, to rewrite and to predict a way, for each region that a worker reads of another.
ResNet-50 for 1,024 workers with its last layer cut on neurons has 1 000 000 of them, and takes 135 seconds."""
Way = tuple[Scheme, int]
"""A scheme and a number of micro-batches."""


@dataclass(frozen=True)
class WayFloor:
    """The least seconds of a step of a ``way`` to cut a job, the least ``memory`` of some worker, and about how many
    ``messages`` a rewrite has. The key is shared by ways with equal placements; None if the cut is refused."""

    job: Job
    way: Way
    seconds: float = 0.0
    memory: int = 0
    key: PlacementKey | None = None
    messages: int = 0


@dataclass
class WayFloors:
    """The floors of ways to cut a job for ``devices``, each found once."""

    devices: Devices
    prices: PartPrices
    nets: dict[int, Net] = field(default_factory=dict)
    layers: LikeLayers = field(default_factory=LikeLayers)
    known: dict[PlacementKey, tuple[float, int, int]] = field(default_factory=dict)

    def find_floor(self, job: Job, way: Way) -> WayFloor:
        """The floor of ``job``, which has the micro-batches of ``way``."""
        scheme, count = way
        try:
            net = self.net_of(job, count)
            placements = SchemePlacer(job.proto, len(self.devices), job.folder, "", scheme, 0)(net)
            key = count, layers_recomputed(job.proto.neuralnet), tuple(placements)
            if key not in self.known:
                width = float_size(job.proto)
                model = floor_model(net, placements, self.devices, self.prices, width, self.layers)
                seconds = model.step_floor(count, schedule_order(job.proto) == DELAYED)
                self.known[key] = seconds, model.memory_floor(), model.missing.message_count()
        except ConfigError:
            return WayFloor(job, way)
        seconds, memory, messages = self.known[key]
        return WayFloor(job, way, seconds, memory, key, messages)

    def net_of(self, job: Job, count: int) -> Net:
        """The net of the first of ``count`` micro-batches."""
        if count not in self.nets:
            whole = self.net_of(job, 1) if count > 1 else build_net(job.proto, "train", job.folder)
            lo, hi = cut_extent(whole.rows, min(count, whole.rows), spread=True)[0]
            self.nets[count] = whole if count == 1 else build_net(job.proto, "train", job.folder, rows=hi - lo)
        return self.nets[count]


WayTrial = Callable[[str, Way, float], Proposal]
"""Makes the proposal with a name for a way; with its memory, if it is faster than a number of seconds."""


@dataclass
class WayChoice:
    """Chooses among the ways of a planner the fastest that fits. ``try_way`` rewrites one and predicts its step;
    ``room`` is the memory of equal devices; ``fastest`` are the least seconds of all plans that fit so far. Once there
    is one, ways are tried until ``ends``, in seconds of the processor, ``span`` in all; none that would end later if it
    took as long as the ``longest`` so far, or as its messages take."""

    try_way: WayTrial
    room: float = inf
    ends: float = inf
    span: float = inf
    fastest: float = inf
    longest: float = 0.0
    tried: dict[PlacementKey | None, Proposal] = field(default_factory=dict)

    def choose(self, name: str, floors: Iterable[WayFloor]) -> Proposal:
        """The fastest way that fits, or the first one if none does. If no way can be faster than what is known, or if
        it is late, a proposal that says no more than the least seconds: it is not rewritten."""
        found: list[Proposal] = []
        omitted: list[Proposal] = []
        for floor in sorted(floors, key=self.order):
            least = min([self.fastest, *(p.row.seconds for p in found if not p.row.refused)])
            if (floor.seconds >= least or self.is_late(floor, least)) and floor.key not in self.tried:
                omitted.append(_omitted_proposal(name, floor))
            else:
                found.append(self.known_trial(name, floor))
        if omitted and all(p.row.refused for p in found):
            return min(omitted, key=lambda p: p.row.seconds)
        best = min(found, key=lambda p: (bool(p.row.refused), p.row.is_floor, p.row.seconds))
        return found[0] if best.row.refused else best

    def order(self, floor: WayFloor) -> tuple[bool, float]:
        """Sorts ways by their least seconds: the sooner a fast plan is known, the fewer others are rewritten. Those
        whose messages take more than all the time, or which have no room, come last."""
        return _rewrite_seconds(floor) > self.span or floor.memory > self.room, floor.seconds

    def is_late(self, floor: WayFloor, least: float) -> bool:
        """True if a way would end too late, and the ``least`` seconds of one that fits are known."""
        return process_time() + max(self.longest, _rewrite_seconds(floor)) > self.ends and least < inf

    def known_trial(self, name: str, floor: WayFloor) -> Proposal:
        """The proposal for a way; ways with equal placements are tried once."""
        if floor.memory > self.room:
            needs = f"needs at least {bytes_text(floor.memory)} on some worker, which has {bytes_text(self.room)}"
            return Proposal(ProposalRow(name, floor.way[1], seconds=floor.seconds, refused=needs), floor.job)
        if floor.key is None or floor.key not in self.tried:
            begun = process_time()
            self.tried[floor.key] = found = self.try_way(name, floor.way, self.fastest)
            self.longest = max(self.longest, process_time() - begun)
            self.note(found.row)
        known = self.tried[floor.key]
        return replace(known, row=replace(known.row, name=name))

    def note(self, row: ProposalRow) -> None:
        """Keep the seconds of a plan, if it fits and none is faster."""
        if row.usable:
            self.fastest = min(self.fastest, row.seconds)


def _rewrite_seconds(floor: WayFloor) -> float:
    """Seconds of the processor, about, to rewrite a way that sends many messages, and to predict its step."""
    return SECONDS_PER_MESSAGE * floor.messages


def omit_rest(proposal: Proposal) -> Proposal:
    """``proposal``, which is too slow to be worked out further: without its partition."""
    return replace(proposal, row=replace(proposal.row, is_floor=True), partition=None)


def _omitted_proposal(name: str, floor: WayFloor) -> Proposal:
    """The proposal of a planner whose fastest way cannot be fast enough."""
    row = ProposalRow(name, floor.way[1], seconds=floor.seconds, is_floor=True)
    return Proposal(row, floor.job, key=floor.key)
