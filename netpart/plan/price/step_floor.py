"""Step floors: seconds that the prediction for some placements cannot be below, found without rewriting the net.

The model is that of ``predict_step``, with what placements alone say. A worker computes its shards, one after another.
It waits for what its own shards do not hold of their inputs: these bytes pass its end of the fastest link. In backward
as many bytes keep it busy, as their gradients return. A parameter of which several workers compute addends of the
gradient is summed; by decision 8 that is 2 (k - 1)/k times its bytes for each of k workers on average. Only a few
workers are watched, the busiest among them, as a floor for some is a floor for all.
``tests/laws/test_step_floors.py`` compares floors with predictions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from netpart.graph.graph import Graph
from netpart.graph.net import Net, Node, Parameter, Source
from netpart.graph.passes.expand import expand_cut_layers
from netpart.layers.part import Needs
from netpart.plan.price.devices import Devices
from netpart.plan.price.part_prices import PartPrices, PartWork
from netpart.plan.price.pass_play import LayerTransfer, Work, pass_ends
from netpart.program.buffers import item_size
from netpart.spec import RECORD, Placement, Region, Shape, Shard, extent, intersect, size

ShardSize = tuple[Shape, Region | None]
"""The extents of a shard, and the term of its addends."""
WATCHED = 16
"""Workers that are watched: half of them the busiest, the others at even distances."""
ALMOST = 1 - 1e-9
"""Sums in another order differ by rounding."""


def floor_model(net: Net, placements: list[Placement], devices: Devices, prices: PartPrices, width: int) -> FloorModel:
    """The floors for ``net``, a micro-batch, with these placements. ``width`` is the bytes of an activation.

    Raises ConfigError for a cut that a layer cannot take in any way.
    """
    return FloorModel(*expand_cut_layers(net, placements), devices, prices, width)


@dataclass
class FloorModel:
    """The placements of a net whose layers are expanded, and what their shards take."""

    net: Net
    placements: list[Placement]
    devices: Devices
    prices: PartPrices
    width: int

    @cached_property
    def works(self) -> dict[tuple[int, int], PartWork]:
        """The least work of each node on each worker. Shards of equal extents take the same; of addends, one has the
        bias."""
        found: dict[tuple[int, int], PartWork] = {}
        known: dict[tuple[object, ...], PartWork] = {}
        for node, sizes in zip(self.net.nodes, self.shard_sizes, strict=True):
            for shard, shape in sizes:
                key = node.index, shape
                if key not in known:
                    known[key] = self.prices.least_work(self.net, node, shard, node.index in self.returning)
                at = node.index, shard.worker
                found[at] = _add_work(found[at], known[key]) if at in found else known[key]
        return found

    @cached_property
    def shard_sizes(self) -> list[list[tuple[Shard, ShardSize]]]:
        """The shards of each node, with their extents and terms."""
        found = {id(placement): _shard_sizes(placement) for placement in self.placements}
        return [found[id(placement)] for placement in self.placements]

    @cached_property
    def returning(self) -> set[int]:
        """The nodes of which every shard returns gradients: neither they nor what follows them has replicas, of which
        only some return any."""
        found: set[int] = set()
        replicated = {n for n, placement in enumerate(self.placements) if not placement.has_no_replicas}
        for node in reversed(self.net.nodes):
            if node.index in replicated:
                replicated |= {source.node for source in node.sources}
            else:
                found.add(node.index)
        return found

    @cached_property
    def busy(self) -> list[float]:
        """The least seconds that each worker computes."""
        found = [0.0] * len(self.devices)
        for (_, worker), work in self.works.items():
            found[worker] += (work.forward + work.backward) / self.devices.devices[worker].speed
        return found

    @cached_property
    def watched(self) -> list[int]:
        """The workers that are watched."""
        count = len(self.devices)
        busiest = sorted(range(count), key=self.busy.__getitem__, reverse=True)[: WATCHED // 2]
        return sorted({*busiest, *(count * i // (WATCHED // 2) for i in range(min(count, WATCHED // 2)))})

    def step_floor(self, micro_batches: int = 1, delayed: bool = False) -> float:
        """Seconds that ``predict_step`` does not go below for so many micro-batches."""
        pace = max(self.busy, default=0.0)
        if delayed:
            return micro_batches * pace * ALMOST
        forward, backward = self.pass_floors()
        # The sums that backward does not hide are least if it takes a share of them.
        ending = max(backward, self.sum_floor() / micro_batches)
        return (forward + ending + (micro_batches - 1) * pace) * ALMOST

    def memory_floor(self) -> int:
        """Bytes that a watched worker needs at least: parameters, and the gradients of those that are trained."""
        largest: dict[tuple[int, str], int] = defaultdict(int)
        for node, shard, parameter, box in self.parameter_boxes():
            trains = self.net.trained[node.index] and not parameter.spec.read_only
            key = shard.worker, parameter.name
            largest[key] = max(largest[key], size(box) * (1 + trains) * self.width)
        held = Counter[int]()
        for (worker, _), nbytes in largest.items():
            held[worker] += nbytes
        return max(held.values(), default=0)

    def parameter_boxes(self) -> Iterator[tuple[Node, Shard, Parameter, Region]]:
        """The parts of parameters that the shards of watched workers read."""
        for node, shard, needs in self.watched_needs:
            for parameter, box in zip(node.params, needs.params, strict=True):
                if box is not None:
                    yield node, shard, parameter, box

    def pass_floors(self) -> tuple[float, float]:
        """The least seconds of a micro-batch forward, and of one backward."""
        workers = set(self.watched)
        watched = [_watched_placement(placement, workers) for placement in self.placements]
        graph = Graph(self.net, len(self.devices), watched)
        forward, backward, later = (self.seconds(field) for field in PartWork._fields)
        ends = (
            pass_ends(graph, forward, Work(float), self.transfers()),
            pass_ends(graph, backward, later, self.transfers(returns=True), reverse=True),
        )
        return max(ends[0].values(), default=0.0), max(ends[1].values(), default=0.0)

    def seconds(self, field: str) -> Work:
        """The least seconds of a pass, by node and watched worker."""
        found, speeds = Work(float), {worker: self.devices.devices[worker].speed for worker in self.watched}
        for (node, worker), work in self.works.items():
            if worker in speeds:
                found[node, worker] = getattr(work, field) / speeds[worker]
        return found

    def transfers(self, returns: bool = False) -> dict[int, LayerTransfer]:
        """The least transfer of each layer's output to the watched workers. With ``returns``, that of its gradient:
        each of them sends as many bytes as it received, and is busy meanwhile."""
        nbytes: dict[int, Counter[int]] = defaultdict(Counter)
        tensors = {(node, output) for node, output, _ in self.missing_bytes}
        counted = {tensor for tensor in tensors if not returns or self.returns_gradient(*tensor)}
        for (node, output, worker), missing in self.missing_bytes.items():
            if (node, output) in counted:
                nbytes[node][worker] += missing
        return {node: self.layer_transfer(of_node, returns) for node, of_node in nbytes.items()}

    def layer_transfer(self, nbytes: Mapping[int, int], returns: bool) -> LayerTransfer:
        """The least transfer of so many bytes to each worker, or with ``returns`` from it."""
        arrivals, handled = ([0.0] * len(self.devices) for _ in range(2))
        for worker, missing in nbytes.items():
            (handled if returns else arrivals)[worker] = missing / self.bandwidth if returns else self.arrival(missing)
        return LayerTransfer(arrivals, handled, self.alone, {})

    @cached_property
    def alone(self) -> dict[int, set[int]]:
        """Each watched worker, connected with no other."""
        return {worker: {worker} for worker in self.watched}

    def returns_gradient(self, node: int, output: int) -> bool:
        """True if all readers of an output return its gradient; where some are replicas, few of these do."""
        reading = self.readers[Source(node, output)]
        alone = all(self.placements[n].has_no_replicas for n in (node, *(reader.index for reader, _ in reading)))
        return alone and all(self.net.carries_gradient(reader, k) for reader, k in reading)

    @cached_property
    def readers(self) -> dict[Source, list[tuple[Node, int]]]:
        """The nodes that read each output, and by which of their inputs."""
        found: dict[Source, list[tuple[Node, int]]] = defaultdict(list)
        for node in self.net.nodes:
            for k, source in enumerate(node.sources):
                found[source].append((node, k))
        return found

    @cached_property
    def missing_bytes(self) -> dict[tuple[int, int, int], int]:
        """By node, output and watched worker, the bytes that a reader there needs and no shard there holds."""
        found: dict[tuple[int, int, int], int] = {}
        for node, shard, needs in self.watched_needs:
            for source, need in zip(node.sources, needs.inputs, strict=True):
                dtype = self.net.element(source.node, source.output)
                if need is not None and dtype != RECORD and all(lo < hi for lo, hi in need):
                    key = source.node, source.output, shard.worker
                    missing = self.missing_elements(*key, need) * item_size(dtype, self.width)
                    found[key] = max(found.get(key, 0), missing)
        return found

    def missing_elements(self, node: int, output: int, worker: int, need: Region) -> int:
        """The elements of ``need`` that come from other workers: all if an addend is only there."""
        placement, layer = self.placements[node], self.net.nodes[node].layer
        here = self.held[node].get(worker, [])
        if len(placement.terms) > 1:
            return 0 if {shard.term for shard in here} == placement.terms.keys() else size(need)
        boxes = (intersect(need, layer.outputs_of(shard.region)[output]) for shard in here)
        return max(0, size(need) - sum(size(box) for box in boxes if box is not None))

    @cached_property
    def held(self) -> list[dict[int, list[Shard]]]:
        """The shards of each node, by worker. Equal placements are one object, and are looked at once."""
        found = {id(placement): _shards_by_worker(placement) for placement in self.placements}
        return [found[id(placement)] for placement in self.placements]

    @cached_property
    def watched_needs(self) -> list[tuple[Node, Shard, Needs]]:
        """The shards on watched workers, with their nodes and what they need, in net order."""
        return [
            (node, shard, node.layer.needs(shard.region, shard.term))
            for node in self.net.nodes
            for worker in self.watched
            for shard in self.held[node.index].get(worker, ())
        ]

    def sum_floor(self) -> float:
        """The least seconds in which a watched worker sums gradients with others that are watched."""
        holders: dict[tuple[str, Region], set[int]] = defaultdict(set)
        for node, shard, parameter, box in self.parameter_boxes():
            alone = self.placements[node.index].has_no_replicas
            if alone and self.net.trained[node.index] and not parameter.spec.read_only:
                holders[parameter.name, box].add(shard.worker)
        taken = Counter[int]()
        for (_, box), workers in holders.items():
            share = 2 * (len(workers) - 1) * size(box) * self.width // len(workers)
            taken.update(dict.fromkeys(workers, share))
        return max(taken.values(), default=0) / self.bandwidth

    def arrival(self, nbytes: int) -> float:
        """The least seconds until so many bytes have arrived at a worker."""
        network = self.devices.network
        every = [network.link, *(link for _, link in network.links)]
        waits = min(link.latency for link in every) + 2 * min(link.overhead for link in every)
        return waits + nbytes / self.bandwidth if nbytes else 0.0

    @cached_property
    def bandwidth(self) -> float:
        """The most bytes that enter a worker in a second: over all kinds of links at once, each as fast as the best."""
        network = self.devices.network
        every = [network.link, *(link for _, link in network.links)]
        return max(link.bandwidth for link in every) * (len(every) + bool(network.hosts))


def _add_work(one: PartWork, other: PartWork) -> PartWork:
    """The work of two shards of a layer on one worker."""
    return PartWork(*(a + b for a, b in zip(one, other, strict=True)))


def _watched_placement(placement: Placement, workers: set[int]) -> Placement:
    """The shards of ``placement`` on some workers."""
    return Placement(tuple(shard for shard in placement.shards if shard.worker in workers))


def _shard_sizes(placement: Placement) -> list[tuple[Shard, ShardSize]]:
    """The shards of ``placement`` with their extents and terms."""
    return [(shard, (extent(shard.region), shard.term)) for shard in placement.shards]


def _shards_by_worker(placement: Placement) -> dict[int, list[Shard]]:
    """The shards of ``placement``, by worker."""
    found: dict[int, list[Shard]] = defaultdict(list)
    for shard in placement.shards:
        found[shard.worker].append(shard)
    return found


__all__ = ["FloorModel", "floor_model"]
