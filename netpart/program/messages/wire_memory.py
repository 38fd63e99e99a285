"""Memory that messages in flight need, in addition to a worker's buffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from netpart.collectives.kinds import ALL_REDUCE, SWAP
from netpart.collectives.schedule import BlockMessage
from netpart.program.buffers import FIXED, View, is_contiguous, item_size
from netpart.program.exchange import Exchange
from netpart.program.instructions import CollectiveStart, Receive, Send, Way
from netpart.program.program import Program, WorkerProgram

AHEAD = 2
"""Messages of a bridge that may be in flight: sent, and not yet released by the receiver. A lag adds to them."""
REDUCE_AHEAD = 1
"""The same for a channel of an all-reduce, also with an update between its halves. Unless it is a swap, it ends for no
member before the others have used what that member sent."""
OUT = 3
"""Frames of one size that are kept for sending."""


def wire_bytes(program: WorkerProgram, slots: bool = False) -> int:
    """The most bytes of this worker's memory that messages in flight, sent or received, can take.

    With ``slots`` every channel of every phase has memory of its own for its messages in flight. The receiver has it,
    or the sender if the message stays there. Messages that are written to their destination, or read at their source,
    need none. Without ``slots``, messages are frames. Frames to send are shared by all channels of one size; as many
    frames arrive as may be in flight.
    """
    phases = program.phases.values()
    if slots:
        return sum(_slot_bytes(program, phase) for phase in phases)
    sizes = {n for phase in phases for n in _sent_sizes(program, phase)}
    arriving = Counter[str]()
    for phase in phases:
        # By name: one phase runs at a time, but the Programs of a server are all parts of a training step.
        arriving[phase.phase] += _received_bytes(program, phase)
    return OUT * sum(sizes) + max(arriving.values(), default=0)


def _slot_bytes(program: WorkerProgram, phase: Program) -> int:
    """Bytes of the slots in this worker's memory for the channels of ``phase``."""
    receives = (i for i in phase.instructions if isinstance(i, Receive))
    total = sum((AHEAD + i.lag) * _view_bytes(program, i.target) for i in receives)
    for start in phase.collectives:
        most = messages_ahead(start.exchange, start.channel.way)
        place = start.exchange.place(program.worker)
        elsewhere = {index for index, _ in peer_written_messages(program, start)}
        elsewhere |= start.exchange.staying if program.kernels.runs_on == "cpu" else set()  # a GPU has slots of its own
        arriving = (i for i, m in _own_messages(start, place) if m.target == place and i not in elsewhere)
        total += most * sum(_message_bytes(program, start, index) for index in arriving)
        kept = dict(staying_messages(program, start)).keys() - dict(peer_read_messages(program, start)).keys()
        total += sum(_message_bytes(program, start, index) for index in kept)
    return total


def mapped_bytes(program: WorkerProgram) -> int:
    """Bytes of peers' shared memory that this worker maps: slots and destinations that it writes, and sources that it
    reads. They are in its address space, but belong to the peers."""
    total = 0
    for phase in program.phases.values():
        sends = (i for i in phase.instructions if isinstance(i, Send))
        total += sum((AHEAD + i.lag) * _view_bytes(program, i.source) for i in sends)
        for start in phase.collectives:
            found = start.exchange
            place = start.exchange.place(program.worker)
            own = _own_messages(start, place)
            there = {i for i, m in own if (m.target if i in found.staying else m.source) == place}
            most = messages_ahead(found, start.channel.way)
            total += most * sum(_message_bytes(program, start, index) for index in there)
    return total


def _sent_sizes(program: WorkerProgram, phase: Program) -> set[int]:
    """Payload bytes of every message that ``phase`` sends."""
    sizes = {_view_bytes(program, i.source) for i in phase.instructions if isinstance(i, Send)}
    for start in phase.collectives:
        place = start.exchange.place(program.worker)
        own = _own_messages(start, place)
        sizes |= {_message_bytes(program, start, index) for index, m in own if m.source == place}
    return sizes


def messages_ahead(found: Exchange, way: Way = Way.REDUCE) -> int:
    """Messages of one channel of a collective that may be in flight."""
    reduces = found.kind == ALL_REDUCE or way in (Way.BUCKET, Way.VALUES)
    return REDUCE_AHEAD if reduces and found.algorithm != SWAP else AHEAD


def _message_bytes(program: WorkerProgram, start: CollectiveStart, index: int) -> int:
    """Payload bytes of a message of a collective."""
    elements = start.exchange.elements(start.exchange.schedule[index].blocks)
    return elements * item_size(start.dtype, program.float_size)


