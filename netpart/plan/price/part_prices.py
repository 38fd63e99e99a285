"""Part prices: the work of each part of a net for its worker, in counted FLOPs or in measured seconds.

Work is divided by the speed of a device. Counted prices are FLOPs; measured ones are the FLOPs that this host would
compute in the measured seconds, so that the devices of another host, which are faster or slower, take in proportion.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from math import prod
from typing import NamedTuple, Protocol

from netpart.graph.graph import LAYER, SUM, Graph, Part
from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition
from netpart.layers.elementwise import ElementwiseActivation
from netpart.layers.layer import MemoryReuse
from netpart.plan.price.cost import part_cost
from netpart.plan.price.window_copies import WindowCopy, input_copies
from netpart.plan.timings.kernel_times import ITEM, KernelTimes
from netpart.plan.timings.part_question import PartQuestion
from netpart.program.buffers import move_axes, same_layout
from netpart.program.memory_orders import Orders, kept_orders, memory_orders, order_for_shape
from netpart.spec import BFLOAT16, FLOAT, Shard, extent, size
from netpart.updaters import build_updater


class PartWork(NamedTuple):
    """Work of one part in a micro-batch: forward, backward, and the share of backward after the gradients of its inputs
    have been sent."""

    forward: float
    backward: float
    later: float


class PartPrices(Protocol):
    """What the parts of a partition, and what goes with them, cost."""

    def part_work(self, graph: Graph, part: Part) -> PartWork:
        """The work of a part of a layer, with that of the helpers that make its inputs."""

    def least_work(self, net: Net, node: Node, shard: Shard, backward: bool) -> PartWork:
        """What the part of a shard cannot take less than. ``backward``: it computes all gradients of its layer."""

    def update_work(self, partition: Partition, elements: int) -> float | None:
        """The work of the update of so many elements; None if it takes the time of streaming its arrays."""

    def step_work(self) -> float:
        """The work of each worker in each step that belongs to no part."""

    def overlapping(self, share: float) -> PartPrices:
        """The prices while the other workers compute too for this ``share`` of the time: from 0, never, to 1."""


class CountedPrices:
    """FLOPs; by layer, ``rates`` has the work per counted FLOP if that is not 1 (``layer_loads.work_rates``)."""

    def __init__(self, rates: Mapping[str, float] | None = None) -> None:
        self.rates = rates or {}

    def part_work(self, graph: Graph, part: Part) -> PartWork:
        """The counted work."""
        node = graph.net.nodes[part.node]
        cost = part_cost(graph, part)
        rate = self.rates.get(node.name, 1.0)
        later = cost.params * (node.layer.splits_backward and any(cost.inputs))
        return PartWork(cost.forward * rate, cost.backward * rate, later * rate)

    def least_work(self, net: Net, node: Node, shard: Shard, backward: bool) -> PartWork:
        """The counted work."""
        rate = self.rates.get(node.name, 1.0)
        cost = node.layer.cost(shard.region, shard.term)
        if not (backward and net.trained[node.index]):
            return PartWork(cost.forward * rate, 0.0, 0.0)
        inputs = sum(flops for k, flops in enumerate(cost.inputs) if net.carries_gradient(node, k))
        later = cost.params * (node.layer.splits_backward and inputs > 0)
        return PartWork(cost.forward * rate, (inputs + cost.params) * rate, later * rate)

    def update_work(self, partition: Partition, elements: int) -> None:
        """Updates have no FLOPs."""

    def step_work(self) -> float:
        """None."""
        return 0.0

    def overlapping(self, share: float) -> PartPrices:
        """The same: FLOPs do not depend on others."""
        return self


@dataclass(frozen=True)
class _GraphFacts:
    """What the prices of a graph's parts depend on: the orders of its tensors, how many parts read each part, how many
    return a gradient to it and how many of these can add it, and the workers that compute."""

    graph: Graph
    orders: Orders
    readers: Counter[int]
    gradients: dict[int, tuple[int, int]]
    workers: int


class TimedPrices:
    """Measured seconds of ``times``, for workers that share a host of so many ``cores``. They compute at the same time,
    unless ``overlapping`` says for which share of it."""

    def __init__(self, times: KernelTimes, cores: int) -> None:
        self.times = times
        self.figures = times.figures
        self.cores = cores
        self.share = 1.0
        self.last: _GraphFacts | None = None
        self.ordered: tuple[Net, Orders] | None = None

    def part_work(self, graph: Graph, part: Part) -> PartWork:
        """The seconds of the kernels, of the helpers before them and of their instructions, as FLOPs of this host."""
        question = self.question(graph, part)
        found = self.times.part_seconds(question)
        same = self.is_same_memory(graph, part)
        forward = 0.0 if same[0] or self.is_fused(graph, part) else found.forward
        inputs, params = (0.0, 0.0) if same[1] else (found.inputs, found.params)
        slow = [self.beside_others(graph, seconds, question.nbytes) for seconds in (forward, inputs, params)]
        moved = self.reordered_seconds(graph, part)
        windows = self.window_seconds(graph, part)
        calls = self.figures.instruction
        before = self.summed_seconds(part) + moved + windows[0]
        after = moved * any(question.wanted) + self.added_seconds(graph, part) + windows[1]
        back = slow[1] + slow[2] + calls * (any(question.wanted) or question.trains) + after
        work = slow[0] + calls + before, back, slow[2] * any(question.wanted)
        return PartWork(*(seconds * self.figures.speed for seconds in work))

    def least_work(self, net: Net, node: Node, shard: Shard, backward: bool) -> PartWork:
        """The seconds of the kernels alone; of a layer that may be part of another's memory or kernel, none."""
        layer = node.layer
        if isinstance(layer, ElementwiseActivation) or MemoryReuse.SAME in layer.reuse:
            return PartWork(0.0, 0.0, 0.0)
        trains = backward and net.trained[node.index]
        wanted = tuple(trains and net.carries_gradient(node, k) for k in range(len(layer.inputs)))
        learns = trains and any(not spec.read_only for spec in layer.params)
        order = self.orders(net)[node.index]
        narrow = net.element(node.index) == BFLOAT16
        found = self.times.part_seconds(PartQuestion(layer, shard.region, shard.term, order, wanted, learns, narrow))
        work = found.forward, found.inputs + found.params, found.params * any(wanted)
        return PartWork(*(seconds * self.figures.speed for seconds in work))

    def update_work(self, partition: Partition, elements: int) -> float:
        """The seconds of one update and of its instruction, as FLOPs of this host."""
        updater = partition.job.updater
        # It reads and writes the value and the states, and reads the gradient.
        moved = ITEM * elements * (3 + 2 * len(build_updater(updater).states))
        seconds = self.beside_others(partition.graph, self.times.update_seconds(updater, elements), moved)
        return (seconds + self.figures.instruction) * self.figures.speed

    def step_work(self) -> float:
        """The seconds of a step that do nothing, as FLOPs of this host."""
        return self.figures.step * self.figures.speed

    def overlapping(self, share: float) -> TimedPrices:
        """The prices while the other workers compute too for this ``share`` of the time."""
        found = copy(self)
        found.share = share
        return found

    def question(self, graph: Graph, part: Part) -> PartQuestion:
        """What is to be timed for a part."""
        node = graph.net.nodes[part.node]
        gradients = {feed.k for feed in part.feeds if feed.gradient}
        wanted = tuple(k in gradients for k in range(len(node.layer.inputs)))
        return PartQuestion(
            node.layer, part.region, part.term, self.facts(graph).orders[node.index], wanted, any(part.trains),
            graph.net.element(node.index) == BFLOAT16,
        )  # fmt: skip

    def orders(self, net: Net) -> Orders:
        """The memory orders of a net; those of the last one are kept, as its shards are asked for one after another."""
        if self.ordered is None or self.ordered[0] is not net:
            self.ordered = net, memory_orders(net, self.times.kernels)
        return self.ordered[1]

    def facts(self, graph: Graph) -> _GraphFacts:
        """The facts of a graph; those of the last one are kept, as its parts are asked for one after another."""
        if self.last is None or self.last.graph is not graph:
            readers = Counter(feed.part.index for part in graph.parts for feed in part.feeds)
            workers = len({part.worker for part in graph.parts if part.kind == LAYER})
            orders = kept_orders(graph.net, self.times.kernels, graph.crossing_nodes)
            self.last = _GraphFacts(graph, orders, readers, _count_gradients(graph), workers)
        return self.last

    def is_fused(self, graph: Graph, part: Part) -> bool:
        """True if the kernel before an activation computes it, too: that is no work of its own."""
        layer = graph.net.nodes[part.node].layer
        if not isinstance(layer, ElementwiseActivation) or layer.kind() not in self.times.kernels.fuses:
            return False
        before = part.feeds[0].part
        alone = len(part.feeds) == 1 and before.kind == LAYER and before.region == part.region
        fuses = graph.net.nodes[before.node].layer.fuses_activation and layer.reuse[0] == MemoryReuse.OVER
        return alone and fuses and self.facts(graph).readers[before.index] == 1

    def is_same_memory(self, graph: Graph, part: Part) -> tuple[bool, bool]:
        """Forward and backward: True where the output is the same memory as the input, so that nothing is computed."""
        node = graph.net.nodes[part.node]
        layer = node.layer
        orders = self.facts(graph).orders
        stays = True
        if layer.moved_axes:
            moved = move_axes(orders[node.sources[0].node], layer.moved_axes, layer.output.rank)
            stays = same_layout(extent(part.region), moved, orders[node.index])
        forward, backward = (reuse == MemoryReuse.SAME for reuse in layer.reuse)
        return forward and stays, backward and stays

    def reordered_seconds(self, graph: Graph, part: Part) -> float:
        """Seconds of copies of inputs whose memory order differs from the one that the kernel reads."""
        node = graph.net.nodes[part.node]
        orders = self.facts(graph).orders
        found = 0.0
        for feed in part.feeds:
            source = node.sources[feed.k]
            shape = extent(feed.region)
            own, read = (order_for_shape(orders[n], shape) for n in (source.node, node.index))
            if graph.net.spec(source).dtype == FLOAT and not node.layer.moved_axes:
                found += 0.0 if same_layout(shape, own, read) else self.times.copy_seconds(shape, own, read)
        return found

    def added_seconds(self, graph: Graph, part: Part) -> float:
        """Seconds of adding up the gradients of an output that several layers read; some add while they compute."""
        readers, adding = self.facts(graph).gradients[part.index]
        again = max(0, readers - 1 - adding) * part.live
        return again * (3 * ITEM * size(part.region) / self.figures.streaming + self.figures.instruction)

    def beside_others(self, graph: Graph, seconds: float, nbytes: float) -> float:
        """The seconds of a call on the same host as the other workers of a graph, which slow it while they compute."""
        if self.cores == 1 or self.facts(graph).workers == 1:
            return seconds
        return seconds * (1 + (self.figures.slowdown(seconds, nbytes) - 1) * self.share)

    def summed_seconds(self, part: Part) -> float:
        """Seconds of the sums that make the inputs of a part: each addend is read, and the sum read and written."""
        summed = sum(
            size(feed.region) * feed.part.arrivals
            for helper in part.feeds
            if helper.part.kind == SUM
            for feed in helper.part.feeds
        )
        return summed * 2 * ITEM / self.figures.streaming

    def window_seconds(self, graph: Graph, part: Part) -> tuple[float, float]:
        """Seconds, forward and backward, of the copies that make the inputs of a part from windows of tensors."""
        copies = list(input_copies(graph, part, self.facts(graph).orders))
        seconds = [self.copied_seconds(graph, each) for each in copies]
        return sum(seconds), sum(each for each, copy in zip(seconds, copies, strict=True) if copy.returned)

    def copied_seconds(self, graph: Graph, copy: WindowCopy) -> float:
        """The seconds of a window copy, without those that the message of which it is a part takes anyway."""
        seconds = self.times.window_seconds(copy.shape, copy.whole, copy.order)
        if copy.sent:
            seconds = max(0.0, seconds - self.times.window_seconds(copy.shape, copy.shape, copy.order))
        return self.beside_others(graph, seconds, 2 * ITEM * prod(copy.shape))


def _count_gradients(graph: Graph) -> dict[int, tuple[int, int]]:
    """By the index of a part, the numbers of its readers that return a gradient, and of those that can add it."""
    found: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for part in graph.parts:
        adds = part.kind == LAYER and graph.net.nodes[part.node].layer.adds_gradients
        for feed in part.feeds:
            if feed.gradient:
                count, adding = found[feed.part.index]
                found[feed.part.index] = count + 1, adding + adds
    return found
