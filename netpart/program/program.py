"""Program: the instructions of one worker for one step of one phase, compiled before step 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm

from netpart.graph.holdings import Holding
from netpart.graph.partition import MicroBatch
from netpart.kernels.reference import Kernels
from netpart.program.buffers import ALIAS, ARENA, FIXED, Buffer, View
from netpart.program.instructions import CollectiveStart, CollectiveWait, Instruction, Receive, Send, Way
from netpart.spec import size

SERVER_WAYS = (Way.PUSH, Way.PULL)
"""The messages to and from servers. A worker pushes again only after it has pulled, so it cannot run ahead."""


@dataclass(frozen=True)
class MetricSlot:
    """The position of one layer's sums in the metrics buffer."""

    layer: str
    names: tuple[str, ...]
    offset: int


@dataclass
class Program:
    """A flat list of instructions. ``offsets`` are those of the arena buffers and ``arena`` is its size, in bytes.
    ``ranks`` are the ranks of the workers that it names, if they differ from their numbers.

    Delayed instructions run for an earlier mini-batch, at most ``depth`` steps earlier. So the pipeline is empty
    ``depth`` steps after the last mini-batch. ``copies``: buffer -> the number of mini-batches for which it is held, in
    copies one after another in the arena. Mini-batches i and i + ``period`` use the same copies.
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
        """Mini-batches after which all buffers use the same copies again."""
        return lcm(*self.copies.values())

    def rank(self, worker: int) -> int:
        """The rank of a worker in the run."""
        return self.ranks[worker] if self.ranks else worker

    def receivers(self, worker: int) -> set[int]:
        """Workers that ``worker``, whose Program this is, sends to; without servers, which answer every push."""
        sent = {i.peer for i in self.instructions if isinstance(i, Send) and i.channel.way not in SERVER_WAYS}
        return sent.union(*(i.exchange.receivers(worker) for i in self.collectives))

    def senders(self, worker: int) -> set[int]:
        """Workers that ``worker``, whose Program this is, receives from; without servers."""
        received = {i.peer for i in self.instructions if isinstance(i, Receive) and i.channel.way not in SERVER_WAYS}
        return received.union(*(i.exchange.senders(worker) for i in self.collectives))

    @property
    def collectives(self) -> list[CollectiveStart]:
        """The starts of all collectives."""
        return [i for i in self.in_turn if isinstance(i, CollectiveStart)]

    @property
    def in_turn(self) -> Iterator[Instruction]:
        """The instructions, and after each wait those that its collective runs there at the latest (``then``)."""
        for instruction in self.instructions:
            yield instruction
            if isinstance(instruction, CollectiveWait):
                yield from instruction.start.then


@dataclass
class WorkerProgram:
    """Everything that one worker executes: buffers, parameters, and one Program per phase.

    It is compiled for ``kernels``, which compute products with ``precision``.
    """

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

    @cached_property
    def second_halves(self) -> frozenset[int]:
        """The ids of the collectives that run as soon as another one is complete (``then``); once all is compiled."""
        starts = (start for phase in self.phases.values() for start in phase.collectives)
        return frozenset(id(then) for start in starts for then in start.then)

    def at_home(self, view: View, holding: int) -> View:
        """The part of a holding's values, or gradient, that this worker updates."""
        held = self.holdings[holding]
        return view.crop(held.home, held.box)

    @property
    def fixed_bytes(self) -> int:
        """Bytes of everything that lives from step to step: parameters, updater state, gradients that are exchanged."""
        total = sum(b.nbytes(self.float_size) for b in self.buffers if b.kind == FIXED) + self.version_bytes
        return total + self.state_bytes

    @property
    def state_bytes(self) -> int:
        """Bytes of the updater's state."""
        return self.slots * sum(size(holding.home) for holding in self.holdings) * self.float_size

    @property
    def versions(self) -> int:
        """The largest number of versions of a parameter that are held at a time."""
        return max((self.copies(view.buffer) for view in self.parameters), default=1)

    @property
    def version_bytes(self) -> int:
        """Bytes of all but the newest version of parameters and gradients."""
        fixed = ((b, buffer) for b, buffer in enumerate(self.buffers) if buffer.kind == FIXED)
        return sum((self.copies(b) - 1) * buffer.nbytes(self.float_size) for b, buffer in fixed)

    def copies(self, b: int) -> int:
        """The number of mini-batches for which buffer ``b`` is held at a time."""
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
