"""Step profile: the figures of a traced run by layer and by worker, each the median over steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median

from netpart.graph.build import type_name
from netpart.graph.graph import LAYER
from netpart.graph.net import Node
from netpart.graph.partition import Partition
from netpart.measure.data_waits import DataWait, make_data_wait, reads_data
from netpart.measure.timeline import (
    BACKWARD,
    BUSY,
    FORWARD,
    MOVE,
    READ,
    STEP,
    TALK,
    UPDATE,
    WAIT,
    Timeline,
    intersect_intervals,
    merge_intervals,
    own_seconds,
    total_length,
    travel_intervals,
)  # fmt: skip
from netpart.plan.price.cost import owner_names, part_cost


@dataclass(frozen=True)
class LayerTime:
    """Seconds of one layer in a step, on the worker that takes longest, for all micro-batches together.

    ``flops`` are those of all workers. ``rate`` is FLOPs per second of one worker while it computes the layer, forward
    and backward; it is 0 for a layer without counted FLOPs.
    """

    name: str
    type: str
    forward: float
    backward: float
    update: float
    flops: int
    rate: float

    @property
    def seconds(self) -> float:
        """Forward, backward and update together."""
        return self.forward + self.backward + self.update


@dataclass(frozen=True)
class WorkerTime:
    """Seconds of one worker in a step. From ``reading`` to ``other`` they add up to about ``step``.

    ``reading`` is the wait for rows of input layers: what of their reading was not done ahead, and copying them.
    ``moving`` is copying, adding and clearing within the worker. ``talking`` is its own work for messages; ``waiting``
    is time spent waiting for messages. ``travelling`` is how long messages to it or from it were in flight.
    ``overlapped`` is how much of that time it computed.
    """

    worker: int
    step: float
    reading: float
    forward: float
    backward: float
    update: float
    moving: float
    talking: float
    waiting: float
    other: float
    travelling: float
    overlapped: float


@dataclass(frozen=True)
class WorkerMemory:
    """The memory plan of one worker in bytes. ``peak`` lists what fills its arena at the instruction ``peak_at``, and
    ``load`` how much of the arena is in use during each action."""

    worker: int
    parts: dict[str, int]
    peak: dict[str, int]
    peak_at: str
    load: dict[str, int] = field(default_factory=dict, repr=False)

    @property
    def total(self) -> int:
        """The sum of all parts."""
        return sum(self.parts.values())


@dataclass(frozen=True)
class StepProfile:
    """A traced run of ``steps`` steps. ``step_seconds`` is the median of the slowest worker's time."""

    name: str
    rows: int
    steps: int
    step_seconds: float
    layers: tuple[LayerTime, ...]
    workers: tuple[WorkerTime, ...]
    memory: tuple[WorkerMemory, ...]
    data: tuple[DataWait, ...]


