"""Player: plays the Programs of one worker step by step. It uses no sockets and no threads; it yields when it must
wait.

    for waiting in player.play("train", step):   # yields nothing while all messages have arrived
        ...                                      # the caller lets other workers run, or blocks on the transport
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.kernels.op import Array
from netpart.program.program import WorkerProgram
from netpart.worker.actions import RECEIVE, SEND, START, WAIT, Action, BoundProgram, run_kernel_action
from netpart.worker.array_transfer import ArrayTransfer
from netpart.worker.bind import PhaseBinder, bind_phase
from netpart.worker.flow_control import WINDOW, FlowControl
from netpart.worker.gpu.graph_capture import replay_bound_turns
from netpart.worker.machine import Machine
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

    ``doing`` names the current action, and other threads may read it at any time. ``communicators`` collects those that
    NCCL collectives need; they are connected before a step is played. ``binder`` binds the instructions.
    """

    def __init__(
        self, program: WorkerProgram, transport: Transport | None, xp: Any = np, updater: Updater | None = None,
        seed: int = 1, poison: bool = False, communicators: Communicators | None = None,
        binder: type[PhaseBinder] = PhaseBinder,
    ) -> None:  # fmt: skip
        self.program = program
        self.transport = transport
        self.xp = xp
        self.machine = Machine(program, xp, updater, seed, poison, transport)
        self.parameters = WorkerParameters(self.machine)
        self.transfer = ArrayTransfer(transport, self.machine.kernels)
        self.bound: dict[str, BoundProgram] = {
            p: bind_phase(self.machine, p, transport, communicators, binder) for p in program.phases
        }
        self.device = self.machine.kernels.device
        self.replayed = {phase: replay_bound_turns(self.device, bound) for phase, bound in self.bound.items()}
        # After the graphs are planned: these assign actions to lanes, and each lane has a workspace of its own.
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
        """Play one step of ``phase``; yield what it waits for whenever a message is missing.

        With delayed stages, this begins mini-batch ``step`` and ends earlier ones. With ``drain`` it then ends all that
        have begun. Only then do parameters, states and gradients have their values after the step. Without ``drain``
        the next step must be ``step`` + 1.
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
        """Prepare for a step before which no mini-batch is in flight."""
        self.parameters.copy_to_versions()
        if self.machine.poisoned:
            self.machine.memory.fill(0xFF)

    def turn(self, phase: str, step: int, mini: int, late: int) -> Iterator[WaitReason]:
        """Play the instructions once, each for its mini-batch.

        ``mini`` is the latest mini-batch, counted from when none was in flight; it began ``late`` turns before.
        """
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
            # Below ``late`` the mini-batch would not have begun, as the pipeline is draining; above ``turn`` it would
            # be before the first.
            if not late <= delay <= turn:
                continue
            self.doing = action.name
            clock.step = step - (delay - late)
            # Before every action: received messages of collectives are processed here, as no thread does it.
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
        self.pace.report_step(phase, number)
        self.marks.make()
        self.sequence[phase] = number + 1

    def communicate(self, action: Action, phase: str, number: int, delay: int) -> Iterator[WaitReason]:
        """Send, receive, start a collective or wait for one.

        The messages have this ``number``; they belong to the mini-batch of ``delay`` steps before.
        """
        assert action.channel is not None
        assert self.transport is not None
        if action.kind == SEND:
            # Copying to the host blocks until the GPU has done its work, which may wait for other GPUs. So wait with
            # marks first.
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
        """Wait until the device has done all enqueued work. Kernels of a CPU are done when they return."""
        yield from self.marks.wait(phase)
        if self.device is not None:
            self.device.stream.synchronize()

    def peek_metrics(self, phase: str) -> Array:
        """The sums since the last ``read_metrics``, as a copy on the host."""
        return self.machine.to_host(self.bound[phase].metrics).copy()

    def read_metrics(self, phase: str) -> Array:
        """The sums since the last call, as a copy on the host; set them to zero."""
        metrics = self.bound[phase].metrics
        sums = self.peek_metrics(phase)
        if self.device is not None:
            self.device.complaints.check()
        metrics.fill(0)
        return sums
