"""Player: plays the Programs of one worker step by step. Pure of sockets and threads: it yields when it must wait.

for waiting in player.play("train", step):   # nothing is yielded while everything has arrived
    ...                                      # the caller lets others run, or blocks on the transport
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from netpart.initialisers import initialise
from netpart.kernels.op import Array
from netpart.kernels.philox import key
from netpart.program.compile import PHASE_CODES
from netpart.program.instructions import Channel, Way
from netpart.program.program import WorkerProgram
from netpart.spec import Region, relative, size
from netpart.worker.bind import (
    RECEIVE,
    SEND,
    START,
    WAIT,
    Action,
    Binder,
    Bound,
    Running,
    attach,
    scratch_bytes,
)  # fmt: skip
from netpart.worker.machine import ALIGN, Machine

if TYPE_CHECKING:
    from netpart.transport.transport import Transport
    from netpart.updaters import Updater

WINDOW = 2
"""Steps that a sender may run ahead of a receiver."""
STEP = "step"
PHRASES = {START: "start ", WAIT: "wait "}
"""What a trace says before the name of a collective."""


class Waiting(NamedTuple):
    """Why a player cannot go on: what it waits for, from whom, on which channel."""

    name: str
    peer: int
    phase: str
    step: int
    channel: Channel

    def __str__(self) -> str:
        return f"{self.name} (edge {self.channel.edge}) from worker {self.peer} in {self.phase} step {self.step}"


class Traced(NamedTuple):
    """What was done from ``start`` to ``end``, in seconds of this process's clock; ``name`` begins with a verb.

    ``channel`` is that of the message that it sent or received. What was done meanwhile stands before it.
    """

    name: str
    start: float
    end: float
    channel: Channel | None = None


class Player:
    """One worker's machine, bound and ready.

    ``trace``, if it is a list, gets every action, every message of a collective, every wait and, behind all that, the
    step, by the clock ``now``; ``doing`` names the action that is being played, for whoever asks meanwhile.
    """

    def __init__(
        self, program: WorkerProgram, transport: Transport | None, xp: Any = np, updater: Updater | None = None,
        seed: int = 1, poison: bool = False,
    ) -> None:  # fmt: skip
        self.program, self.transport, self.xp = program, transport, xp
        shared = transport is not None and transport.slots_for_all
        self.machine = Machine(program, xp, updater, seed, poison, shared)
        self.bound: dict[str, Bound] = {p: Binder(self.machine, p, transport).bind() for p in program.phases}
        self.workspace_bytes = self.attach_workspace()
        self.running: list[Running] = []
        self.seen = -1
        self.trace: list[Traced] | None = None
        self.now: Callable[[], float] = perf_counter
        self.doing = "getting ready"
        self.sequence = dict.fromkeys(program.phases, 0)
        self.readers = {phase: self.finished_by_readers(phase) for phase in program.phases}
        self.writers = {phase: self.finished_for_writers(phase) for phase in program.phases}

    def attach_workspace(self) -> int:
        """Gives all kernels one workspace, as large as the hungriest of them needs; returns its bytes."""
        need = max((scratch_bytes(b.scratch) for b in self.bound.values()), default=0)
        self.machine.refuse_unless_fits(need, workspace=need)
        memory = self.xp.empty(need + ALIGN, np.uint8)
        base = -memory.__array_interface__["data"][0] % ALIGN if self.xp is np else 0
        for bound in self.bound.values():
            attach(bound, memory[base:])
        return need

    @property
    def memory_bytes(self) -> int:
        """Bytes that the plan takes at most: buffers, workspace, messages on their way."""
        return self.program.total_bytes + self.workspace_bytes + self.machine.wire_bytes

    def initialise(self) -> None:
        """Fills every parameter with its initial values: a function of seed, name and global element index.

        The updater's state begins with them.
        """
        for holding, view in zip(self.program.holdings, self.program.parameters, strict=True):
            spec = holding.parameter.spec
            random = key(self.machine.seed, holding.parameter.name, "init")
            target = self.machine.fixed[view.buffer]
            for box in pieces(holding.box):
                values = initialise(spec.proto.init, random, box, spec.shape, spec.matrix)
                target[relative(box, holding.box)] = self.xp.asarray(values.astype(self.machine.dtype))
        self.machine.begin_state()

    def parameter(self, holding: int) -> Array:
        """Values of a holding, on the device."""
        return self.machine.fixed[self.program.parameters[holding].buffer]

    def updated(self, holding: int) -> Array:
        """Values of what of a holding this worker updates, on the device."""
        return self.machine.values_at_home(holding)

    def play(self, phase: str, step: int) -> Iterator[Waiting]:
        """Plays one step of ``phase``; yields what it waits for whenever a message is missing."""
        bound, trace, self.machine.clock.step = self.bound[phase], self.trace, step
        sequence, began = self.sequence[phase], self.now()
        yield from self.wait_for_readers(phase, sequence)
        if self.machine.poisoned:
            self.machine.memory.fill(0xFF)
        for action in bound.actions:
            self.doing = action.name
            if self.running:
                self.advance(sequence)
            started = self.now() if trace is not None else 0.0
            if action.run is not None:
                action.run()
            else:
                yield from self.communicate(action, phase, sequence)
            if trace is not None:
                self.note(PHRASES.get(action.kind, "") + action.name, started, action.channel)
        self.tell_writers(phase, sequence)
        self.note(STEP, began)
        self.sequence[phase] = sequence + 1

    def note(self, name: str, started: float, channel: Channel | None = None) -> None:
        """Traces what ends now, if it is to be traced."""
        if self.trace is not None:
            self.trace.append(Traced(name, started, self.now(), channel))

    def communicate(self, action: Action, phase: str, step: int) -> Iterator[Waiting]:
        """Sends, receives, or starts or completes a collective."""
        assert action.channel is not None
        assert self.transport is not None
        if action.kind == SEND:
            self.transport.send(action.channel, step, action.peer, self.to_host(action.array))
        elif action.kind == RECEIVE:
            began = self.now()
            while (arrived := self.transport.receive(action.channel, step)) is None:
                yield Waiting(action.name, action.peer, phase, step, action.channel)
                self.advance(step)
            self.note(f"wait {action.name}", began)
            self.to_device(action.array, arrived)
        elif action.kind == START:
            assert action.running is not None
            self.start(action.running, step)
        elif action.kind == WAIT:
            assert action.running is not None
            running = action.running
            self.advance(step)
            while (expected := running.progress.expects()) is not None:
                place, index = expected
                yield Waiting(action.name, running.members[place], phase, step, running.channels[index])
                self.advance(step)

    def advance(self, step: int) -> None:
        """Takes every collective as far as the messages that have arrived allow."""
        assert self.transport is not None
        arrivals = self.transport.arrivals
        if arrivals == self.seen or not self.running:
            return
        self.seen = arrivals
        for running in self.running:
            while (expected := running.progress.expects()) is not None:
                arrived = self.transport.receive(running.channels[expected[1]], step)
                if arrived is None:
                    break
                began = self.now()
                self.pass_on(running, running.progress.deliver(self.xp.asarray(arrived)), step)
                self.note(f"receive {running.name}", began, running.channels[expected[1]])
        complete = [running for running in self.running if running.progress.done]
        self.running = [running for running in self.running if not running.progress.done]
        for running in complete:
            self.follow(running, step)

    def start(self, running: Running, step: int) -> None:
        """Starts a collective."""
        self.running.append(running)
        self.seen = -1  # its first message may be here already
        self.pass_on(running, running.progress.start(), step)

    def follow(self, running: Running, step: int) -> None:
        """Does what is to be done when a collective is complete."""
        for action in running.then:
            began = self.now()
            if action.run is not None:
                action.run()
            elif action.running is not None:
                self.start(action.running, step)
            self.note(PHRASES.get(action.kind, "") + action.name, began, action.channel)

    def pass_on(self, running: Running, sends: Iterator[tuple[int, int, Array]], step: int) -> None:
        """Sends what a collective may send now."""
        assert self.transport is not None
        for place, index, view in sends:
            began, channel = self.now(), running.channels[index]
            self.transport.send(channel, step, running.members[place], self.to_host(view))
            self.note(f"send {running.name}", began, channel)

    def to_host(self, array: Array) -> Array:
        return array if self.xp is np else self.xp.asnumpy(array)

    def to_device(self, target: Array, arrived: Array) -> None:
        target[...] = arrived if self.xp is np else self.xp.asarray(arrived)

    def finished_by_readers(self, phase: str) -> list[tuple[int, Channel]]:
        """(worker, channel) of everyone that this worker sends to, and on which it hears of their finished steps."""
        found = []
        for peer in sorted(self.program.phases[phase].receivers(self.program.worker)):
            channel = self.done(phase, peer, self.program.worker)
            if self.transport is not None:
                self.transport.expect(channel, peer, (0,), EMPTY.dtype)
            found.append((peer, channel))
        return found

    def finished_for_writers(self, phase: str) -> list[tuple[int, Channel]]:
        """(worker, channel) of everyone that sends to this worker, and hears of the steps it has finished."""
        writers = sorted(self.program.phases[phase].senders(self.program.worker))
        return [(peer, self.done(phase, self.program.worker, peer)) for peer in writers]

    def wait_for_readers(self, phase: str, step: int) -> Iterator[Waiting]:
        """Waits until nobody is more than WINDOW steps behind: what piles up at a slow reader is bounded."""
        if step < WINDOW or self.transport is None:
            return
        for peer, channel in self.readers[phase]:
            self.doing, began = f"waiting for worker {peer} to finish an earlier step", self.now()
            while self.transport.receive(channel, step - WINDOW) is None:
                yield Waiting("the end of an earlier step", peer, phase, step, channel)
            self.note(f"wait for worker {peer} to finish an earlier step", began)

    def tell_writers(self, phase: str, step: int) -> None:
        """Tells everyone that sends to this worker that it has finished ``step``."""
        for peer, channel in self.writers[phase]:
            assert self.transport is not None
            self.transport.send(channel, step, peer, EMPTY)

    def done(self, phase: str, reader: int, writer: int) -> Channel:
        """The channel on which ``reader`` tells ``writer`` which steps it has finished."""
        return Channel(PHASE_CODES[phase], Way.DONE, 0, reader, writer)

    def read_metrics(self, phase: str) -> Array:
        """The sums since the last call, as a host array (copied); zeroes them."""
        metrics = self.bound[phase].metrics
        sums = self.to_host(metrics).copy()
        metrics.fill(0)
        return sums


def pieces(box: Region, elements: int = 1 << 16) -> Iterator[Region]:
    """Cuts a box into boxes of at most ``elements``, so that what is made of one at a time stays small."""
    axis = next((a for a, (lo, hi) in enumerate(box) if hi - lo > 1), None)
    if axis is None or size(box) <= elements:
        yield box
        return
    lo, hi = box[axis]
    rows = max(1, elements * (hi - lo) // size(box))
    for start in range(lo, hi, rows):
        yield from pieces((*box[:axis], (start, min(hi, start + rows)), *box[axis + 1 :]), elements)


EMPTY = np.empty(0, np.uint8)
