"""What messages on their way may take, beyond a worker's buffers."""

from __future__ import annotations

from math import prod

from netpart.program.buffers import View, item_size
from netpart.program.instructions import CollectiveStart, Receive, Send
from netpart.program.program import Program, WorkerProgram

AHEAD = 2
"""Messages that may wait on one channel."""
OUT = 3
"""Frames of one size that are kept for sending."""


def wire_bytes(program: WorkerProgram) -> int:
    """The most that frames on their way in and out can take, in bytes.

    Frames out are shared by all channels of one size. In: no sender is more than AHEAD steps ahead.
    """
    sizes = {n for phase in program.phases.values() for n in sent_sizes(program, phase)}
    return OUT * sum(sizes) + max((received_bytes(program, phase) for phase in program.phases.values()), default=0)


def sent_sizes(program: WorkerProgram, phase: Program) -> set[int]:
    """Payload bytes of every message that ``phase`` sends."""
    sizes = {view_bytes(program, i.source) for i in phase.instructions if isinstance(i, Send)}
    for i in phase.collectives:
        place, item = i.exchange.place(program.worker), item_of(program, i)
        sizes |= {i.exchange.elements(m.blocks) * item for m in i.exchange.schedule if m.source == place}
    return sizes


def received_bytes(program: WorkerProgram, phase: Program) -> int:
    """The most that may wait to be taken in ``phase``."""
    bytes_in = sum(view_bytes(program, i.target) for i in phase.instructions if isinstance(i, Receive))
    for i in phase.collectives:
        place, item = i.exchange.place(program.worker), item_of(program, i)
        bytes_in += sum(i.exchange.elements(m.blocks) * item for m in i.exchange.schedule if m.target == place)
    return AHEAD * bytes_in


def item_of(program: WorkerProgram, start: CollectiveStart) -> int:
    """Bytes of one element of what a collective moves; 0 where this worker has none of it."""
    views = [v for v in (*start.local, *start.target) if v is not None]
    return item_size(program.buffers[views[0].buffer].dtype, program.float_size) if views else 0


def view_bytes(program: WorkerProgram, view: View) -> int:
    """Bytes of a view."""
    return prod(view.shape) * item_size(program.buffers[view.buffer].dtype, program.float_size)
