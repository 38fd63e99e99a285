"""Communication: what a worker says and hears in a step, without what it computes: all that a rehearsal needs."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from netpart.program.buffers import ALIAS, View
from netpart.program.exchange import Exchange
from netpart.program.instructions import Channel, CollectiveStart, CollectiveWait, Receive, Send
from netpart.program.program import WorkerProgram
from netpart.program.server import UPDATE, pull, push
from netpart.spec import FLOAT, Shape


def served(group: int) -> str:
    """What a server's part of a step of a group is called."""
    return f"group {group}"


class Verb(IntEnum):
    """What is done: START and WAIT begin and end a collective."""

    SEND = 0
    RECEIVE = 1
    START = 2
    WAIT = 3


class Leg(NamedTuple):
    """One message of a collective as one member sees it: its place in the schedule, and elements sent or received."""

    message: int
    peer: int
    sent: int
    received: int


class Communication(NamedTuple):
    """One communicating instruction. ``legs`` are a START's; ``name`` is that of the helper, collective or bucket.

    A RECEIVE is ``lag`` steps later than what it receives was sent.
    """

    verb: Verb
    name: str
    channel: Channel
    peer: int = -1
    shape: Shape = ()
    dtype: str = ""
    legs: tuple[Leg, ...] = ()
    lag: int = 0

    def __str__(self) -> str:
        return f"{PHRASES[self.verb]} {self.name}"


PHRASES = ("send", "receive", "start", "wait for")
"""A Verb in words."""
Phases = dict[str, list[Communication]]
"""What one worker says and hears, by phase, in order."""


def communications(program: WorkerProgram) -> Phases:
    """The communicating instructions of every phase of ``program``, in order.

    Of a server, those of a step of each group: "group 0", ...
    """
    if UPDATE not in program.phases:
        return {phase: list(_spoken(program, phase)) for phase in program.phases}
    groups = range((len(program.phases) - 1) // 2)
    return {served(group): [*_spoken(program, push(group)), *_spoken(program, pull(group))] for group in groups}


def _spoken(program: WorkerProgram, phase: str) -> Iterator[Communication]:
    """The communicating instructions of one phase."""
    buckets = _contents(program)
    for i in program.phases[phase].in_turn:
        match i:
            case Send(source, peer, channel, name):
                yield Communication(Verb.SEND, name, channel, peer, source.shape, _dtype(program, source))
            case Receive(target, peer, channel, name, lag):
                yield Communication(Verb.RECEIVE, name, channel, peer, target.shape, _dtype(program, target), lag=lag)
            case CollectiveStart(exchange=exchange, channel=channel):
                kind, name = _type_name(program, i.dtype), _told(i, buckets)
                yield Communication(
                    Verb.START, name, channel, -1, (sum(exchange.sizes),), kind, _legs(i, program.worker)
                )
            case CollectiveWait(start):
                yield Communication(Verb.WAIT, _told(start, buckets), start.channel)


def _told(start: CollectiveStart, buckets: dict[int, str]) -> str:
    """A collective in words."""
    held = next((buckets.get(v.buffer, "") for v in start.target if v is not None), "")
    return f"{start.name}{held}"


def _legs(start: CollectiveStart, worker: int) -> tuple[Leg, ...]:
    """The part of ``worker`` in the collective that ``start`` begins."""
    return exchange_legs(start.exchange, start.exchange.place(worker))


@lru_cache(maxsize=256)
def exchange_legs(exchange: Exchange, place: int) -> tuple[Leg, ...]:
    """The messages of one place; most collectives of a Program are of few sizes."""
    found, members = [], exchange.members
    for index, m in enumerate(exchange.schedule):
        elements = exchange.elements(m.blocks)
        if m.source == place:
            found.append(Leg(index, members[m.target], elements, 0))
        elif m.target == place:
            found.append(Leg(index, members[m.source], 0, elements))
    return tuple(found)


def _dtype(program: WorkerProgram, view: View) -> str:
    """Type of a view's elements as its message has it."""
    return _type_name(program, program.buffers[view.buffer].dtype)


def _type_name(program: WorkerProgram, dtype: str) -> str:
    """Type of the elements of a buffer of ``dtype``."""
    return f"float{8 * program.float_size}" if dtype == FLOAT else dtype


def _contents(program: WorkerProgram) -> dict[int, str]:
    """What lies in each flat buffer, in words: a bucket's number alone would not say which layers it serves."""
    held: dict[int, list[str]] = {}
    for buffer in program.buffers:
        if buffer.kind == ALIAS:
            held.setdefault(buffer.parent, []).append(buffer.name)
    return {b: f" ({' to '.join(dict.fromkeys((names[0], names[-1])))})" for b, names in held.items()}
