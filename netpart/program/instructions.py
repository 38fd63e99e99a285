"""Instructions, of which a worker's Program is a flat list. They refer to numbered buffers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from netpart.program.buffers import View
from netpart.program.exchange import Exchange

PHASE_CODES = {"train": 1, "val": 2, "test": 4}
"""The numbers of the phases in channels."""


class Way(IntEnum):
    """The purpose of a message."""

    FORWARD = 0
    BACKWARD = 1
    BUCKET = 2
    REDUCE = 3
    DONE = 4
    NORM = 5
    PUSH = 6
    PULL = 7
    AVERAGE = 8
    VALUES = 9


class Channel(NamedTuple):
    """The static name of a stream of messages between two workers: one message per step.

    ``edge`` is the index of the receiving bridge in its graph, of a collective's first part, or of the bucket or group
    (0 for the norm, of which there is one). ``chunk`` is the index of the message in a collective's schedule. Messages
    to and from servers have the worker group in place of the micro-batch, and ``edge`` is the number of the piece.
    """

    phase: int
    way: Way
    micro: int
    edge: int
    chunk: int = 0


@dataclass(frozen=True)
class BaseInstruction:
    """The base of all instructions: step s executes it for the mini-batch of step s - ``delay``."""

    delay: int = field(default=0, kw_only=True)

    @cached_property
    def views(self) -> tuple[View, ...]:
        """Every view that the instruction reads or writes."""
        # Cached: every pass of the compiler reads them. ``__match_args__`` are the fields other than ``delay``.
        names: tuple[str, ...] = self.__match_args__
        return tuple(chain.from_iterable(_views_in(getattr(self, name)) for name in names))

    @cached_property
    def buffers(self) -> tuple[int, ...]:
        """Every buffer of ``views``, once: a collective has as many views of one as it has members."""
        return tuple(dict.fromkeys(view.buffer for view in self.views))


def _views_in(value: object) -> Iterator[View]:
    """The views in a field of an instruction, and those of instructions in the field that run as part of it."""
    for each in value if isinstance(value, tuple) else (value,):
        if each is None:  # so are most blocks of a collective of many workers
            continue
        if isinstance(each, View):
            yield each
        elif isinstance(each, CollectiveStart | Forward | Update):
            yield from each.views


@dataclass(frozen=True)
class Forward(BaseInstruction):
    """Run part ``part`` (an index into the micro-batch's graph) forward; ``metrics`` is the offset of its sums.

    ``then`` is the activation that the same kernel computes in place on the output, or the sum in which it adds its
    output to what is there, if there is one. ``turned`` are the parts whose rotations an attention makes while it reads
    its queries and keys: their indices, or -1.
    """

    micro: int
    part: int
    x: tuple[View | None, ...]
    w: tuple[View | None, ...]
    y: tuple[View, ...]
    aux: tuple[View, ...]
    metrics: int | None
    then: Forward | None = None
    turned: tuple[int, ...] = ()


@dataclass(frozen=True)
class Backward(BaseInstruction):
    """Run part ``part`` backward: overwrite ``dx`` and ``dw`` where these are not None, or, if ``adds``, add to ``dx``.

    ``x`` are the inputs if backward may read them again, else (); ``reads`` are the other views of forward that it may
    read. Both must be kept until then. ``first`` is the backward of the activation that follows the part, in place on
    dy, if the same kernel computes it. ``rows``: dy and dw are those of some of the part's last outputs alone.
    """

    micro: int
    part: int
    dy: tuple[View | None, ...]
    dx: tuple[View | None, ...]
    dw: tuple[View | None, ...]
    x: tuple[View | None, ...]
    reads: tuple[View | None, ...]
    adds: tuple[bool, ...] = ()
    first: Backward | None = None
    rows: tuple[int, int] | None = None


@dataclass(frozen=True)
class Zero(BaseInstruction):
    """Fill ``target`` with zeros."""

    target: View


@dataclass(frozen=True)
class Copy(BaseInstruction):
    """Copy ``source`` to ``target``."""

    target: View
    source: View


@dataclass(frozen=True)
class Accumulate(BaseInstruction):
    """Add ``source`` to ``target``."""

    target: View
    source: View


@dataclass(frozen=True)
class Send(BaseInstruction):
    """Send ``source`` to worker ``peer``; ``source`` is not read after the call returns.

    ``peer`` receives it ``lag`` of its steps later.
    """

    source: View
    peer: int
    channel: Channel
    name: str
    lag: int = 0


@dataclass(frozen=True)
class Receive(BaseInstruction):
    """Wait for a message that was sent ``lag`` steps before, and copy it to ``target``."""

    target: View
    peer: int
    channel: Channel
    name: str
    lag: int = 0


@dataclass(frozen=True)
class CollectiveStart(BaseInstruction):
    """Start a collective, which proceeds while other instructions run.

    ``local[b]`` is this worker's own part of block b of the exchange; ``target[b]`` is where the block is stored, also
    if it is only forwarded. ``pack`` is flat memory for messages of several blocks; ``dtype`` is that of a Buffer.
    ``then`` runs as soon as this worker's share is complete, at the latest in the wait.
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
class CollectiveWait(BaseInstruction):
    """Wait until this worker's share of ``start`` is complete, and its ``then`` has run."""

    start: CollectiveStart


@dataclass(frozen=True)
class AddSquares(BaseInstruction):
    """Add the squares of all elements of ``source`` to ``target``, a single float64."""

    target: View
    source: View


@dataclass(frozen=True)
class Update(BaseInstruction):
    """Update ``value``, this worker's part of holding number ``holding``.

    The first of ``gradients`` is that of ``value``. A running variance needs a second one, that of the running mean.
    ``norm`` is the squared norm of all gradients, to clip. ``rows``: value and gradient are these rows alone.
    """

    holding: int
    value: View
    gradients: tuple[View, ...]
    norm: View | None = None
    rows: tuple[int, int] | None = None


Instruction = (
    Forward
    | Backward
    | Zero
    | Copy
    | Accumulate
    | Send
    | Receive
    | CollectiveStart
    | CollectiveWait
    | AddSquares
    | Update
)
