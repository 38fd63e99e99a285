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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from netpart.graph.net import Net, Node, Parameter
from netpart.graph.passes.expand import expand_cut_layers
from netpart.plan.price.devices import Devices
from netpart.plan.price.like_layers import LikeLayers
from netpart.plan.price.missing_inputs import MissingInputs
from netpart.plan.price.net_profile import Floats
from netpart.plan.price.part_prices import PartPrices, PartWork
from netpart.spec import Placement, Region, Shard, extent, size

WATCHED = 16
"""Workers that are watched: half of them the busiest, the others at even distances."""
Begins = Callable[[int, Floats, dict[int, Floats]], list[Floats]]
"""What a node waits for on the watched workers, from their free moments and the ends of other nodes."""
ALMOST = 1 - 1e-9
"""Sums in another order differ by rounding."""


def floor_model(
    net: Net, placements: list[Placement], devices: Devices, prices: PartPrices, width: int,
    layers: LikeLayers | None = None,
) -> FloorModel:  # fmt: skip
    """The floors for ``net``, a micro-batch, with these placements. ``width`` is the bytes of an activation; ``layers``
    keep what is known of them for other placements.

    Raises ConfigError for a cut that a layer cannot take in any way.
    """
    net, placements = expand_cut_layers(net, placements)
    known: dict[Placement, Placement] = {}
    alike = [known.setdefault(placement, placement) for placement in placements]
    return FloorModel(net, alike, devices, prices, width, layers or LikeLayers())


