"""Player: plays the Programs of one worker step by step. Pure of sockets and threads: it yields when it must wait.

    for waiting in player.play("train", step):   # nothing is yielded while everything has arrived
        ...                                      # the caller lets others run, or blocks on the transport
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.collectives import RingState
from netpart.initialisers import initialise
from netpart.kernels.op import Array
from netpart.kernels.philox import key
from netpart.program.compile import PHASE_CODES
from netpart.program.instructions import Channel, Way
from netpart.program.program import WorkerProgram
from netpart.spec import Region, relative, size
from netpart.worker.bind import (
    RECEIVE, REDUCE_START, REDUCE_WAIT, RUN, SEND, Action, Binder, Bound, attach, scratch_bytes,
)  # fmt: skip
from netpart.worker.machine import ALIGN, Machine

if TYPE_CHECKING:
    from netpart.transport.transport import Transport
    from netpart.updaters import Updater

WINDOW = 2
"""Steps that a sender may run ahead of a receiver."""


@dataclass(frozen=True)
class Waiting:
    """Why a player cannot go on: what it waits for, from whom."""

    name: str
    peer: int
    phase: str
    step: int

    def __str__(self) -> str:
        return f"{self.name} from worker {self.peer} in {self.phase} step {self.step}"


class Player:
    """One worker's machine, bound and ready. ``trace``, if it is a list, gets (name, start, end) of every action."""

    def __init__(
        self, program: WorkerProgram, transport: Transport | None, xp: Any = np, updater: Updater | None = None,
        seed: int = 1, poison: bool = False,
    ) -> None:  # fmt: skip
        self.program, self.transport, self.xp = program, transport, xp
        self.machine = Machine(program, xp, updater, seed, poison)
        self.bound: dict[str, Bound] = {p: Binder(self.machine, p, transport).bind() for p in program.phases}
        need = max((scratch_bytes(b.scratch) for b in self.bound.values()), default=0)
        memory = xp.empty(need + ALIGN, np.uint8)
        base = -memory.__array_interface__["data"][0] % ALIGN if xp is np else 0
        for bound in self.bound.values():
            attach(bound, memory[base:])
        self.workspace_bytes = need
        self.rings: list[tuple[Channel, RingState]] = []
        self.trace: list[tuple[str, float, float]] | None = None
        self.doing = "nothing yet"
        self.sequence = dict.fromkeys(program.phases, 0)
        for phase in program.phases:
            for peer in self.receivers_of(phase) if transport is not None else ():
                transport.expect(self.done(phase, peer, program.worker), peer, (0,), np.dtype(np.uint8))

    def initialise(self) -> None:
        """Fills every parameter with its initial values: a function of seed, name and global element index."""
        for holding, view in zip(self.program.holdings, self.program.parameters, strict=True):
            spec = holding.parameter.spec
            random = key(self.machine.seed, holding.parameter.name, "init")
            target = self.machine.fixed[view.buffer]
            for box in pieces(holding.box):
                values = initialise(spec.proto.init, random, box, spec.shape, spec.matrix)
                target[relative(box, holding.box)] = self.xp.asarray(values.astype(self.machine.dtype))

    def parameter(self, holding: int) -> Array:
        """Values of a holding, on the device."""
        return self.machine.fixed[self.program.parameters[holding].buffer]

    def play(self, phase: str, step: int) -> Iterator[Waiting]:
        """Plays one step of ``phase``; yields what it waits for whenever a message is missing."""
        bound, self.machine.clock.step = self.bound[phase], step
        sequence = self.sequence[phase]
        yield from self.wait_for_readers(phase, sequence)
        if self.machine.poisoned:
            self.machine.memory.fill(0xFF)
        for action in bound.actions:
            self.doing = action.name
            if self.rings:
                self.advance(sequence)
            started = perf_counter() if self.trace is not None else 0.0
            if action.kind == RUN:
                action.run()  # type: ignore[misc]
            else:
                yield from self.communicate(action, phase, sequence)
            if self.trace is not None:
                self.trace.append((action.name, started, perf_counter()))
        self.tell_senders(phase, sequence)
        self.sequence[phase] = sequence + 1

    def communicate(self, action: Action, phase: str, step: int) -> Iterator[Waiting]:
        assert action.channel is not None
        assert self.transport is not None
        if action.kind == SEND:
            self.transport.send(action.channel, step, action.peer, self.to_host(action.array))
        elif action.kind == RECEIVE:
            while (arrived := self.transport.receive(action.channel, step)) is None:
                yield Waiting(action.name, action.peer, phase, step)
                self.advance(step)
            self.to_device(action.array, arrived)
        elif action.kind == REDUCE_START:
            assert action.ring is not None
            self.rings.append((action.channel, action.ring))
            self.send_chunks(action.channel, action.ring.start(), step)
        elif action.kind == REDUCE_WAIT:
            self.advance(step)
            while (ring := action.ring) is not None and not ring.done:
                expected = ring.expects()
                yield Waiting(action.name, expected[0] if expected else -1, phase, step)
                self.advance(step)

    def advance(self, step: int) -> None:
        """Takes every collective as far as the messages that have arrived allow."""
        assert self.transport is not None
        for channel, ring in self.rings:
            while (expected := ring.expects()) is not None:
                arrived = self.transport.receive(channel._replace(chunk=expected[1]), step)
                if arrived is None:
                    break
                self.send_chunks(channel, ring.deliver(self.xp.asarray(arrived)), step)
        self.rings = [(c, r) for c, r in self.rings if not r.done]

    def send_chunks(self, channel: Channel, sends: list[tuple[int, int, Array]], step: int) -> None:
        assert self.transport is not None
        for peer, chunk, view in sends:
            self.transport.send(channel._replace(chunk=chunk), step, peer, self.to_host(view))

    def to_host(self, array: Array) -> Array:
        return array if self.xp is np else self.xp.asnumpy(array)

    def to_device(self, target: Array, arrived: Array) -> None:
        target[...] = arrived if self.xp is np else self.xp.asarray(arrived)

    def receivers_of(self, phase: str) -> list[int]:
        """Workers that this one sends to."""
        return sorted(self.program.phases[phase].receivers - {self.program.worker})

    def senders_to(self, phase: str) -> list[int]:
        """Workers that this one hears from, and tells which step it has finished."""
        return sorted(self.program.phases[phase].senders - {self.program.worker})

    def wait_for_readers(self, phase: str, step: int) -> Iterator[Waiting]:
        if step < WINDOW or self.transport is None:
            return
        for peer in self.receivers_of(phase):
            channel = self.done(phase, peer, self.program.worker)
            while self.transport.receive(channel, step - WINDOW) is None:
                yield Waiting("its finished step", peer, phase, step)

    def tell_senders(self, phase: str, step: int) -> None:
        for peer in self.senders_to(phase):
            assert self.transport is not None
            self.transport.send(self.done(phase, self.program.worker, peer), step, peer, EMPTY)

    def done(self, phase: str, reader: int, writer: int) -> Channel:
        return Channel(PHASE_CODES[phase], Way.DONE, 0, reader, writer)

    def read_metrics(self, phase: str) -> Array:
        """The sums since the last call, as a host array (copied); zeroes them."""
        metrics = self.bound[phase].metrics
        sums = self.to_host(metrics).copy()
        metrics.fill(0)
        return sums


def pieces(box: Region, elements: int = 1 << 20) -> Iterator[Region]:
    """Cuts a box along its first axis so that what is made of a piece at a time stays small."""
    if not box or size(box) <= elements:
        yield box
        return
    (lo, hi), *rest = box
    rows = max(1, elements * (hi - lo) // size(box))
    for start in range(lo, hi, rows):
        yield ((start, min(hi, start + rows)), *rest)


EMPTY = np.empty(0, np.uint8)