def opened_bytes(program: WorkerProgram) -> int:
    """The most bytes that sealed links need in addition to ``wire_bytes``.

    Every channel has slots for messages that are decrypted: one more than may be in flight. To send an array with gaps,
    its elements are first put in a row.
    """
    phases = program.phases.values()
    rows = {n for phase in phases for n in _sent_sizes(program, phase)}
    return sum(rows) + sum(_received_bytes(program, phase, spare=1) for phase in phases)


def _received_bytes(program: WorkerProgram, phase: Program, spare: int = 0) -> int:
    """The most bytes that may wait to be taken in ``phase``, with ``spare`` more messages on each channel."""
    received = (i for i in phase.instructions if isinstance(i, Receive))
    total = sum((AHEAD + i.lag + spare) * _view_bytes(program, i.target) for i in received)
    for start in phase.collectives:
        most = messages_ahead(start.exchange, start.channel.way)
        place = start.exchange.place(program.worker)
        coming = (index for index, m in _own_messages(start, place) if m.target == place)
        total += (most + spare) * sum(_message_bytes(program, start, index) for index in coming)
    return total


def peer_written_messages(program: WorkerProgram, start: CollectiveStart) -> Iterator[tuple[int, View]]:
    """(message, destination) of the messages that peers may write directly to their destination.

    In an all-reduce, a sum that comes back replaces the addend that it contains. The peer that made the sum has
    received that addend, and makes the next sum only after it has received the next addend. Nothing reads the
    destination in between, if it serves the all-reduce alone. Nor are values read between the halves of an all-reduce
    with an update (``overlap_updates``).
    """
    found = start.exchange
    place = start.exchange.place(program.worker)
    if found.kind != ALL_REDUCE and id(start) not in program.second_halves:
        return
    for index, m in _own_messages(start, place):
        blocks = [b for b in m.blocks if found.sizes[b]]
        view = start.target[blocks[0]] if len(blocks) == 1 and m.target == place and not m.add else None
        if view is not None and _is_permanent_run(program, view):
            yield index, view


def peer_read_messages(program: WorkerProgram, start: CollectiveStart) -> Iterator[tuple[int, View]]:
    """(message, source) of the messages that peers read directly at their source, where they stay until then.

    These are addends of parameters' gradients. Backward has computed them before their exchange starts, and until the
    next step only the peer that returns their sum writes there. The step ends when all sums, or the values computed
    from them, have come, each from the peer that has read the addend (``returned_messages``). So the peer can never
    read what is written next instead of the addend.
    """
    local = set(start.local)
    for index, view in staying_messages(program, start):
        if view in local and _is_permanent_run(program, view):
            yield index, view


def staying_messages(program: WorkerProgram, start: CollectiveStart) -> Iterator[tuple[int, View]]:
    """(message, destination of its sum) of what this worker sends and keeps, there or in a slot, until it was read."""
    found = start.exchange
    place = start.exchange.place(program.worker)
    for index, message in _own_messages(start, place):
        view = start.target[message.blocks[0]]
        if index in found.staying and message.source == place and view is not None:
            yield index, view


def _own_messages(start: CollectiveStart, place: int) -> Iterator[tuple[int, BlockMessage]]:
    """The messages of one place that need a transport's memory, with their indices: of n members' n², about 2 n."""
    found = start.exchange
    yield from ((index, found.schedule[index]) for index in found.messages_by_place[place] if found.messages)


def _is_permanent_run(program: WorkerProgram, view: View) -> bool:
    """True if ``view`` is one run of memory with no other use in any step, and with a single copy."""
    buffer = program.buffers[view.buffer]
    fixed = buffer.kind == FIXED and program.copies(view.buffer) == 1
    return fixed and is_contiguous(view, buffer.shape, buffer.order)


def peer_written_buffers(program: WorkerProgram) -> set[int]:
    """The buffers to which peers may write."""
    return {view.buffer for start in _collective_starts(program) for _, view in peer_written_messages(program, start)}


def peer_read_buffers(program: WorkerProgram) -> set[int]:
    """The buffers from which peers may read."""
    return {view.buffer for start in _collective_starts(program) for _, view in peer_read_messages(program, start)}


def _collective_starts(program: WorkerProgram) -> Iterator[CollectiveStart]:
    """The starts of all collectives of all phases."""
    return (start for phase in program.phases.values() for start in phase.collectives)


def _view_bytes(program: WorkerProgram, view: View) -> int:
    """Bytes of a view."""
    return prod(view.shape) * item_size(program.buffers[view.buffer].dtype, program.float_size)