@dataclass
class FloorModel:
    """The placements of a net whose layers are expanded, equal ones being one object, and what their shards take."""

    net: Net
    placements: list[Placement]
    devices: Devices
    prices: PartPrices
    width: int
    layers: LikeLayers = field(default_factory=LikeLayers)

    @cached_property
    def works(self) -> Floats:
        """The least work of each node on each worker: (nodes, workers, fields of PartWork). Shards of equal extents
        take the same; of addends, one has the bias."""
        found = np.zeros((len(self.net.nodes), len(self.devices), len(PartWork._fields)))
        groups = {id(placement): _group_by_size(placement, len(self.devices)) for placement in self.unique}
        for node in self.net.nodes:
            for shard, counts in groups[id(self.placements[node.index])]:
                work = self.prices.least_work(self.net, node, shard, node.index in self.returning)
                found[node.index] += np.outer(counts, work)
        return found

    @cached_property
    def unique(self) -> list[Placement]:
        """The placements, each once."""
        return list({id(placement): placement for placement in self.placements}.values())

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
    def busy(self) -> Floats:
        """The least seconds that each worker computes."""
        found: Floats = (self.works[:, :, 0] + self.works[:, :, 1]).sum(axis=0) / self.speeds
        return found

    @cached_property
    def speeds(self) -> Floats:
        """The speed of each worker."""
        return np.array([device.speed for device in self.devices.devices])

    @cached_property
    def watched(self) -> list[int]:
        """The workers that are watched."""
        count = len(self.devices)
        busiest = np.argsort(-self.busy, kind="stable")[: WATCHED // 2].tolist()
        return sorted({*busiest, *(count * i // (WATCHED // 2) for i in range(min(count, WATCHED // 2)))})

    def step_floor(self, micro_batches: int = 1, delayed: bool = False) -> float:
        """Seconds that ``predict_step`` does not go below for so many micro-batches."""
        pace = float(self.busy.max(initial=0.0))
        if delayed:
            return micro_batches * pace * ALMOST
        # The sums that backward does not hide are least if it takes a share of them.
        ending = max(self.backward_floor(), self.sum_floor() / micro_batches)
        return (self.forward_floor() + ending + (micro_batches - 1) * pace) * ALMOST

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
        for node in self.net.nodes:
            for shard in self.missing.shards(self.placements[node.index]) if node.params else ():
                needs = self.layers.needs(node.layer, shard)
                for parameter, box in zip(node.params, needs.params, strict=True):
                    if box is not None:
                        yield node, shard, parameter, box

    def forward_floor(self) -> float:
        """The least seconds of a micro-batch forward: a layer waits for what it reads, and for its transfer."""
        moves = self.transfers(returns=False)
        reads = [{source.node for source in node.sources} for node in self.net.nodes]

        def begins(n: int, free: Floats, ends: dict[int, Floats]) -> list[Floats]:
            return [free, *(ends[source] + moves.get(source, 0.0) for source in reads[n])]

        return self.play_pass(range(len(reads)), begins, self.seconds[:, :, 0])

    def backward_floor(self) -> float:
        """The least seconds of a micro-batch backward: a layer waits for its readers' gradients, but not for those of
        their parameters. Sending what it needs of them keeps its workers busy."""
        moves, late = self.transfers(returns=True), self.seconds[:, :, 2]

        def begins(n: int, free: Floats, ends: dict[int, Floats]) -> list[Floats]:
            return [free + moves.get(n, 0.0), *(ends[reader] - late[reader] for reader in self.readers[n])]

        return self.play_pass(reversed(range(len(late))), begins, self.seconds[:, :, 1])

    def play_pass(self, order: Iterable[int], begins: Begins, seconds: Floats) -> float:
        """When the last watched worker has computed all nodes in this ``order``, each from the latest moment of
        ``begins`` on. As in ``pass_ends``, but each worker waits for none but itself."""
        free, ends = np.zeros(len(self.watched)), dict[int, Floats]()
        for n in order:
            here = self.missing.present(self.placements[n])
            end = np.maximum.reduce(begins(n, free, ends)) + seconds[n]
            free, ends[n] = np.where(here, end, free), np.where(here, end, 0.0)
        return float(free.max(initial=0.0))

    @cached_property
    def seconds(self) -> Floats:
        """The least seconds of each node on each watched worker: (nodes, watched workers, fields of PartWork)."""
        found: Floats = self.works[:, self.watched] / self.speeds[self.watched, None]
        return found

    def transfers(self, returns: bool) -> dict[int, Floats]:
        """The least seconds until each layer's output has arrived at the watched workers. With ``returns``, those for
        which its gradient keeps them busy: each sends as many bytes as it received."""
        found: dict[int, Floats] = {}
        for (node, output), nbytes in self.missing.by_output.items():
            if not returns or self.returns_gradient(node, output):
                found[node] = found.get(node, 0) + nbytes
        return {node: nbytes / self.bandwidth if returns else self.arrival(nbytes) for node, nbytes in found.items()}

    def returns_gradient(self, node: int, output: int) -> bool:
        """True if all readers of an output return its gradient; where some are replicas, few of these do."""
        reading = self.missing.readers[node, output]
        alone = all(self.placements[n].has_no_replicas for n in (node, *(reader.index for reader, _ in reading)))
        return alone and all(self.net.carries_gradient(reader, k) for reader, k in reading)

    @cached_property
    def readers(self) -> list[set[int]]:
        """The nodes that read each node."""
        found: list[set[int]] = [set() for _ in self.net.nodes]
        for node in self.net.nodes:
            for source in node.sources:
                found[source.node].add(node.index)
        return found

    @cached_property
    def missing(self) -> MissingInputs:
        """What the watched workers do not hold of what they read."""
        return MissingInputs(self.net, self.placements, self.watched, self.width, self.layers)

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

    def arrival(self, nbytes: Floats) -> Floats:
        """The least seconds until so many bytes have arrived at a worker."""
        network = self.devices.network
        every = [network.link, *(link for _, link in network.links)]
        waits = min(link.latency for link in every) + 2 * min(link.overhead for link in every)
        found: Floats = np.where(nbytes > 0, waits + nbytes / self.bandwidth, 0.0)
        return found

    @cached_property
    def bandwidth(self) -> float:
        """The most bytes that enter a worker in a second: over all kinds of links at once, each as fast as the best."""
        network = self.devices.network
        every = [network.link, *(link for _, link in network.links)]
        return max(link.bandwidth for link in every) * (len(every) + bool(network.hosts))


def _group_by_size(placement: Placement, workers: int) -> list[tuple[Shard, Floats]]:
    """The shards of ``placement`` of each extent and term: the first, and the number of them on each worker."""
    found: dict[object, tuple[Shard, list[int]]] = {}
    for shard in placement.shards:
        found.setdefault((extent(shard.region), shard.term), (shard, []))[1].append(shard.worker)
    return [(first, np.bincount(on, minlength=workers).astype(float)) for first, on in found.values()]


__all__ = ["FloorModel", "floor_model"]
