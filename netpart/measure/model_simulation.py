"""Model simulation: a simulation at counted prices that plays one worker for all that are alike.

The models of all classes of alike workers are players as in ``PricedSimulation``. A message that a model sends is
delivered to each model that receives the same message: from this worker, or from another of its class, which sends it
at the same time. ``tests/laws/test_model_simulation.py`` compares it with the simulation of every worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from netpart.collectives.network import Network
from netpart.graph.partition import Partition
from netpart.measure.alike_workers import AlikeWorkers, Delivery
from netpart.measure.profile import WARM_UP, ProfiledRun
from netpart.measure.simulate import PricedSimulation, profile_simulation
from netpart.measure.simulated_clocks import SimulatedClocks, SimulatedTransport, SimulatedWires
from netpart.measure.timeline import Key, Timeline
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.program import WorkerProgram
from netpart.transport.frames import Array, Channel, FrameHeader
from netpart.transport.transport import WINDOW

CROWD = 16
"""Up to so many workers, those that are alike are so to the bit; of more, messages are levelled."""


class ModelTransport(SimulatedTransport):
    """The end of a model. ``deliveries`` has, by channel, the messages that models receive when this one sends."""

    copies = False

    def __init__(
        self, rank: int, clocks: SimulatedClocks, peers: list[SimulatedTransport], wires: SimulatedWires,
        deliveries: Mapping[Channel, Sequence[Delivery]],
    ) -> None:  # fmt: skip
        super().__init__(rank, clocks, peers, wires)
        self.deliveries = deliveries
        self.promised: dict[Channel, npt.NDArray[Any]] = {}

    def expect(
        self, channel: Channel, peer: int, shape: Sequence[int], dtype: npt.DTypeLike, ahead: int = WINDOW,
        place: Array | None = None, stays: bool = False,
    ) -> None:  # fmt: skip
        super().expect(channel, peer, shape, dtype, ahead, place, stays)
        # Blocks of other sizes stand for each other: what arrives has the shape that is expected, and no memory.
        self.promised[channel] = np.broadcast_to(np.zeros((), dtype), tuple(shape))

    def carry(self, channel: Channel, step: int, peer: int, array: Array, leaves: float) -> None:
        for worker, named, source in self.deliveries.get(channel, ()):
            end = self._peers[worker]
            assert isinstance(end, ModelTransport)
            arrives = self._wires.carry(source, worker, array.nbytes, leaves)
            taken = end.promised[named]
            header = FrameHeader(source, named, step, taken.dtype, taken.shape)
            end.put(arrives, self._wires.network.route(source, worker).cost.overhead, header, taken)


@dataclass
class ModelSimulation(PricedSimulation):
    """A simulation that computes nothing, of the models of ``alike`` workers. The network has no hosts."""

    alike: AlikeWorkers

    @cached_property
    def played(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.alike.models)))

    def program(self, worker: int) -> WorkerProgram:
        return self.alike.program(worker)

    def connect(self, network: Network) -> list[SimulatedTransport]:
        ends: list[SimulatedTransport] = []
        wires = SimulatedWires(network)
        deliveries = self.alike.deliveries
        for worker in range(self.cut.workers):
            ends.append(ModelTransport(worker, self.clocks, ends, wires, deliveries.get(worker, {})))
            if worker not in deliveries:
                self.clocks.wakes[worker] = inf
                self.clocks.ended.add(worker)
        return ends

    def run(self, steps: int) -> Timeline:
        origins: dict[Key, Key] = {}
        for of_model in self.alike.deliveries.values():
            for channel, found in of_model.items():
                origins |= {tuple(map(int, each.channel)): tuple(map(int, channel)) for each in found}
        return replace(super().run(steps), models=self.alike.models, origins=origins)


def _counted_simulation(
    cut: Partition, network: Network, speeds: Sequence[float], every: bool = False
) -> PricedSimulation:
    """The simulation of ``cut`` at counted FLOPs on devices of ``speeds`` FLOPs per second. One of alike workers is
    played for all, unless ``every`` one is to be played; so they are in hosts, in groups, and with servers."""
    if every or network.hosts or cut.servers or cut.cluster.groups > 1:
        return PricedSimulation(cut, network, speeds)
    alike = AlikeWorkers(cut, network, speeds, job_kernel_class(cut.job), levelled=cut.workers > CROWD)
    return ModelSimulation(cut, network, speeds, alike)


def simulate_counted(
    cut: Partition, network: Network, speeds: Sequence[float], steps: int, every: bool = False
) -> ProfiledRun:
    """Time a step of ``cut`` by a ``_counted_simulation``."""
    return profile_simulation(_counted_simulation(cut, network, speeds, every), steps)


def simulated_step_seconds(cut: Partition, network: Network, speeds: Sequence[float]) -> float:
    """Seconds of a step of ``cut`` at counted FLOPs on devices of ``speeds`` FLOPs per second, on the worker that takes
    longest. Raises MemoryRefused if a worker needs more memory than this host has."""
    return _counted_simulation(cut, network, speeds).run(WARM_UP + 1).seconds(WARM_UP)
