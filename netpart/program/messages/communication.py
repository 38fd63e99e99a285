"""Communication: the messages that a worker sends and receives in a step, as the deadlock check needs them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from netpart.program.buffers import ALIAS, View
from netpart.program.exchange import Exchange
from netpart.program.instructions import Channel, CollectiveStart, CollectiveWait, Receive, Send
from netpart.program.program import WorkerProgram
from netpart.program.server import UPDATE, pull_phase, push_phase
from netpart.spec import FLOAT, Shape


def server_group_phase(group: int) -> str:
    """The name under which a server's part in a step of a group is listed."""
    return f"group {group}"


class MessageVerb(IntEnum):
    """The kinds of communication: START and WAIT begin and end a collective."""

    SEND = 0
    RECEIVE = 1
    START = 2
    WAIT = 3


class Leg(NamedTuple):
    """One message of a collective for one member: its index in the schedule, and the elements sent or received."""

    message: int
    peer: int
    sent: int
    received: int


class Communication(NamedTuple):
    """One communicating instruction. ``legs`` are a START's; ``name`` is that of the helper, collective or bucket.

    A RECEIVE takes place ``lag`` steps after the send of its message. A START has its ``exchange`` instead of legs if
    all workers are checked in one process: n members have n² legs or more, and one exchange.
    """

    verb: MessageVerb
    name: str
    channel: Channel
    peer: int = -1
    shape: Shape = ()
    dtype: str = ""
    legs: tuple[Leg, ...] = ()
    lag: int = 0
    exchange: Exchange | None = None

    def __str__(self) -> str:
        return f"{PHRASES[self.verb]} {self.name}"

    def receivers(self, worker: int) -> set[int]:
        """The workers to which a START of ``worker`` sends."""
        if self.exchange is not None:
            return self.exchange.receivers(worker)
        return {leg.peer for leg in self.legs if leg.sent}

    def legs_of(self, worker: int) -> tuple[Leg, ...]:
        """The messages of a START of ``worker``."""
        return self.legs if self.exchange is None else exchange_legs(self.exchange, self.exchange.place(worker))


PHRASES = ("send", "receive", "start", "wait for")
"""The texts of a MessageVerb, by its number."""
Phases = dict[str, list[Communication]]
"""The communications of one worker, by phase, in order."""


def list_communications(program: WorkerProgram, shared: bool = False) -> Phases:
    """The communicating instructions of every phase of ``program``, in order.

    A server has those of a step of each group instead of phases: "group 0", ... ``shared``: those of a collective have
    its exchange instead of legs.
    """
    if UPDATE not in program.phases:
        return {phase: list(_phase_communications(program, phase, shared)) for phase in program.phases}
    groups = range((len(program.phases) - 1) // 2)  # besides UPDATE, each group has a push and a pull phase
    return {
        server_group_phase(group): [
            *_phase_communications(program, push_phase(group)),
            *_phase_communications(program, pull_phase(group)),
        ]
        for group in groups
    }


def _phase_communications(program: WorkerProgram, phase: str, shared: bool = False) -> Iterator[Communication]:
    """The communicating instructions of one phase; ``shared`` as in ``list_communications``."""
    buckets = _flat_buffer_contents(program)
    for i in program.phases[phase].in_turn:
        match i:
            case Send(source, peer, channel, name):
                yield Communication(
                    MessageVerb.SEND, name, channel, peer, source.shape, _view_type_name(program, source)
                )
            case Receive(target, peer, channel, name, lag):
                yield Communication(
                    MessageVerb.RECEIVE, name, channel, peer, target.shape, _view_type_name(program, target), lag=lag
                )
            case CollectiveStart(exchange=exchange, channel=channel):
                kind = _type_name(program, i.dtype)
                name = _describe_collective(i, buckets)
                legs = () if shared else _member_legs(i, program.worker)
                whole = exchange if shared else None
                shape = (sum(exchange.sizes),)
                yield Communication(MessageVerb.START, name, channel, -1, shape, kind, legs, exchange=whole)
            case CollectiveWait(start):
                yield Communication(MessageVerb.WAIT, _describe_collective(start, buckets), start.channel)


def _describe_collective(start: CollectiveStart, buckets: dict[int, str]) -> str:
    """The name of a collective, with the gradients in its bucket, if it is one of a bucket."""
    held = next((buckets.get(v.buffer, "") for v in start.target if v is not None), "")
    return f"{start.name}{held}"


def _member_legs(start: CollectiveStart, worker: int) -> tuple[Leg, ...]:
    """The messages of ``worker`` in the collective that ``start`` begins."""
    return exchange_legs(start.exchange, start.exchange.place(worker))


@lru_cache(maxsize=256)
def exchange_legs(exchange: Exchange, place: int) -> tuple[Leg, ...]:
    """The messages of one place. Cached: the collectives of a Program have few different sizes."""
    found, members = [], exchange.members
    for index in exchange.messages_by_place[place]:
        m = exchange.schedule[index]
        elements = exchange.elements(m.blocks)
        if m.source == place:
            found.append(Leg(index, members[m.target], elements, 0))
        else:
            found.append(Leg(index, members[m.source], 0, elements))
    return tuple(found)


def _view_type_name(program: WorkerProgram, view: View) -> str:
    """The element type of a view in its message."""
    return _type_name(program, program.buffers[view.buffer].dtype)


def _type_name(program: WorkerProgram, dtype: str) -> str:
    """The element type of a buffer of ``dtype``."""
    return f"float{8 * program.float_size}" if dtype == FLOAT else dtype


def _flat_buffer_contents(program: WorkerProgram) -> dict[int, str]:
    """A text for each flat buffer: the names of its first and last gradient, which show a reader the layers."""
    held: dict[int, list[str]] = {}
    for buffer in program.buffers:
        if buffer.kind == ALIAS:
            held.setdefault(buffer.parent, []).append(buffer.name)
    return {b: f" ({' to '.join(dict.fromkeys((names[0], names[-1])))})" for b, names in held.items()}
