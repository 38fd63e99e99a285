"""Binding: connects the instructions of a Program to arrays, kernels and a transport, as the last work before step
0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from netpart.kernels.arrays import Arrays
from netpart.kernels.op import Array, Op, op_scratch_bytes
from netpart.program.instructions import (
    Accumulate,
    AddSquares,
    Backward,
    CollectiveStart,
    CollectiveWait,
    Copy,
    Forward,
    Instruction,
    Receive,
    Send,
    Update,
    Zero,
)  # fmt: skip
from netpart.program.passes.buffer_sharing import read_only_views
from netpart.worker.actions import RUN, START, WAIT, Action, BoundProgram
from netpart.worker.layer_calls import LayerCalls
from netpart.worker.machine import Machine
from netpart.worker.memory_access import MemorySpan, memory_span
from netpart.worker.message_binder import MessageBinder
from netpart.worker.update_binder import UpdateBinder

if TYPE_CHECKING:
    from netpart.transport.transport import Transport
    from netpart.worker.gpu.communicators import Communicators


def bind_phase(
    machine: Machine, phase: str, transport: Transport | None, communicators: Communicators | None = None,
    binder: type[PhaseBinder] | None = None,
) -> BoundProgram:  # fmt: skip
    """Bind one phase of a Machine for each mini-batch in flight, and announce its messages to the transport.

    ``communicators`` are those of NCCL. ``binder`` binds the instructions (None: PhaseBinder).
    """
    binder = binder or PhaseBinder
    program = machine.program.phases[phase]
    period = program.period
    metrics = machine.xp.zeros(sum(len(slot.names) for slot in program.metrics), np.float64)
    binders = [binder(machine, phase, transport, metrics, mini, communicators) for mini in range(period)]
    bound = [[binder.action(i) for i in program.instructions] for binder in binders]
    delays = [i.delay for i in program.instructions]
    # In turn t, an instruction of delay d works on mini-batch t - d, and mini-batches reuse the arrays of those
    # ``period`` before.
    turns = [[(d, bound[(turn - d) % period][at]) for at, d in enumerate(delays)] for turn in range(period)]
    ops = [each for binder in binders for each in binder.ops]
    running = [each for binder in binders for each in binder.messages.running.values()]
    return BoundProgram(program, turns, metrics, ops, running)


class PhaseBinder:
    """Binder of one phase of a Machine for one of the mini-batches in flight."""

    def __init__(
        self, machine: Machine, phase: str, transport: Transport | None, metrics: Array, mini: int,
        communicators: Communicators | None = None,
    ) -> None:  # fmt: skip
        self.machine = machine
        self.kernels = machine.kernels
        self.metrics = metrics
        self.program = program = machine.program.phases[phase]
        self.arrays = machine.arrays(phase, mini)
        self.layers = LayerCalls(machine, program, self.arrays, metrics)
        self.updates = UpdateBinder(machine, program, self.arrays, machine.arrays(phase, mini - 1))
        self.messages = MessageBinder(machine, program, self.arrays, self.message_verbs, transport, communicators)
        self.ops: list[tuple[Action, Op]] = []

    @property
    def message_verbs(self) -> Arrays:
        """The verbs that move what messages carry."""
        return self.kernels

    def action(self, instruction: Instruction) -> Action:
        """Bind one instruction."""
        found = self.bound(instruction)
        if isinstance(instruction, Forward | Backward) and len(self.program.micros) > 1:
            found.micro = instruction.micro
        if self.kernels.device is not None and found.captured and found.kind == RUN:
            found.accesses = tuple(self.touched(instruction))
        return found

    def touched(self, instruction: Instruction) -> Iterator[MemorySpan]:
        """The device memory that an instruction reads or writes.

        Omitted are memory that no captured action writes, and error records, of which each instruction has its own.
        """
        left = {id(view) for view in read_only_views(instruction)}
        for view in instruction.views:
            if isinstance(array := self.arrays(view), self.machine.xp.ndarray):
                yield memory_span(array, id(view) not in left, view)
        if isinstance(instruction, Update):
            yield from self.updates.touched(instruction)
        if isinstance(instruction, Forward) and instruction.metrics is not None:
            yield memory_span(self.metrics, True)

    def bound(self, instruction: Instruction) -> Action:
        """The action of one instruction, without its micro-batch and memory accesses."""
        match instruction:
            case Forward():
                return self.op(f"forward {self.layers.name(instruction)}", self.layers.forward(instruction))
            case Backward():
                return self.op(f"backward {self.layers.name(instruction)}", self.layers.backward(instruction))
            case Zero(target):
                return self.op("zero", self.kernels.zero(self.arrays(target)))
            case Copy(target, source):
                return self.op("copy", self.kernels.copy(self.arrays(target), self.arrays(source)))
            case Accumulate(target, source):
                return self.op("add", self.kernels.add(self.arrays(target), self.arrays(source)))
            case AddSquares(target, source):
                return self.op("add squares", self.kernels.add_squares(self.arrays(target), self.arrays(source)))
            case Update(holding):
                name = self.machine.program.holdings[holding].parameter.name
                return self.op(f"update {name}", self.updates.update(instruction))
            case Send():
                return self.messages.send(instruction)
            case Receive():
                return self.messages.receive(instruction)
            case CollectiveStart():
                running = self.messages.start(instruction, list(map(self.action, instruction.then)))
                return Action(START, running.name, channel=instruction.channel, running=running)
            case CollectiveWait(start):
                running = self.messages.running[start.channel]
                return Action(WAIT, running.name, channel=start.channel, running=running)

    def op(self, name: str, op: Op) -> Action:
        action = Action(RUN, name, run=op.run, captured=op.captured, scratch=op_scratch_bytes(op))
        if op.scratch:
            self.ops.append((action, op))
        return action
