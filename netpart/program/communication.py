"""Communication: what a worker says and hears in a step, without what it computes: all that a rehearsal needs."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from math import prod
from typing import NamedTuple

from netpart.collectives import all_reduce
from netpart.program.buffers import ALIAS, View
from netpart.program.instructions import Channel, Receive, ReduceStart, ReduceWait, Send
from netpart.program.program import WorkerProgram
from netpart.spec import FLOAT, Shape


class Verb(IntEnum):
    """What is done: START and WAIT begin and end a collective."""

    SEND = 0
    RECEIVE = 1
    START = 2
    WAIT = 3


class Round(NamedTuple):
    """One member's part of one round of a collective, in elements; 0 is no message."""

    send_to: int
    sent: int
    receive_from: int
    received: int


class Communication(NamedTuple):
    """One communicating instruction. ``rounds`` are a START's; ``name`` is that of the helper, gradient or bucket."""

    verb: Verb
    name: str
    channel: Channel
    peer: int = -1
    shape: Shape = ()
    dtype: str = ""
    rounds: tuple[Round, ...] = ()

    def __str__(self) -> str:
        return f"{PHRASES[self.verb]} {self.name}"


PHRASES = ("send", "receive", "start all-reduce", "wait for all-reduce")
"""A Verb in words."""
Phases = dict[str, list[Communication]]
"""What one worker says and hears, by phase, in order."""


def communications(program: WorkerProgram) -> Phases:
    """The communicating instructions of every phase of ``program``, in order."""
    return {phase: list(spoken(program, phase)) for phase in program.phases}


def spoken(program: WorkerProgram, phase: str) -> Iterator[Communication]:
    """The communicating instructions of one phase."""
    buckets = contents(program)
    for i in program.phases[phase].instructions:
        match i:
            case Send(source, peer, channel, name):
                yield Communication(Verb.SEND, name, channel, peer, source.shape, dtype(program, source))
            case Receive(target, peer, channel, name):
                yield Communication(Verb.RECEIVE, name, channel, peer, target.shape, dtype(program, target))
            case ReduceStart(target, _, channel, name):
                name += buckets.get(target.buffer, "")
                kind = dtype(program, target)
                yield Communication(Verb.START, name, channel, -1, target.shape, kind, rounds(i, program.worker))
            case ReduceWait(target, channel, name):
                yield Communication(Verb.WAIT, name + buckets.get(target.buffer, ""), channel)


def rounds(start: ReduceStart, worker: int) -> tuple[Round, ...]:
    """The part of ``worker`` in the collective that ``start`` begins."""
    return ring_rounds(start.members, prod(start.target.shape), worker)


@lru_cache(maxsize=256)
def ring_rounds(members: tuple[int, ...], elements: int, worker: int) -> tuple[Round, ...]:
    """The rounds of an all-reduce; most collectives of a Program are of few sizes."""
    steps = all_reduce(members, elements)[worker]
    return tuple(Round(s.send_to, s.send[1] - s.send[0], s.receive_from, s.receive[1] - s.receive[0]) for s in steps)


def dtype(program: WorkerProgram, view: View) -> str:
    """Type of a view's elements as its message has it."""
    kind = program.buffers[view.buffer].dtype
    return f"float{8 * program.float_size}" if kind == FLOAT else kind


def contents(program: WorkerProgram) -> dict[int, str]:
    """What lies in each flat buffer, in words: a bucket's number alone would not say which layers it serves."""
    held: dict[int, list[str]] = {}
    for buffer in program.buffers:
        if buffer.kind == ALIAS:
            held.setdefault(buffer.parent, []).append(buffer.name)
    return {b: f" ({' to '.join(dict.fromkeys((names[0], names[-1])))})" for b, names in held.items()}
