"""Player: plays the Programs of one worker step by step. Pure of sockets and threads: it yields when it must wait.

for waiting in player.play("train", step):   # nothing is yielded while everything has arrived
    ...                                      # the caller lets others run, or blocks on the transport
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.kernels.op import Array
from netpart.program.program import WorkerProgram
from netpart.worker.actions import RECEIVE, SEND, START, WAIT, Action, BoundProgram, run_kernel_action
from netpart.worker.array_transfer import ArrayTransfer
from netpart.worker.bind import bind_phase
from netpart.worker.gpu.graph_capture import replay_bound_turns
from netpart.worker.machine import Machine
from netpart.worker.pace import WINDOW, FlowControl
from netpart.worker.parameters import WorkerParameters
from netpart.worker.running_collectives import CollectiveRunner
from netpart.worker.trace import PHRASES, STEP, WorkerTrace
from netpart.worker.wait_reasons import StreamMarks, WaitReason
from netpart.worker.workspaces import allot_workspaces

if TYPE_CHECKING:
    from netpart.transport.transport import Transport
    from netpart.updaters import Updater
    from netpart.worker.gpu.communicators import Communicators


class Player:
    """One worker's machine, bound and ready.

    ``doing`` names the action that is being played, for whoever asks meanwhile. ``communicators`` get those that
    collectives by NCCL need; they are there before a step is played.
    """

    def __init__(
        self, program: WorkerProgram, transport: Transport | None, xp: Any = np, updater: Updater | None = None,
        seed: int = 1, poison: bool = False, communicators: Communicators | None = None,
    ) -> None:  # fmt: skip
        self.program = program
        self.transport = transport
        self.xp = xp
        self.machine = Machine(program, xp, updater, seed, poison, transport)
        self.parameters = WorkerParameters(self.machine)
        self.transfer = ArrayTransfer(transport, self.machine.kernels)
        self.bound: dict[str, BoundProgram] = {
            p: bind_phase(self.machine, p, transport, communicators) for p in program.phases
        }
        self.device = self.machine.kernels.device
        self.replayed = {phase: replay_bound_turns(self.device, bound) for phase, bound in self.bound.items()}
        allot_workspaces(self.machine, self.bound.values())
        joint = next((r for b in self.bound.values() for r in b.running if r.call is not None), None)
        self.marks = StreamMarks(xp, transport.rank if transport is not None else 0, joint, self.machine.clock)
        self.trace = WorkerTrace()
        self.collectives = CollectiveRunner(self.machine, self.transfer, self.trace, self.marks)
        self.pace = FlowControl(program, transport, self.trace)
        self.doing = "getting ready"
        self.sequence = dict.fromkeys(program.phases, 0)
        self.begun = dict.fromkeys(program.phases, 0)

    def play(self, phase: str, step: int, drain: bool = True) -> Iterator[WaitReason]:
        """Plays one step of ``phase``; yields what it waits for whenever a message is missing.

        Where stages are delayed, it begins mini-batch ``step`` and ends earlier ones. With ``drain`` it then ends all
        that have begun, and only then are parameters, states and gradients those behind the step; without it the next
        step must be ``step`` + 1.
        """
        began = self.trace.now()
        mini = self.begun[phase]
        if self.device is not None:
            self.device.use()
        if mini == 0:
            self.empty()
        for late in range(1 + self.program.phases[phase].depth * drain):
            yield from self.turn(phase, step, mini, late)
        if drain:
            self.parameters.settle(mini)
        self.begun[phase] = 0 if drain else mini + 1
        self.trace.note(STEP, began)

    def empty(self) -> None:
        """Before a step in which no mini-batch is under way."""
        self.parameters.copy_to_versions()
        if self.machine.poisoned:
            self.machine.memory.fill(0xFF)

    def turn(self, phase: str, step: int, mini: int, late: int) -> Iterator[WaitReason]:
        """Plays the instructions once, each for its mini-batch; ``mini``, since none was under way, is the last, and
        began ``late`` turns before."""
        trace = self.trace
        clock = self.machine.clock
        device = self.device
        underway = self.collectives
        traced = trace.events is not None
        turns = self.bound[phase].turns if traced else self.replayed[phase]
        number = self.sequence[phase]
        turn = mini + late
        for waiting in self.pace.wait(phase, number):
            self.doing = f"waiting for worker {waiting.peer} to finish an earlier step"
            yield waiting
        yield from self.marks.wait(phase, WINDOW - 1)
        for delay, action in turns[turn % len(turns)]:
            if not late <= delay <= turn:
                continue
            self.doing = action.name
            clock.step = step - (delay - late)
            if underway.running:
                underway.advance()
            started = trace.now() if traced else 0.0
            if action.run is not None:
                run_kernel_action(action, device, clock, traced)
            else:
                yield from self.communicate(action, phase, number - delay, delay - late)
            if traced:
                name = PHRASES.get(action.kind, "") + action.name
                trace.note(name, started, action.channel, delay - late, action.micro)
        self.pace.tell(phase, number)
        self.marks.make()
        self.sequence[phase] = number + 1

    def communicate(self, action: Action, phase: str, number: int, delay: int) -> Iterator[WaitReason]:
        """Sends, receives, or starts or completes a collective; its messages have this ``number``, and are for the
        mini-batch of ``delay`` steps before."""
        assert action.channel is not None
        assert self.transport is not None
        if action.kind == SEND:
            if self.transfer.through_host(action.peer):
                self.marks.make()
                yield from self.marks.wait(phase)
            self.transfer.send(action.channel, number, action.peer, action.array)
        elif action.kind == RECEIVE:
            assert action.take is not None
            began = self.trace.now()
            while (arrived := self.transport.receive(action.channel, number)) is None:
                yield WaitReason(action.name, action.peer, phase, number, action.channel)
                self.collectives.advance()
            self.trace.note(f"wait {action.name}", began)
            action.take(self.transfer.on_device(arrived))
        elif action.kind == START:
            assert action.running is not None
            self.collectives.start(action.running, number, delay)
        elif action.kind == WAIT:
            assert action.running is not None
            yield from self.collectives.complete(action.running, phase)

    def finish(self, phase: str) -> Iterator[WaitReason]:
        """Waits until the device has done all that it was told; kernels of a CPU are done when they return."""
        yield from self.marks.wait(phase)
        if self.device is not None:
            self.device.stream.synchronize()

    def read_metrics(self, phase: str) -> Array:
        """The sums since the last call, as a host array (copied); zeroes them."""
        metrics = self.bound[phase].metrics
        sums = self.machine.to_host(metrics).copy()
        if self.device is not None:
            self.device.complaints.check()
        metrics.fill(0)
        return sums
