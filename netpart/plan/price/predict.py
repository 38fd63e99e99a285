"""Prediction of the time of a training step of a partition, by one function, ``predict_step``.

The model runs one micro-batch layer by layer. A worker computes its part of a layer when it is free and the inputs of
the part have arrived. Work takes as long as the device's speed implies, messages as long as in the LogGP model
(``collectives/price.py``). The others of M micro-batches follow at the pace of the slowest worker or port, with what it
waits for others of its stage:

    T = forward + backward of one micro-batch + (M - 1) · the slowest pace + the rest of the all-reduces

Workers of one host slow each other while they compute at the same time. How many do is the sum of what they compute
over the seconds of a step whose messages take no time: one in a pipeline of one micro-batch, all where each layer is
cut. With delayed gradients, as many mini-batches are in flight as the longest chain has stages, K. By Little's law one
mini-batch takes a K-th of T, unless the slowest pace and the all-reduces take longer. Backward of a recomputed layer
includes its forward once more. The gradient of a layer's input is sent before the gradients of its parameters are
computed, where possible, as in ``program/passes/postpone_weight_gradients.py``. All-reduces of gradients overlap with
backward: the rest is in ``gradient_sums.py``. Kernels are assumed to reach the same speed for every shape, and updates
to take the time in which a device streams their arrays. ``tests/laws/test_predictions.py`` compares the model with a
simulation of the Programs at the same prices: the bytes are equal, and the seconds agree within a factor of 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from operator import add
from typing import NamedTuple

from netpart.choices import DELAYED
from netpart.graph.graph import LAYER, Graph
from netpart.graph.partition import Partition
from netpart.graph.recomputed import recomputed_nodes
from netpart.plan.price.devices import Devices
from netpart.plan.price.gradient_sums import SUM_WAYS, unhidden_seconds
from netpart.plan.price.ledger import LedgerFlow, compute_ledger
from netpart.plan.price.part_prices import CountedPrices, PartPrices
from netpart.plan.price.pass_play import Work, pass_ends, pass_paces, transfers_by_layer
from netpart.plan.price.transfers import flow_handling, flow_ports
from netpart.plan.price.worker_memory import model_workers
from netpart.program.instructions import Way
from netpart.program.schedules.schedule import schedule_order
from netpart.program.schedules.stages import StageGraph
from netpart.program.worker_shape import MemoryShape
from netpart.proto.element import float_size
from netpart.spec import size
from netpart.updaters import build_updater


@dataclass(frozen=True)
class StepPrediction:
    """A training step: its seconds, the bytes sent between workers, and the seconds that each worker computes."""

    seconds: float
    moved: int
    busy: tuple[float, ...]


def predict_step(
    partition: Partition, devices: Devices, rates: Mapping[str, float] | None = None, prices: PartPrices | None = None
) -> StepPrediction:
    """Predict a training step of ``partition`` with worker w on device w.

    ``prices`` are those of the parts; by default counted FLOPs, of which ``rates`` has by layer the work of each if
    that is not 1 (``layer_loads.work_rates``).
    """
    flows = compute_ledger(partition).flows
    norms = (e for e in flows if e.channel.way == Way.NORM)
    joined = {worker for e in norms for worker in (*e.sent, *e.received)}
    passed = [e for e in flows if e.channel.way not in SUM_WAYS and e.channel.micro == 0]
    model = _StepModel(partition, devices, passed, joined)
    prices = model.overlapping_prices(prices or CountedPrices(rates))
    sums = [e for e in flows if e.channel.way in SUM_WAYS]
    updates = _update_seconds(partition, devices, prices)
    # Of a single micro-batch, gradients that nobody sums are used for updates within the backward pass.
    early = not sums and not joined and model.count == 1
    played = model.play(prices, updates=updates if early else None)
    summed = unhidden_seconds(partition, sums, played.ends, devices.summing)
    left = _ending_seconds(sums, devices, prices)
    if not early:
        left = list(map(add, left, _worker_seconds([updates], len(devices))))
    # A worker that sums no gradients is done with its updates while others go on.
    late = played.free if not sums else [played.backward] * len(devices)
    afterwards = summed + max(map(add, late, left)) - played.backward
    taken = model.schedule_seconds(played, afterwards)
    return StepPrediction(taken, sum(e.nbytes for e in flows), tuple(s * model.count for s in played.computing))


class _PlayedStep(NamedTuple):
    """One micro-batch: the seconds of both directions, by node when it is done with in backward, by worker when it is
    done and how long it computes, and the slowest pace of the micro-batches that follow. ``joint``: seconds from the
    begin of the first worker that joins the norm to the end of the last one, if gradients are there before a step."""

    forward: float
    backward: float
    ends: Mapping[int, float]
    free: Sequence[float]
    computing: Sequence[float]
    pace: float
    joint: float


@dataclass
class _StepModel:
    """The model of a step; ``flows`` are those of one micro-batch. ``joined``: the workers that wait for each other at
    the end of a step, for the norm of all gradients."""

    partition: Partition
    devices: Devices
    flows: Sequence[LedgerFlow]
    joined: Collection[int]

    def __post_init__(self) -> None:
        micros = self.partition.phases["train"]
        self.graph, self.count = micros[0].graph, len(micros)
        self.delayed = schedule_order(self.partition.job) == DELAYED
        self.again = recomputed_nodes(self.graph.net, self.partition.job.neuralnet)
        ways = [Way.FORWARD], [Way.BACKWARD, Way.REDUCE]
        of_ways = ([e for e in self.flows if e.channel.way in way] for way in ways)
        self.moves = [transfers_by_layer(self.graph, each, self.devices) for each in of_ways]

    def play(self, prices: PartPrices, free_messages: bool = False, updates: Work | None = None) -> _PlayedStep:
        """One micro-batch at these prices; ``free_messages``: messages take no time, but are waited for. ``updates``
        have, by layer and worker, the seconds of those within the backward pass."""
        *work, later = _computing_seconds(self.graph, self.devices, prices, self.again)
        moves = [{n: move.anew(free_messages) for n, move in each.items()} for each in self.moves]
        ahead, free = ([0.0] * self.graph.workers for _ in range(2))
        forward = max(pass_ends(self.graph, work[0], Work(float), moves[0], free=ahead).values(), default=0.0)
        returned, after = (_added_work(each, updates or {}) for each in (work[1], later))
        ends = pass_ends(self.graph, returned, after, moves[1], True, free)
        computing = _worker_seconds(work, len(self.devices))
        paces = list(computing)
        if not free_messages:
            # The ports of hosts have a pace too: a port passes one message after another.
            handling = flow_handling(self.flows, self.devices)
            paces = [flow_ports(self.flows, self.devices), *map(add, computing, handling)]
        if self.delayed or self.count > 1:
            pairs = zip(work, (Work(float), later), moves, (False, True), strict=True)
            paces += map(sum, zip(*(pass_paces(self.graph, *pair) for pair in pairs), strict=True))
        free += [0.0] * (len(self.devices) - len(free))
        joint = self.joint_seconds(ahead, *(_worker_seconds([each], self.graph.workers) for each in work))
        return _PlayedStep(forward, max(ends.values(), default=0.0), ends, free, computing, max(paces), joint)

    def joint_seconds(self, ahead: Sequence[float], forward: Sequence[float], backward: Sequence[float]) -> float:
        """``_PlayedStep.joint``. By worker: when forward has ended, and the seconds of both directions."""
        ends = [ahead[worker] + backward[worker] for worker in self.joined]
        return max(ends, default=0.0) - min((ahead[w] - forward[w] for w in self.joined), default=0.0)

    def schedule_seconds(self, played: _PlayedStep, left: float = 0.0) -> float:
        """The seconds of a step of all micro-batches, with ``left`` seconds after the backward pass of the last."""
        taken = played.forward + played.backward + (self.count - 1) * played.pace + left
        if not self.delayed:
            return taken
        stages = 1 + StageGraph(self.graph, delayed=True).depth
        # Workers that join a norm begin the next step together: then its forward pass goes through all their stages.
        joint = played.joint + (self.count - 1) * played.pace + left
        return max(self.count * played.pace + left, taken / stages, joint)

    def overlapping_prices(self, prices: PartPrices) -> PartPrices:
        """The ``prices`` for workers of which as many compute at the same time as in this step without messages."""
        alone = prices.overlapping(0.0)
        if alone is prices:
            return prices
        played = self.play(alone, free_messages=True)
        busy, taken = sum(played.computing) * self.count, self.schedule_seconds(played)
        others = sum(seconds > 0 for seconds in played.computing) - 1
        return prices.overlapping(min(1.0, max(0.0, busy / taken - 1) / others) if others > 0 and taken else 0.0)


def _worker_seconds(work: Iterable[Work], workers: int) -> list[float]:
    """Seconds that each worker computes."""
    found = [0.0] * workers
    for part in work:
        for (_, worker), seconds in part.items():
            found[worker] += seconds
    return found


def _computing_seconds(
    graph: Graph, devices: Devices, prices: PartPrices, again: Collection[int]
) -> tuple[Work, Work, Work]:
    """Seconds by layer and worker: of forward, of backward, and of the part of backward after the gradient of the input
    has been sent. Backward of the nodes in ``again`` starts with another forward pass."""
    forward = Work(float)
    backward = Work(float)
    later = Work(float)
    for part in graph.parts:
        if part.kind == LAYER:
            work = prices.part_work(graph, part)
            key = (part.node, part.worker)
            speed = devices.devices[part.worker].speed
            forward[key] += work.forward / speed
            backward[key] += (work.backward + work.forward * (part.live and part.node in again)) / speed
            later[key] += work.later / speed
    return forward, backward, later


def _added_work(work: Work, more: Mapping[tuple[int, int], float]) -> Work:
    """The seconds of both."""
    found = Work(float, work)
    for key, seconds in more.items():
        found[key] += seconds
    return found


def _ending_seconds(sums: Iterable[LedgerFlow], devices: Devices, prices: PartPrices) -> list[float]:
    """Seconds in which each worker copies and adds the gradients of others, and begins and ends a step."""
    moved = [0] * len(devices)
    for flow in sums if devices.sums is None else ():
        for bytes_of in (flow.sent, flow.received):
            for worker, nbytes in bytes_of.items():
                # Adding a block reads two arrays and writes one. A measured link of sums has that in its bandwidth.
                moved[worker] += 3 * nbytes
    step = prices.step_work()
    return [n / device.streaming + step / device.speed for n, device in zip(moved, devices.devices, strict=True)]


def _update_seconds(partition: Partition, devices: Devices, prices: PartPrices) -> Work:
    """Seconds of the updates by the layer that owns the parameter, and by worker."""
    # An update reads and writes the value and the states, and reads the gradient.
    streams = 3 + 2 * len(build_updater(partition.job.updater).states)
    nbytes = float_size(partition.job) * streams
    found = Work(float)
    for worker, device in enumerate(devices.devices[: partition.workers]):
        for holding in partition.holdings[worker]:
            elements = size(holding.home)
            if elements and holding.parameter.name in partition.trained:
                work = prices.update_work(partition, elements)
                seconds = elements * nbytes / device.streaming if work is None else work / device.speed
                found[holding.parameter.owner, worker] += seconds
    return found


def predict_memory(partition: Partition, room: float = inf) -> tuple[int, ...]:
    """Bytes of each worker: the memory that its compiled program allocates, with the workspace of its kernels, and its
    messages in flight. A worker that needs more than ``room`` is the last that is compiled. Of workers that read the
    same in another order, as at halos, one is compiled."""
    slots = len(build_updater(partition.job.updater).states)
    found: list[int] = []
    for model in model_workers(partition, slots, kind=MemoryShape):
        found.append(model.memory)
        if model.memory > room:
            break
    return tuple(found)
