"""What a worker can be told to do. A Program is a flat list of these over numbered buffers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from netpart.program.buffers import View
from netpart.program.exchange import Exchange


class Way(IntEnum):
    """What a message carries."""

    FORWARD = 0
    BACKWARD = 1
    BUCKET = 2
    REDUCE = 3
    DONE = 4
    NORM = 5
    VALUES = 6


class Channel(NamedTuple):
    """Static name of a stream of messages between two workers: one message a step.

    ``edge`` is the index of the receiving bridge in its graph, of a collective's first part, or of the bucket or group
    (0 for the one norm); ``chunk`` the message of a collective's schedule.
    """

    phase: int
    way: Way
    micro: int
    edge: int
    chunk: int = 0


@dataclass(frozen=True)
class Forward:
    """Runs part ``part`` (index into the micro-batch's graph) forward; ``metrics`` is where its sums are added.

    ``then`` is the activation that the kernel computes in the place of its output as well, if there is one.
    """

    micro: int
    part: int
    x: tuple[View | None, ...]
    w: tuple[View | None, ...]
    y: tuple[View, ...]
    aux: tuple[View, ...]
    metrics: int | None
    then: Forward | None = None


@dataclass(frozen=True)
class Backward:
    """Runs part ``part`` backward: overwrites ``dx`` and ``dw`` where they are wanted.

    ``x`` are the inputs if backward may look at them again, else (); ``reads`` the other views of forward that it may
    look at. Both must outlive it.
    """

    micro: int
    part: int
    dy: tuple[View | None, ...]
    dx: tuple[View | None, ...]
    dw: tuple[View | None, ...]
    x: tuple[View | None, ...]
    reads: tuple[View | None, ...]


@dataclass(frozen=True)
class Zero:
    """Fills ``target`` with zeros."""

    target: View


@dataclass(frozen=True)
class Copy:
    """Copies ``source`` to ``target``."""

    target: View
    source: View


@dataclass(frozen=True)
class Add:
    """Adds ``source`` to ``target``."""

    target: View
    source: View


@dataclass(frozen=True)
class Send:
    """Sends ``source`` to worker ``peer``; may be read until the call returns."""

    source: View
    peer: int
    channel: Channel
    name: str


@dataclass(frozen=True)
class Receive:
    """Waits for a message and copies it to ``target``."""

    target: View
    peer: int
    channel: Channel
    name: str


@dataclass(frozen=True)
class CollectiveStart:
    """Starts a collective; other instructions go on meanwhile.

    ``local[b]`` is this worker's own part of block b of the exchange, ``target[b]`` where the block goes, or is kept
    while it is passed on; ``pack`` is flat memory for messages of several blocks; ``dtype`` is that of a Buffer.
    ``then`` is done as soon as this worker's share is complete, and at the latest when it is waited for.
    """

    exchange: Exchange
    local: tuple[View | None, ...]
    target: tuple[View | None, ...]
    pack: View | None
    dtype: str
    channel: Channel
    name: str
    then: tuple[Update | CollectiveStart, ...] = ()


@dataclass(frozen=True)
class CollectiveWait:
    """Waits until this worker's share of ``start`` is complete, and what is done then is done."""

    start: CollectiveStart


@dataclass(frozen=True)
class AddSquares:
    """Adds the squares of all elements of ``source`` to ``target``, one float64."""

    target: View
    source: View


@dataclass(frozen=True)
class Update:
    """Updates holding number ``holding`` from its gradient; ``norm`` is the squared norm of all gradients to clip."""

    holding: int
    norm: View | None = None


Instruction = (
    Forward | Backward | Zero | Copy | Add | Send | Receive | CollectiveStart | CollectiveWait | AddSquares | Update
)
