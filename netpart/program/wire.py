"""What messages on their way may take, beyond a worker's buffers."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from netpart.collectives.kinds import ALL_REDUCE, SWAP
from netpart.program.buffers import View, item_size
from netpart.program.instructions import CollectiveStart, Receive, Send, Way
from netpart.program.program import Program, WorkerProgram

AHEAD = 2
"""Messages of a bridge that may be on their way: sent, and not yet done with."""
REDUCE_AHEAD = 1
"""The same of an all-reduce, also with an update between its halves: it ends for nobody before everybody has done with
what it brought, unless it is a swap."""
OUT = 3
"""Frames of one size that are kept for sending."""


def wire_bytes(program: WorkerProgram, slots: bool = False) -> int:
    """The most that messages on their way in and out can take, in bytes.

    With ``slots`` every channel of every phase has memory for what may be on its way, which sender and receiver both
    see and both count. Else messages are frames: those that leave are shared by all channels of one size, and as many
    arrive as may be ahead.
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
    for start in phase.collectives:
        total += ahead(start) * sum(sent + received for sent, received in message_bytes(program, start))
    return total


def sent_sizes(program: WorkerProgram, phase: Program) -> set[int]:
    """Payload bytes of every message that ``phase`` sends."""
    sizes = {view_bytes(program, i.source) for i in phase.instructions if isinstance(i, Send)}
    for start in phase.collectives:
        sizes |= {sent for sent, _ in message_bytes(program, start)}
    return sizes


def ahead(start: CollectiveStart) -> int:
    """Messages of one channel of a collective that may be on their way."""
    reduces = start.exchange.kind == ALL_REDUCE or start.channel.way in (Way.BUCKET, Way.VALUES)
    return REDUCE_AHEAD if reduces and start.exchange.algorithm != SWAP else AHEAD


def message_bytes(program: WorkerProgram, start: CollectiveStart) -> Iterator[tuple[int, int]]:
    """Payload bytes that each message of a collective sends and receives here."""
    found, place, item = (
        start.exchange,
        start.exchange.place(program.worker),
        item_size(start.dtype, program.float_size),
    )
    for m in found.schedule:
        nbytes = found.elements(m.blocks) * item
        if place in (m.source, m.target):
            yield nbytes * (m.source == place), nbytes * (m.target == place)


def received_bytes(program: WorkerProgram, phase: Program) -> int:
    """The most that may wait to be taken in ``phase``."""
    bridges = sum(AHEAD * view_bytes(program, i.target) for i in phase.instructions if isinstance(i, Receive))
    return bridges + sum(
        ahead(start) * sum(received for _, received in message_bytes(program, start)) for start in phase.collectives
    )


def view_bytes(program: WorkerProgram, view: View) -> int:
    """Bytes of a view."""
    return prod(view.shape) * item_size(program.buffers[view.buffer].dtype, program.float_size)
