"""What messages on their way may take, beyond a worker's buffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from netpart.collectives.kinds import ALL_REDUCE, SWAP
from netpart.program.buffers import FIXED, View, is_contiguous, item_size
from netpart.program.exchange import Exchange
from netpart.program.instructions import CollectiveStart, Receive, Send, Way
from netpart.program.program import Program, WorkerProgram

AHEAD = 2
"""Messages of a bridge that may be on their way: sent, and not yet done with; more by its lag."""
REDUCE_AHEAD = 1
"""The same of an all-reduce, also with an update between its halves: it ends for nobody before everybody has done with
what it brought, unless it is a swap."""
OUT = 3
"""Frames of one size that are kept for sending."""


def wire_bytes(program: WorkerProgram, slots: bool = False) -> int:
    """The most that messages on their way in and out can take of this worker's memory, in bytes.

    With ``slots`` every channel of every phase has memory for what may be on its way, which its receiver has, or its
    sender if the message stays there; but for what is written where it belongs, or read where it lies. Else messages
    are frames: those that leave are shared by all channels of one size, and as many arrive as may be ahead.
    """
    phases = program.phases.values()
    if slots:
        return sum(_slot_bytes(program, phase) for phase in phases)
    sizes = {n for phase in phases for n in _sent_sizes(program, phase)}
    arriving = Counter[str]()
    for phase in phases:
        arriving[phase.phase] += _received_bytes(program, phase)
    return OUT * sum(sizes) + max(arriving.values(), default=0)


def _slot_bytes(program: WorkerProgram, phase: Program) -> int:
    """Bytes of the slots that this worker has for channels of ``phase``."""
    receives = (i for i in phase.instructions if isinstance(i, Receive))
    total = sum((AHEAD + i.lag) * _view_bytes(program, i.target) for i in receives)
    for start in phase.collectives:
        most = messages_ahead(start.exchange, start.channel.way)
        place = start.exchange.place(program.worker)
        elsewhere = {index for index, _ in peer_written_messages(program, start)}
        elsewhere |= start.exchange.staying if program.kernels.runs_on == "cpu" else set()  # a GPU has slots of its own
        arriving = (i for i, m in enumerate(start.exchange.messages) if m.target == place and i not in elsewhere)
        total += most * sum(_message_bytes(program, start, index) for index in arriving)
        kept = dict(staying_messages(program, start)).keys() - dict(peer_read_messages(program, start)).keys()
        total += sum(_message_bytes(program, start, index) for index in kept)
    return total


def mapped_bytes(program: WorkerProgram) -> int:
    """Bytes of its peers' memory that this worker sees where they share it: slots that it writes, what it writes where
    it belongs, and what it reads where it lies. They are in its address space, but not its own."""
    total = 0
    for phase in program.phases.values():
        sends = (i for i in phase.instructions if isinstance(i, Send))
        total += sum((AHEAD + i.lag) * _view_bytes(program, i.source) for i in sends)
        for start in phase.collectives:
            found = start.exchange
            place = start.exchange.place(program.worker)
            there = {i for i, m in enumerate(found.messages) if (m.target if i in found.staying else m.source) == place}
            most = messages_ahead(found, start.channel.way)
            total += most * sum(_message_bytes(program, start, index) for index in there)
    return total


def _sent_sizes(program: WorkerProgram, phase: Program) -> set[int]:
    """Payload bytes of every message that ``phase`` sends."""
    sizes = {_view_bytes(program, i.source) for i in phase.instructions if isinstance(i, Send)}
    for start in phase.collectives:
        place = start.exchange.place(program.worker)
        messages = start.exchange.messages
        sizes |= {_message_bytes(program, start, index) for index, m in enumerate(messages) if m.source == place}
    return sizes


def messages_ahead(found: Exchange, way: Way = Way.REDUCE) -> int:
    """Messages of one channel of a collective that may be on their way."""
    reduces = found.kind == ALL_REDUCE or way in (Way.BUCKET, Way.VALUES)
    return REDUCE_AHEAD if reduces and found.algorithm != SWAP else AHEAD


def _message_bytes(program: WorkerProgram, start: CollectiveStart, index: int) -> int:
    """Payload bytes of a message of a collective."""
    elements = start.exchange.elements(start.exchange.schedule[index].blocks)
    return elements * item_size(start.dtype, program.float_size)


def _received_bytes(program: WorkerProgram, phase: Program) -> int:
    """The most that may wait to be taken in ``phase``."""
    received = (i for i in phase.instructions if isinstance(i, Receive))
    total = sum((AHEAD + i.lag) * _view_bytes(program, i.target) for i in received)
    for start in phase.collectives:
        most = messages_ahead(start.exchange, start.channel.way)
        place = start.exchange.place(program.worker)
        coming = (index for index, m in enumerate(start.exchange.messages) if m.target == place)
        total += most * sum(_message_bytes(program, start, index) for index in coming)
    return total


def peer_written_messages(program: WorkerProgram, start: CollectiveStart) -> Iterator[tuple[int, View]]:
    """(message, where it belongs) of what peers may write where it belongs as soon as they have it.

    In an all-reduce, a sum that comes back replaces an addend of its own. Who made it has had that addend, and makes no
    other before it has had the next: nobody looks at the place meanwhile, if it is there for the all-reduce alone. Nor
    does anybody look at values between the halves of one when an update is done there (``soon``).
    """
    found = start.exchange
    place = start.exchange.place(program.worker)
    if found.kind != ALL_REDUCE and not _is_second_half(program, start):
        return
    for index, m in enumerate(found.messages):
        blocks = [b for b in m.blocks if found.sizes[b]]
        view = start.target[blocks[0]] if len(blocks) == 1 and m.target == place and not m.add else None
        if view is not None and _is_permanent_run(program, view):
            yield index, view


def peer_read_messages(program: WorkerProgram, start: CollectiveStart) -> Iterator[tuple[int, View]]:
    """(message, where it lies) of what peers read where it lies, as it stays there until they have.

    Those are addends of parameters' gradients. Backward has made them before their exchange starts, and nobody writes
    there before the next step but who brings their sum. The step ends when all sums, or the values made of them, have
    come, each from who has read the addend (``returned``): what is written next is never taken for it.
    """
    for index, view in staying_messages(program, start):
        if view in start.local and _is_permanent_run(program, view):
            yield index, view


def staying_messages(program: WorkerProgram, start: CollectiveStart) -> Iterator[tuple[int, View]]:
    """(message, where its sum goes) of what this worker sends and keeps until it has been read, here or in a slot."""
    found = start.exchange
    place = start.exchange.place(program.worker)
    for index in sorted(found.staying):
        message = found.schedule[index]
        view = start.target[message.blocks[0]]
        if message.source == place and view is not None:
            yield index, view


def _is_second_half(program: WorkerProgram, start: CollectiveStart) -> bool:
    """True if ``start`` is done as soon as another collective is complete."""
    return any(start is then for phase in program.phases.values() for i in phase.collectives for then in i.then)


def _is_permanent_run(program: WorkerProgram, view: View) -> bool:
    """True if ``view`` is one run of memory that is nothing else's in any step, nor of several mini-batches."""
    buffer = program.buffers[view.buffer]
    fixed = buffer.kind == FIXED and program.copies(view.buffer) == 1
    return fixed and is_contiguous(view, buffer.shape, buffer.order)


def peer_written_buffers(program: WorkerProgram) -> set[int]:
    """The buffers in which peers may write."""
    return {view.buffer for start in _collective_starts(program) for _, view in peer_written_messages(program, start)}


def peer_read_buffers(program: WorkerProgram) -> set[int]:
    """The buffers in which peers may read."""
    return {view.buffer for start in _collective_starts(program) for _, view in peer_read_messages(program, start)}


def _collective_starts(program: WorkerProgram) -> Iterator[CollectiveStart]:
    """The starts of all collectives of all phases."""
    return (start for phase in program.phases.values() for start in phase.collectives)


def _view_bytes(program: WorkerProgram, view: View) -> int:
    """Bytes of a view."""
    return prod(view.shape) * item_size(program.buffers[view.buffer].dtype, program.float_size)
