"""Program: what one worker does in one step of one phase, compiled before step 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import lcm

from netpart.graph.holdings import Holding
from netpart.graph.partition import MicroBatch
from netpart.kernels.reference import Kernels
from netpart.program.buffers import ALIAS, ARENA, FIXED, Buffer, View
from netpart.program.instructions import CollectiveStart, CollectiveWait, Instruction, Receive, Send, Way
from netpart.spec import size

SERVER_WAYS = (Way.PUSH, Way.PULL)
"""What goes to and from servers: nobody pushes again before he has pulled, so nobody runs ahead."""


@dataclass(frozen=True)
class MetricSlot:
    """Where the sums of one layer's metrics stand in the metrics buffer."""

    layer: str
    names: tuple[str, ...]
    offset: int


@dataclass
class Program:
    """A flat list of instructions. ``offsets`` places the arena buffers; ``arena`` is its size in bytes; ``ranks`` are
    those of the workers that it names, where they differ from their numbers.

    What is delayed is played for an earlier mini-batch, at most ``depth`` steps earlier; so the pipeline is empty
    ``depth`` steps after the last mini-batch. ``copies`` of a buffer are held, one after another in the arena, for as
    many mini-batches; those of mini-batch i and i + ``period`` are the same.
    """

    phase: str
    micros: list[MicroBatch]
    instructions: list[Instruction] = field(default_factory=list)
    metrics: list[MetricSlot] = field(default_factory=list)
    offsets: dict[int, int] = field(default_factory=dict)
    arena: int = 0
    values: dict[tuple[int, int, int], View] = field(default_factory=dict)
    gradients: dict[tuple[int, int], View] = field(default_factory=dict)
    ranks: tuple[int, ...] = ()
    depth: int = 0
    copies: dict[int, int] = field(default_factory=dict)

    @property
    def period(self) -> int:
        """Mini-batches after which everything lies where it lay."""
        return lcm(*self.copies.values())

    def rank(self, worker: int) -> int:
        """The rank of a worker in the run."""
        return self.ranks[worker] if self.ranks else worker

    def receivers(self, worker: int) -> set[int]:
        """Workers that ``worker``, whose Program this is, sends to; a server, which answers every push, is none."""
        sent = {i.peer for i in self.instructions if isinstance(i, Send) and i.channel.way not in SERVER_WAYS}
        return sent.union(*(i.exchange.receivers(worker) for i in self.collectives))

    def senders(self, worker: int) -> set[int]:
        """Workers that ``worker``, whose Program this is, hears from."""
        heard = {i.peer for i in self.instructions if isinstance(i, Receive) and i.channel.way not in SERVER_WAYS}
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
    """Everything one worker plays, compiled for ``kernels``, which compute products with ``precision``: buffers,
    parameters, one Program per phase."""

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
    precision: str = "float32"

    def at_home(self, view: View, holding: int) -> View:
        """What of the values, or gradient, of a holding this worker updates."""
        held = self.holdings[holding]
        return view.crop(held.home, held.box)

    @property
    def fixed_bytes(self) -> int:
        """Bytes of everything that lives from step to step: parameters, updater state, gradients, metrics."""
        total = sum(b.nbytes(self.float_size) for b in self.buffers if b.kind == FIXED) + self.version_bytes
        return total + self.state_bytes

    @property
    def state_bytes(self) -> int:
        """Bytes of the updater's state."""
        return self.slots * sum(size(holding.home) for holding in self.holdings) * self.float_size

    @property
    def versions(self) -> int:
        """The most versions of a parameter that are held at a time."""
        return max((self.copies(view.buffer) for view in self.parameters), default=1)

    @property
    def version_bytes(self) -> int:
        """Bytes of all but the newest version of parameters and gradients."""
        fixed = ((b, buffer) for b, buffer in enumerate(self.buffers) if buffer.kind == FIXED)
        return sum((self.copies(b) - 1) * buffer.nbytes(self.float_size) for b, buffer in fixed)

    def copies(self, b: int) -> int:
        """For how many mini-batches buffer ``b`` is held at a time."""
        return max((phase.copies.get(b, 1) for phase in self.phases.values()), default=1)

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arena that the phases share."""
        return max((p.arena for p in self.phases.values()), default=0)

    @property
    def total_bytes(self) -> int:
        """Bytes this worker needs for parameters, gradients, updater state and activations."""
        return self.fixed_bytes + self.arena_bytes


__all__ = ["ALIAS", "ARENA", "FIXED", "Buffer", "MetricSlot", "Program", "View", "WorkerProgram"]
