"""Recompute choice: the layers of a partition that are recomputed so that its workers fit their devices.

A recomputed layer computes forward twice, and what it makes is not held in between (``program/passes/recompute.py``).
Which layers cost least is a knapsack. Two orders are tried: by the work of a layer for the bytes that it holds, the
least first (Dantzig, Discrete-variable extremum problems, 1957); and from the first layer of the net, as what that
makes is held longest. Of each order as few layers are taken as make the plan fit, by bisection. That is decided by the
memory of the compiled programs, as buffers share space.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace

from netpart.graph.graph import LAYER
from netpart.graph.partition import Partition
from netpart.graph.recomputed import clear_recomputation, layers_recomputed
from netpart.plan.price.cost import held_bytes, partition_itemsize
from netpart.plan.price.devices import Devices
from netpart.plan.price.part_prices import PartPrices
from netpart.plan.price.predict import predict_step
from netpart.plan.price.worker_memory import model_workers
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.worker_shape import MemoryShape
from netpart.proto.job_pb2 import JobProto
from netpart.updaters import build_updater

FINEST = 32
"""The bisection ends when the number of layers is known to this fraction of all."""


class RecomputeChoice:
    """Chooses for one partition of a net after another, once for each that several planners ask for. Each search
    begins near the answer of the last one, as planners ask for plans that differ little."""

    def __init__(self, devices: Devices, prices: PartPrices) -> None:
        self.devices = devices
        self.prices = prices
        self.near: int | None = None
        self.known: dict[Hashable, Sequence[int] | None] = {}

    def recompute_least(self, partition: Partition) -> Partition | None:
        """``partition`` with the layers recomputed that it needs to fit the devices: of both orders, those with which
        a step is predicted to take least. None if it does not fit with all of them, or there are none."""
        key = _partition_key(partition)
        if key not in self.known:
            self.known[key] = self._least_layers(partition)
        layers = self.known[key]
        return None if layers is None else recompute_layers(partition, layers)

    def _least_layers(self, partition: Partition) -> Sequence[int] | None:
        """The layers that ``recompute_least`` adds."""
        works = _work_and_bytes(partition, self.devices, self.prices)
        cheapest, earliest = sorted(works, key=lambda layer: works[layer][0] / works[layer][1]), sorted(works)
        least = self._least_prefix(partition, cheapest, self.near)
        self.near = len(cheapest) if least is None else len(least)
        if least is None:
            return None
        # The other order is of use only as far as a step takes less with it: if that much does not fit, less does not.
        found = recompute_layers(partition, least)
        return self._least_prefix(partition, earliest[: self._count_faster(partition, earliest, found)]) or least

    def _least_prefix(
        self, partition: Partition, order: Sequence[int], near: int | None = None
    ) -> Sequence[int] | None:
        """The first layers of ``order``, as few as fit; ``near`` is a guess of their number. None if all do not fit."""
        few, enough, finest = 0, len(order) + 1, max(1, len(order) // FINEST)
        guesses = [] if near is None else [near, near - finest, near + finest]
        while enough - few > (finest if enough <= len(order) else 1):
            inside = (guess for guess in [*guesses, len(order)] if few < guess < enough)
            count = next(inside, (few + enough) // 2)
            if _fits_devices(recompute_layers(partition, order[:count]), self.devices):
                enough = count
            else:
                few = count
        return order[:enough] if enough <= len(order) else None

    def _count_faster(self, partition: Partition, order: Sequence[int], found: Partition) -> int:
        """How many of the first layers of ``order`` may be recomputed in a step that takes less than ``found``."""
        limit = self.step_seconds(found)
        counts = range(len(order) + 1)
        first = bisect_left(counts, limit, key=lambda n: self.step_seconds(recompute_layers(partition, order[:n])))
        return max(0, first - 1)

    def step_seconds(self, partition: Partition) -> float:
        """The predicted seconds of a step."""
        return predict_step(partition, self.devices, prices=self.prices).seconds


def _partition_key(partition: Partition) -> Hashable:
    """Equal for partitions of a job whose memory and time are equal."""
    phases = tuple(
        (phase, len(micros), tuple(micros[0].graph.placements)) for phase, micros in partition.phases.items()
    )
    return phases, layers_recomputed(partition.job.neuralnet)


def _fits_devices(partition: Partition, devices: Devices) -> bool:
    """True if each worker has the memory that its compiled programs need."""
    slots = len(build_updater(partition.job.updater).states)
    pairs = zip(model_workers(partition, slots, kind=MemoryShape), devices.devices, strict=False)
    return all(model.memory <= device.memory for model, device in pairs)


def recompute_layers(partition: Partition, layers: Collection[int]) -> Partition:
    """``partition`` with ``layers`` of the job recomputed as well, by their numbers; the net says so if these are all
    that can be."""
    job = JobProto()
    job.CopyFrom(partition.job)
    if set(layers) >= set(_able_layers(partition)):
        clear_recomputation(job.neuralnet)
        job.neuralnet.recompute = True
    else:
        for number in layers:
            job.neuralnet.layer[number].recompute = True
    return replace(partition, job=job)


def _able_layers(partition: Partition) -> Iterator[int]:
    """The numbers of the layers that learn, or through which gradients flow, and are not recomputed yet."""
    again = layers_recomputed(partition.job.neuralnet)
    net = partition.graph.net
    numbers = dict.fromkeys(int(node.at[2]) for node in net.nodes if net.trained[node.index] and len(node.at) > 2)
    return (number for number in numbers if not again[number])


def _work_and_bytes(partition: Partition, devices: Devices, prices: PartPrices) -> dict[int, tuple[float, float]]:
    """By layer that can be recomputed, the seconds of its forward pass and the bytes that it holds, of all parts."""
    graph, width, kernels = partition.graph, partition_itemsize(partition), job_kernel_class(partition.job)
    able = set(_able_layers(partition))
    found: dict[int, list[float]] = defaultdict(lambda: [0.0, 1.0])
    for part in graph.parts:
        at = graph.net.nodes[part.node].at
        if part.kind == LAYER and len(at) > 2 and int(at[2]) in able:
            work = prices.part_work(graph, part).forward / devices.devices[part.worker].speed
            found[int(at[2])][0] += work
            found[int(at[2])][1] += held_bytes(graph, part, width, kernels)
    return {layer: (work, nbytes) for layer, (work, nbytes) in found.items()}
