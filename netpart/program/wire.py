"""What messages on their way may take, beyond a worker's buffers."""

from __future__ import annotations

from math import prod

from netpart.collectives import all_reduce
from netpart.program.buffers import View, item_size
from netpart.program.instructions import Receive, ReduceStart, Send
from netpart.program.program import Program, WorkerProgram

AHEAD = 2
"""Messages that may wait on one channel."""
OUT = 3
"""Frames of one size that are kept for sending."""


def wire_bytes(program: WorkerProgram) -> int:
    """The most that frames on their way in and out can take, in bytes.

    Frames out are shared by all channels of one size. In: no sender is more than AHEAD steps ahead, and a ring
    brings each element at most once before its owner goes on.
    """
    sizes = {n for phase in program.phases.values() for n in sent_sizes(program, phase)}
    return OUT * sum(sizes) + max((received_bytes(program, phase) for phase in program.phases.values()), default=0)


def sent_sizes(program: WorkerProgram, phase: Program) -> set[int]:
    """Payload bytes of every message that ``phase`` sends."""
    sizes = set()
    for i in phase.instructions:
        if isinstance(i, Send):
            sizes.add(view_bytes(program, i.source))
        elif isinstance(i, ReduceStart):
            item = view_bytes(program, i.target) // max(1, prod(i.target.shape))
            steps = all_reduce(i.members, prod(i.target.shape))[program.worker]
            sizes |= {(hi - lo) * item for lo, hi in (step.send for step in steps)}
    return sizes


def received_bytes(program: WorkerProgram, phase: Program) -> int:
    """The most that may wait to be taken in ``phase``."""
    bridges = sum(view_bytes(program, i.target) for i in phase.instructions if isinstance(i, Receive))
    return AHEAD * bridges + sum(
        view_bytes(program, i.target) for i in phase.instructions if isinstance(i, ReduceStart)
    )


def view_bytes(program: WorkerProgram, view: View) -> int:
    """Bytes of a view."""
    return prod(view.shape) * item_size(program.buffers[view.buffer].dtype, program.float_size)
