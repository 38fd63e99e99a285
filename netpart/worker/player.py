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
from netpart.program.buffers import View
from netpart.program.instructions import PHASE_CODES, Channel, Way
from netpart.program.program import WorkerProgram
from netpart.spec import pieces, relative
from netpart.worker.actions import RECEIVE, SEND, START, WAIT, Action, Bound, Running
from netpart.worker.bind import bind
from netpart.worker.machine import ALIGN, Machine
from netpart.worker.replay import Turn, replays
from netpart.worker.staging import Copies, Staging
from netpart.worker.waiting import Marks, Waiting
from netpart.worker.workspaces import attach, scratch_bytes

if TYPE_CHECKING:
    from netpart.transport.transport import Transport
    from netpart.updaters import Updater
    from netpart.worker.nccl import Communicators

WINDOW = 2
"""Steps that a sender may run ahead of a receiver, and a host ahead of a GPU that waits for others."""
STEP = "step"
PHRASES = {START: "start ", WAIT: "wait "}
"""What a trace says before the name of a collective."""


class Traced(NamedTuple):
    """What was done from ``start`` to ``end``, in seconds of this process's clock; ``name`` begins with a verb.

    ``channel`` is that of the message that it sent or received, for the mini-batch of ``delay`` steps before. What was
    done meanwhile stands before it.
    """

    name: str
    start: float
    end: float
    channel: Channel | None = None
    delay: int = 0


