"""What messages on their way may take, beyond a worker's buffers."""

from __future__ import annotations

from math import prod

from netpart.collectives import all_reduce
from netpart.program.buffers import View, item_size
from netpart.program.instructions import Receive, ReduceStart, Send
from netpart.program.program import Program, WorkerProgram

AHEAD = 2
"""Messages of a bridge that may be on their way: sent, and not yet done with."""
RING_AHEAD = 1
"""The same of a ring's channel: what a member sends next there it has made of, or after, what came of the last one."""
OUT = 3
"""Frames of one size that are kept for sending."""


def wire_bytes(program: WorkerProgram, slots: bool = False) -> int:
    """The most that messages on their way in and out can take, in bytes.

    With ``slots`` every channel of every phase has memory for what may be on its way, which sender and receiver both
    see and both count. Else messages are frames. Out: those of one size are shared by all channels. In: no sender is
    more than AHEAD steps ahead, and a ring brings each element at most once before its owner goes on.
    """
    phases = program.phases.values()
    if slots:
        return sum(slot_bytes(program, phase) for phase in phases)
    sizes = {n for phase in phases for n in sent_sizes(program, phase)}
    return OUT * sum(sizes) + max((received_bytes(program, phase) for phase in phases), default=0)


def slot_bytes(program: WorkerProgram, phase: Program) -> int:
    """Bytes of the slots of all channels of ``phase`` that begin or end here."""
    total = 0
    for i in phase.instructions:
        if isinstance(i, Send | Receive):
            total += AHEAD * view_bytes(program, i.source if isinstance(i, Send) else i.target)
        elif isinstance(i, ReduceStart):
            total += RING_AHEAD * sum(sent + received for sent, received in ring_bytes(program, i))
    return total


def sent_sizes(program: WorkerProgram, phase: Program) -> set[int]:
    """Payload bytes of every message that ``phase`` sends."""
    sizes = set()
    for i in phase.instructions:
        if isinstance(i, Send):
            sizes.add(view_bytes(program, i.source))
        elif isinstance(i, ReduceStart):
            sizes |= {sent for sent, _ in ring_bytes(program, i)}
    return sizes


def ring_bytes(program: WorkerProgram, start: ReduceStart) -> list[tuple[int, int]]:
    """Payload bytes that each step of a ring sends and receives here."""
    item = view_bytes(program, start.target) // max(1, prod(start.target.shape))
    steps = all_reduce(start.members, prod(start.target.shape))[program.worker]
    ranges = ((step.send, step.receive) for step in steps)
    return [((sent[1] - sent[0]) * item, (received[1] - received[0]) * item) for sent, received in ranges]


def received_bytes(program: WorkerProgram, phase: Program) -> int:
    """The most that may wait to be taken in ``phase``."""
    bridges = sum(view_bytes(program, i.target) for i in phase.instructions if isinstance(i, Receive))
    return AHEAD * bridges + sum(
        view_bytes(program, i.target) for i in phase.instructions if isinstance(i, ReduceStart)
    )


def view_bytes(program: WorkerProgram, view: View) -> int:
    """Bytes of a view."""
    return prod(view.shape) * item_size(program.buffers[view.buffer].dtype, program.float_size)