class StepProfiler:
    """Profiler that computes a StepProfile from the ``timeline`` of training steps of ``partition``."""

    def __init__(self, partition: Partition, timeline: Timeline) -> None:
        self.partition = partition
        self.timeline = timeline
        self.steps = timeline.steps
        micros = partition.phases["train"]
        self.nodes = {part.name: part.node for micro in micros for part in micro.graph.parts if part.kind == LAYER}
        self.owners = owner_names(partition)

    def profile(self, memory: Iterable[WorkerMemory]) -> StepProfile:
        """The figures of all layers and workers."""
        net = self.partition.graph.net
        return StepProfile(
            net.name, self.partition.phases["train"][-1].rows[1], len(self.steps),
            median(self.timeline.seconds(step) for step in self.steps),
            tuple(self.layer(node.index) for node in net.nodes),
            tuple(self.worker_rows()), tuple(memory),
            tuple(self.data_wait(node) for node in net.nodes if reads_data(net, node)),
        )  # fmt: skip

    @cached_property
    def by_layer(self) -> dict[tuple[str, str], dict[tuple[int, int], float]]:
        """Seconds by layer and kind, and within these by step and worker."""
        names = [node.name for node in self.partition.graph.net.nodes]
        found: dict[tuple[str, str], dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
        for event in self.timeline.events:
            node = self.nodes.get(event.part)
            owner = self.owners.get(event.object) if event.kind == UPDATE else None
            layer = owner if node is None else names[node]
            if layer is not None and event.kind in (READ, FORWARD, BACKWARD, UPDATE):
                # For a layer, reading is its forward.
                found[layer, FORWARD if event.kind == READ else event.kind][event.step, event.worker] += event.seconds
        return found

    def layer(self, index: int) -> LayerTime:
        """The row of one layer."""
        node = self.partition.graph.net.nodes[index]
        flops = self.flops(index)
        seconds = {kind: self.by_layer.get((node.name, kind), {}) for kind in (FORWARD, BACKWARD, UPDATE)}
        forward, backward, update = (self.median_of(_longest, found) for found in seconds.values())
        computing = sum(self.median_of(self.all_workers, seconds[kind]) for kind in (FORWARD, BACKWARD))
        rate = flops / computing if computing else 0.0
        return LayerTime(node.name, type_name(node.conf).removeprefix("k"), forward, backward, update, flops, rate)

    def data_wait(self, node: Node) -> DataWait:
        """The wait for rows of one layer that reads data."""
        seconds = self.median_of(_longest, self.by_layer.get((node.name, FORWARD), {}))
        return make_data_wait(node, seconds, median(self.timeline.seconds(step) for step in self.steps))

    def median_of(self, join: Callable[[Mapping[int, float]], float], seconds: dict[tuple[int, int], float]) -> float:
        """The median over steps of ``join`` applied to the seconds by worker."""
        return median(join({w: s for (at, w), s in seconds.items() if at == step}) for step in self.steps)

    def all_workers(self, seconds: Mapping[int, float]) -> float:
        """The sum over all workers, of the seconds by worker."""
        alike = Counter(self.timeline.models)
        return sum(s * alike.get(worker, 1) for worker, s in seconds.items())

    def flops(self, index: int) -> int:
        """FLOPs of a layer in a step, on all workers."""
        return self._flops[index]

    @cached_property
    def _flops(self) -> Counter[int]:
        """FLOPs of each layer in a step."""
        found = Counter[int]()
        for micro in self.partition.phases["train"]:
            for part in micro.graph.parts:
                if part.kind == LAYER:
                    cost = part_cost(micro.graph, part)
                    found[part.node] += cost.forward + cost.backward
        return found

    def worker_rows(self) -> Iterator[WorkerTime]:
        """The row of each worker; those of alike workers are the same."""
        found: dict[int, WorkerTime] = {}
        for worker in range(self.timeline.workers):
            model = self.timeline.model(worker)
            if model not in found:
                found[model] = self.worker(model)
            yield replace(found[model], worker=worker)

    def worker(self, worker: int) -> WorkerTime:
        """The row of one worker."""
        events = self.timeline.of_worker(worker)
        own = [own_seconds(e for e in events if e.step == step) for step in self.steps]
        ways = [self.overlap(worker, step) for step in self.steps]
        spent = {kind: median(found[kind] for found in own) for kind in (*BUSY, TALK, WAIT, STEP)}
        return WorkerTime(
            worker, median(e.seconds for e in events if e.kind == STEP), spent[READ], spent[FORWARD], spent[BACKWARD],
            spent[UPDATE], spent[MOVE], spent[TALK], spent[WAIT], spent[STEP],
            median(total for total, _ in ways), median(hidden for _, hidden in ways),
        )  # fmt: skip

    def overlap(self, worker: int, step: int) -> tuple[float, float]:
        """Seconds in ``step`` during which messages of ``worker`` were in flight, and for how many of these it
        computed."""
        ways = travel_intervals(self.timeline, worker, step)
        busy = merge_intervals(e.interval for e in self.timeline.of_worker(worker) if e.step == step and e.kind in BUSY)
        return total_length(ways), total_length(intersect_intervals(ways, busy))


def _longest(seconds: Mapping[int, float]) -> float:
    """The seconds of the worker that takes longest."""
    return max(seconds.values(), default=0.0)


__all__ = ["DataWait", "LayerTime", "StepProfile", "StepProfiler", "WorkerMemory", "WorkerTime"]