class Player:
    """One worker's machine, bound and ready.

    ``trace``, if it is a list, gets every action, every message of a collective, every wait and, behind all that, the
    step, by the clock ``now``; ``doing`` names the action that is being played, for whoever asks meanwhile.
    ``communicators`` get those that collectives by NCCL need; they are there before a step is played.
    """

    def __init__(
        self, program: WorkerProgram, transport: Transport | None, xp: Any = np, updater: Updater | None = None,
        seed: int = 1, poison: bool = False, communicators: Communicators | None = None,
    ) -> None:  # fmt: skip
        self.program, self.transport, self.xp = program, transport, xp
        self.machine = Machine(program, xp, updater, seed, poison, transport)
        self.staging = None if xp is np else Staging(self.machine.kernels)
        if self.staging is not None and transport is not None:
            transport.copy = Copies(self.machine.kernels)
        self.bound: dict[str, Bound] = {p: bind(self.machine, p, transport, communicators) for p in program.phases}
        self.device = self.machine.kernels.device
        self.replayed: dict[str, list[Turn]] = self.replays()
        self.workspace_bytes = self.attach_workspaces()
        self.running: list[Running] = []
        joint = next((r for b in self.bound.values() for r in b.running if r.call is not None), None)
        self.marks = Marks(xp, transport.rank if transport is not None else 0, joint, self.machine.clock)
        self.seen = -1
        self.trace: list[Traced] | None = None
        self.now: Callable[[], float] = perf_counter
        self.doing = "getting ready"
        self.sequence = dict.fromkeys(program.phases, 0)
        self.begun = dict.fromkeys(program.phases, 0)
        self.late = 0
        self.readers = {phase: self.finished_by_readers(phase) for phase in program.phases}
        self.writers = {phase: self.finished_for_writers(phase) for phase in program.phases}

    def attach_workspaces(self) -> int:
        """Gives all kernels of a lane one workspace, as large as the hungriest of them needs; returns their bytes."""
        needs = scratch_bytes(action for bound in self.bound.values() for action, _ in bound.scratch)
        total = sum(needs.values())
        self.machine.refuse_unless_fits(total, workspace=total)
        workspaces = {lane: self.workspace(need) for lane, need in needs.items()}
        for bound in self.bound.values():
            attach(bound, workspaces)
        return total

    def workspace(self, need: int) -> Array:
        """Memory of ``need`` bytes."""
        memory = self.xp.empty(need + ALIGN, np.uint8)
        return memory[-memory.__array_interface__["data"][0] % ALIGN if self.xp is np else 0 :]

    def replays(self) -> dict[str, list[Turn]]:
        """By phase, the turns as they are played when nobody traces: on a GPU by graphs."""
        if self.device is None:
            return {phase: bound.turns for phase, bound in self.bound.items()}
        for bound in self.bound.values():
            for running in bound.running:
                running.then_replayed = [action for _, action in replays(self.device, [(0, a) for a in running.then])]
        return {phase: [replays(self.device, turn) for turn in bound.turns] for phase, bound in self.bound.items()}

    @property
    def memory_bytes(self) -> int:
        """Bytes that the plan takes at most: buffers, workspace, messages on their way, samples on theirs."""
        held = self.device.held if self.device else 0
        return int(self.program.total_bytes + self.workspace_bytes + self.machine.wire_bytes + held)

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

    def play(self, phase: str, step: int, drain: bool = True) -> Iterator[Waiting]:
        """Plays one step of ``phase``; yields what it waits for whenever a message is missing.

        Where stages are delayed, it begins mini-batch ``step`` and ends earlier ones. With ``drain`` it then ends all
        that have begun, and only then are parameters, states and gradients those behind the step; without it the next
        step must be ``step`` + 1.
        """
        began, mini = self.now(), self.begun[phase]
        if self.device is not None:
            self.device.use()
        if mini == 0:
            self.empty()
        for late in range(1 + self.program.phases[phase].depth * drain):
            yield from self.turn(phase, step, mini, late)
        if drain:
            self.machine.settle(mini)
        self.begun[phase] = 0 if drain else mini + 1
        self.note(STEP, began)

    def empty(self) -> None:
        """Before a step in which no mini-batch is under way."""
        self.machine.spread()
        if self.machine.poisoned:
            self.machine.memory.fill(0xFF)

    def turn(self, phase: str, step: int, mini: int, late: int) -> Iterator[Waiting]:
        """Plays the instructions once, each for its mini-batch; ``mini``, since none was under way, is the last, and
        began ``late`` turns before."""
        trace, clock = self.trace, self.machine.clock
        turns = self.replayed[phase] if trace is None else self.bound[phase].turns
        number, turn = self.sequence[phase], mini + late
        yield from self.wait_for_readers(phase, number)
        yield from self.marks.wait(phase, WINDOW - 1)
        for delay, action in turns[turn % len(turns)]:
            if not late <= delay <= turn:
                continue
            self.doing, self.late = action.name, delay - late
            clock.step = step - self.late
            if self.running:
                self.advance()
            started = self.now() if trace is not None else 0.0
            if action.run is not None:
                self.compute(action)
            else:
                yield from self.communicate(action, phase, number - delay)
            if trace is not None:
                self.note(PHRASES.get(action.kind, "") + action.name, started, action.channel, delay - late)
        self.tell_writers(phase, number)
        self.marks.make()
        self.sequence[phase] = number + 1

    def compute(self, action: Action) -> None:
        """Runs a kernel; where a GPU does, enqueues it, and waits for it only to trace how long it takes."""
        assert action.run is not None
        if self.device is None:
            return action.run()
        self.device.tell(self.machine.clock.step)
        action.run()
        if self.trace is not None:
            self.device.stream.synchronize()

    def finish(self, phase: str) -> Iterator[Waiting]:
        """Waits until the device has done all that it was told; kernels of a CPU are done when they return."""
        yield from self.marks.wait(phase)
        if self.device is not None:
            self.device.stream.synchronize()

    def note(self, name: str, started: float, channel: Channel | None = None, delay: int = 0) -> None:
        """Traces what ends now, if it is to be traced."""
        if self.trace is not None:
            self.trace.append(Traced(name, started, self.now(), channel, delay))

    def communicate(self, action: Action, phase: str, step: int) -> Iterator[Waiting]:
        """Sends, receives, or starts or completes a collective; ``step`` numbers its messages."""
        assert action.channel is not None
        assert self.transport is not None
        if action.kind == SEND:
            if self.through_host(action.peer):
                self.marks.make()
                yield from self.marks.wait(phase)
            self.send(action.channel, step, action.peer, action.array)
        elif action.kind == RECEIVE:
            assert action.take is not None
            began = self.now()
            while (arrived := self.transport.receive(action.channel, step)) is None:
                yield Waiting(action.name, action.peer, phase, step, action.channel)
                self.advance()
            self.note(f"wait {action.name}", began)
            action.take(self.on_device(arrived))
        elif action.kind == START:
            assert action.running is not None
            self.start(action.running, step)
        elif action.kind == WAIT:
            assert action.running is not None
            yield from self.complete(action.running, phase)

    def start(self, running: Running, number: int) -> None:
        """Starts a collective, whose messages have this ``number``; it goes on with whatever is played."""
        running.number, running.delay = number, self.late
        if running.call is not None:
            return self.call(running)
        self.running.append(running)
        self.seen = -1  # its first message may be here already
        self.pass_on(running, running.progress.start())

    def call(self, running: Running) -> None:
        """Lets NCCL begin a collective, and counts what its messages would move."""
        assert running.call is not None
        assert self.transport is not None
        running.call.start()
        for channel, nbytes in running.counted:
            self.transport.count(channel, nbytes)

    def complete(self, running: Running, phase: str) -> Iterator[Waiting]:
        """Waits until a collective that was started is complete; of one of NCCL, only the device waits."""
        if running.call is not None:
            running.call.wait()
            if self.trace is not None:
                self.marks.make()
                yield from self.marks.wait(phase)
            return self.follow(running)
        self.advance()
        while (expected := running.progress.expects()) is not None:
            place, index = expected
            yield Waiting(running.name, running.members[place], phase, running.number, running.channels[index])
            self.advance()

    def advance(self) -> None:
        """Takes every collective as far as the messages that have arrived allow."""
        assert self.transport is not None
        arrivals = self.transport.arrivals
        if arrivals == self.seen or not self.running:
            return
        self.seen = arrivals
        for running in self.running:
            while (expected := running.progress.expects()) is not None:
                arrived = self.transport.receive(running.channels[expected[1]], running.number)
                if arrived is None:
                    break
                began = self.now()
                self.pass_on(running, running.progress.deliver(self.on_device(arrived)))
                self.note(f"receive {running.name}", began, running.channels[expected[1]], running.delay)
        complete = [running for running in self.running if running.progress.done]
        self.running = [running for running in self.running if not running.progress.done]
        for running in complete:
            self.follow(running)

    def follow(self, running: Running) -> None:
        """Does what is to be done when a collective is complete."""
        for action in running.then_replayed if self.trace is None else running.then:
            began = self.now()
            if action.run is not None:
                self.compute(action)
            elif action.running is not None:
                self.start(action.running, running.number)
            self.note(PHRASES.get(action.kind, "") + action.name, began, action.channel)

    def pass_on(self, running: Running, sends: Iterator[tuple[int, int, Array]]) -> None:
        """Sends what a collective may send now."""
        assert self.transport is not None
        for place, index, view in sends:
            began, channel = self.now(), running.channels[index]
            self.send(channel, running.number, running.members[place], view)
            self.note(f"send {running.name}", began, channel, running.delay)

    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        """Sends an array of the device, through the host if the peer takes no others."""
        assert self.transport is not None
        if self.staging is not None and self.through_host(peer):
            array = self.staging.to_host(array)
        self.transport.send(channel, step, peer, array)

    def through_host(self, peer: int) -> bool:
        """True if what ``peer`` is sent must leave the device, which lets the host wait for it."""
        assert self.transport is not None
        return self.staging is not None and peer not in self.transport.device_peers

    def on_device(self, arrived: Array) -> Array:
        """What has arrived, on the device for what is done before something else arrives."""
        if self.staging is None or isinstance(arrived, self.xp.ndarray):
            return arrived
        return self.staging.to_device(arrived)

    def host(self, view: View, phase: str) -> Array:
        """What ``view`` holds after a step of ``phase``, on the host."""
        return self.to_host(self.machine.arrays(phase)(view))

    def to_host(self, array: Array) -> Array:
        return array if self.xp is np else self.xp.asnumpy(array)

    def finished_by_readers(self, phase: str) -> list[tuple[int, Channel]]:
        """(worker, channel) of everyone that this worker sends to, and on which it hears of their finished steps."""
        found = []
        for peer in sorted(self.program.phases[phase].receivers(self.program.worker)):
            channel = self.done(phase, peer, self.program.worker)
            rank = self.program.phases[phase].rank(peer)
            if self.transport is not None:
                self.transport.expect(channel, rank, (0,), EMPTY.dtype, WINDOW + self.program.phases[phase].depth)
            found.append((rank, channel))
        return found

    def finished_for_writers(self, phase: str) -> list[tuple[int, Channel]]:
        """(worker, channel) of everyone that sends to this worker, and hears of the steps it has finished."""
        writers = sorted(self.program.phases[phase].senders(self.program.worker))
        rank = self.program.phases[phase].rank
        return [(rank(peer), self.done(phase, self.program.worker, peer)) for peer in writers]

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
        if self.device is not None:
            self.device.complaints.check()
        metrics.fill(0)
        return sums


EMPTY = np.empty(0, np.uint8)
