"""Program: what one worker does in one step of one phase, compiled before step 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from netpart.graph.partition import Micro
from netpart.graph.passes.synchronise import Holding
from netpart.kernels.reference import Kernels
from netpart.program.buffers import ALIAS, ARENA, FIXED, Buffer, View
from netpart.program.instructions import CollectiveStart, CollectiveWait, Instruction, Receive, Send
from netpart.spec import size


@dataclass(frozen=True)
class MetricSlot:
    """Where the sums of one layer's metrics stand in the metrics buffer."""

    layer: str
    names: tuple[str, ...]
    offset: int


@dataclass
class Program:
    """A flat list of instructions. ``offsets`` places the arena buffers; ``arena`` is its size in bytes."""

    phase: str
    micros: list[Micro]
    instructions: list[Instruction] = field(default_factory=list)
    metrics: list[MetricSlot] = field(default_factory=list)
    offsets: dict[int, int] = field(default_factory=dict)
    arena: int = 0
    values: dict[tuple[int, int, int], View] = field(default_factory=dict)
    gradients: dict[tuple[int, int], View] = field(default_factory=dict)

    def receivers(self, worker: int) -> set[int]:
        """Workers that ``worker``, whose Program this is, sends to."""
        sent = {i.peer for i in self.instructions if isinstance(i, Send)}
        return sent.union(*(i.exchange.receivers(worker) for i in self.collectives))

    def senders(self, worker: int) -> set[int]:
        """Workers that ``worker``, whose Program this is, hears from."""
        heard = {i.peer for i in self.instructions if isinstance(i, Receive)}
        return heard.union(*(i.exchange.senders(worker) for i in self.collectives))

    @property
    def collectives(self) -> list[CollectiveStart]:
        """The starts of all collectives."""
        return [i for i in self.in_turn if isinstance(i, CollectiveStart)]

    @property
    def in_turn(self) -> Iterator[Instruction]:
        """The instructions, and behind each wait what is done there at the latest."""
        for instruction in self.instructions:
            yield instruction
            if isinstance(instruction, CollectiveWait):
                yield from instruction.start.then


@dataclass
class WorkerProgram:
    """Everything one worker plays, compiled for ``kernels``: buffers, parameters, one Program per phase."""

    worker: int
    workers: int
    float_size: int
    buffers: list[Buffer]
    holdings: list[Holding]
    parameters: list[View]
    gradients: list[View | None]
    phases: dict[str, Program]
    slots: int = 0
    kernels: type[Kernels] = Kernels

    def at_home(self, view: View, holding: int) -> View:
        """What of the values, or gradient, of a holding this worker updates."""
        held = self.holdings[holding]
        return view.crop(held.home, held.box)

    @property
    def fixed_bytes(self) -> int:
        """Bytes of everything that lives from step to step: parameters, updater state, gradients, metrics."""
        total = sum(b.nbytes(self.float_size) for b in self.buffers if b.kind == FIXED)
        return total + self.state_bytes

    @property
    def state_bytes(self) -> int:
        """Bytes of the updater's state."""
        return self.slots * sum(size(holding.home) for holding in self.holdings) * self.float_size

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arena that the phases share."""
        return max((p.arena for p in self.phases.values()), default=0)

    @property
    def total_bytes(self) -> int:
        """Bytes this worker needs for parameters, gradients, updater state and activations."""
        return self.fixed_bytes + self.arena_bytes


__all__ = ["ALIAS", "ARENA", "FIXED", "Buffer", "MetricSlot", "Program", "View", "WorkerProgram"]
