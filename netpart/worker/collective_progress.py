"""CollectiveProgress: the part of one member in a collective's schedule. It takes received messages and returns what to
send."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from netpart.collectives.schedule import BlockMessage, Schedule
from netpart.errors import TransportError
from netpart.kernels.arrays import Arrays
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, same_memory
from netpart.spec import Shape

HOST = Arrays(np, np.float32)
"""The operations on arrays of the host, of any dtype."""
OptionalArray = Array | None
OutgoingMessage = tuple[int, int, Array]
"""(place, index of the message, array to send)."""


@dataclass(slots=True)
class MessageArrival:
    """A message to come. ``takes`` bring its blocks to their targets.

    ``place`` is the target itself, if the message is a single block that is not added to anything.
    """

    source: int
    index: int
    shape: Shape
    place: OptionalArray = None
    takes: list[Callable[[Array], None]] = field(default_factory=list)


@dataclass(slots=True)
class MessageDeparture:
    """A message to send: ``whole``, into which ``copies`` pack several blocks."""

    target: int
    index: int
    whole: Array
    copies: list[Callable[[], None]]


class CollectiveProgress:
    """Player of the part of the member at ``me`` in ``schedule``, for any number of runs.

    ``local[b]`` is this member's input of block b. ``target[b]`` is where the result goes, or where it may be kept
    while it is forwarded. Either may be None, and both may be the same array. ``pack`` is flat memory for messages of
    several blocks; ``verbs`` are the operations of the device on which all these arrays are. ``own`` are the indices of
    the messages of ``me``, if they are known. All arrays are bound here, so a run allocates only small lists.

    The caller must finish sending one array before it asks for the next, and ask until no array is left: several blocks
    are packed only then. Messages are taken in the order of the schedule, so the order of the sums depends on nothing
    else.
    """

    def __init__(
        self, schedule: Schedule, me: int, sizes: Sequence[int], local: Sequence[OptionalArray],
        target: Sequence[OptionalArray],
        pack: OptionalArray = None, verbs: Arrays = HOST, own: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self._who = f"collective, member {me}"
        self._arrivals: list[MessageArrival] = []
        self._released: list[list[MessageDeparture]] = [[]]
        self._touched: dict[int, int] = {}
        self._local = local
        self._target = target
        self._pack = pack
        self._verbs = verbs
        # The pass follows the schedule's order, so ``_touched`` holds the last arrival before each message that is
        # planned.
        for index in range(len(schedule)) if own is None else own:
            message = schedule[index]
            if sum(sizes[b] for b in message.blocks) == 0:
                continue
            if message.target == me:
                self._expect(index, message, sizes)
            elif message.source == me:
                self._plan(index, message, sizes)
        kept = [b for b, block in enumerate(target) if block is not None and b not in self._touched]
        moved = [b for b in kept if local[b] is not None and local[b] is not target[b]]
        self._own = _needed_calls(verbs.copy(target[b], local[b]) for b in moved)
        self._at = -1

    def _expect(self, index: int, message: BlockMessage, sizes: Sequence[int]) -> None:
        """Plan a message to come. The first addend of a block is added to this member's own input."""
        blocks = [b for b in message.blocks if sizes[b]]
        alone = len(blocks) == 1
        arrival = MessageArrival(message.source, index, self._shape(blocks, sizes))
        arrival.place = self._target[blocks[0]] if alone and not message.add else None
        start = 0
        for b in blocks:
            target = self._target[b]
            assert target is not None, f"block {b} has no place to go"
            own = self._local[b] if b not in self._touched else target
            arrival.takes.append(self._verbs.take(target, own if message.add else None, None if alone else start))
            self._touched[b] = len(self._arrivals)
            start += sizes[b]
        self._arrivals.append(arrival)
        self._released.append([])

    def _plan(self, index: int, message: BlockMessage, sizes: Sequence[int]) -> None:
        """Plan a message to send as soon as the last of its blocks has arrived."""
        blocks = [b for b in message.blocks if sizes[b]]
        # A message of a member's ``own`` input does not depend on what arrived before.
        touched = {} if message.own else self._touched
        views = [self._target[b] if b in touched else self._local[b] for b in blocks]
        whole, copies = (views[0], []) if len(blocks) == 1 else self._packed(views)
        after = max((touched.get(b, -1) for b in blocks), default=-1)
        self._released[after + 1].append(MessageDeparture(message.target, index, whole, copies))

    def _packed(self, views: Sequence[OptionalArray]) -> tuple[Array, list[Callable[[], None]]]:
        """Memory for ``views`` one after another, and the operations that copy them there."""
        assert self._pack is not None, "a message of several blocks needs memory to be packed in"
        copies, start = [], 0
        for view in views:
            assert view is not None
            stop = start + view.size
            copies.append(self._verbs.copy(self._pack[start:stop].reshape(view.shape), view))
            start = stop
        return self._pack[:start], _needed_calls(copies)

    def _shape(self, blocks: Sequence[int], sizes: Sequence[int]) -> Shape:
        """The shape of a message: that of its block, or flat for several blocks."""
        if len(blocks) > 1:
            return (sum(sizes[b] for b in blocks),)
        target = self._target[blocks[0]]
        return () if target is None else tuple(target.shape)

    @property
    def messages(self) -> list[tuple[int, int, Shape]]:
        """(place, index, shape) of every message to come, in order."""
        return [(a.source, a.index, a.shape) for a in self._arrivals]

    @property
    def done(self) -> bool:
        """True once every message of the run has been delivered; False before the first ``start``."""
        return self._at == len(self._arrivals)

    def start(self) -> Iterator[OutgoingMessage]:
        """Begin a run and return what can be sent at once. Raises RuntimeError while a run is unfinished."""
        if not self.done and self._at != -1:
            at = f"message {self._at} of {len(self._arrivals)}"
            raise RuntimeError(f"{self._who}: expected a complete run before start, got one at {at}; deliver it")
        self._at = 0
        return self._begin()

    def _begin(self) -> Iterator[OutgoingMessage]:
        """Yield what other members wait for first; then copy this member's own blocks to their targets."""
        yield from map(_pack_departure, self._released[0])
        for copy in self._own:
            copy()

    def expects(self) -> tuple[int, int] | None:
        """The next message to come as (place, index); None if all have come."""
        if self.done or self._at == -1:
            return None
        arrival = self._arrivals[self._at]
        return arrival.source, arrival.index

    def deliver(self, array: Array) -> Iterator[OutgoingMessage]:
        """Take the message that ``expects`` names and return what can be sent now.

        Raises TransportError if no message is expected or ``array`` has the wrong shape.
        """
        if self.done or self._at == -1:
            got = f"one of shape {array.shape}"
            raise TransportError(f"{self._who}: expected no message, got {got}; start a run first")
        arrival = self._arrivals[self._at]
        if array.shape != arrival.shape:
            whose = f"message {arrival.index} from place {arrival.source}"
            raise TransportError(
                f"{self._who}: expected {arrival.shape} for {whose}, got {array.shape}; "
                "run one version of netpart and one plan on all workers"
            )
        _take_blocks(arrival, array)
        self._at += 1
        return map(_pack_departure, self._released[self._at])

    def __repr__(self) -> str:
        return f"CollectiveProgress({self._at} of {len(self._arrivals)} messages)"


def _needed_calls(ops: Iterable[Op]) -> list[Callable[[], None]]:
    """The functions of ``ops`` that do something."""
    return [op.run for op in ops if op is not NOTHING]


def _take_blocks(arrival: MessageArrival, array: Array) -> None:
    """Bring each block of a message to its target, unless a transport has written it there."""
    if arrival.place is None or not same_memory(arrival.place, array):
        for block in arrival.takes:
            block(array)


def _pack_departure(d: MessageDeparture) -> OutgoingMessage:
    """The message to send, packed if it has several blocks."""
    for copy in d.copies:
        copy()
    return d.target, d.index, d.whole
