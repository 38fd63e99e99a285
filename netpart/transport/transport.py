"""Transport: the interface through which workers send and receive, in one process, on one host or between hosts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from netpart.errors import TransportError
from netpart.transport.frames import Array, Channel
from netpart.transport.mailbox import WINDOW, Mailbox
from netpart.transport.seal_keys import WireSecret

if TYPE_CHECKING:
    from netpart.transport.link_watch import LostLink


class Endpoint(NamedTuple):
    """The rank that opens a transport: worker ``rank`` of ``workers``, in the run with the secret ``run_id`` (8 bytes).

    ``devices`` are those of all ranks, "cpu" or "cuda:N", or () if unknown; ``xp`` is the array module of this rank's
    device. ``secret`` is how links are sealed, None if they are plain.
    """

    rank: int
    run_id: bytes
    workers: int
    devices: Sequence[str] = ()
    xp: Any = np
    secret: WireSecret | None = None


@dataclass(frozen=True)
class RefusedFrames:
    """How many frames were dropped, and why the latest of them was."""

    count: int = 0
    reason: str = ""


class Transport(ABC):
    """One rank's end of all channels.

    A channel has one sender and one receiver and carries one message per step, in order. Every arrival is compared with
    what ``expect`` promised. After the first frame that breaks a promise, ``receive``, ``wait`` and ``send`` raise
    TransportError. One thread, the worker's, calls all methods.
    """

    slots_for_all = False
    """True if every channel has memory of its own for the whole run, reserved before the first step."""

    opens_frames = False
    """True if what arrives may be sealed, so that it is decrypted into memory of its own."""

    xp: Any = np
    """The array module of what ``allocate`` returns."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.device_peers: frozenset[int] = frozenset()
        """The ranks with which this one exchanges arrays of the device; with all others it exchanges arrays of the
        host."""
        self.copy: Callable[[Array, Array], None] = _assign_array
        """copy(to, array) enqueues a copy of a non-contiguous device array; a worker sets the copy of its kernels."""
        self.mailbox = Mailbox(rank)
        self.counts: dict[Channel, int] = {}
        """Payload bytes sent, by channel."""
        self.header_bytes = 0
        """Bytes of headers and tags sent."""
        self.cipher = ""
        """How what arrives here is sealed: a member of ``netpart.choices.CIPHERS``, or "" if it is plain."""
        self.refused: dict[int, RefusedFrames] = {}
        """Frames that were dropped, by the rank that they claim to be from; -1 if they claim none of this run."""

    @property
    def arrivals(self) -> int:
        """The number of messages that have arrived: a cheap test for new ones."""
        self._take_in()
        return self.mailbox.arrivals

    def allocate(self, nbytes: int) -> Array:
        """Zeroed bytes for the places of messages: ``expect`` and ``keep`` accept parts of it as ``place``.

        Called before ``bind``. Raises TransportError if there is too little memory.
        """
        return np.zeros(nbytes, np.uint8)

    def expect(
        self, channel: Channel, peer: int, shape: Sequence[int], dtype: npt.DTypeLike, ahead: int = WINDOW,
        place: Array | None = None, stays: bool = False,
    ) -> None:  # fmt: skip
        """Promise what ``channel`` brings from rank ``peer``; called before any peer sends.

        ``ahead`` is the number of messages that may be in flight: sent, and not yet released here. ``place`` is where
        the message belongs: a contiguous array in memory of ``allocate`` whose contents are not needed once the peer
        may send. A transport that can do so writes the message there, and ``receive`` returns that array. With
        ``stays``, for which ``ahead`` must be 1, the peer calls ``keep``, and ``receive`` may return the peer's memory.
        Raises TransportError if no frame can carry the messages or another promise was made.
        """
        self.mailbox.expect(channel, peer, tuple(shape), np.dtype(dtype), ahead)

    def keep(
        self, channel: Channel, peer: int, shape: Sequence[int], dtype: npt.DTypeLike, place: Array | None = None
    ) -> None:
        """Keep each message of ``channel`` here until rank ``peer`` has read it; the peer expects it with ``stays``.

        ``place`` is where the message lies, a contiguous array in memory of ``allocate``: a transport that can do so
        only announces it instead of copying it. It must not change, and the next one must not be sent, before a message
        of the peer proves that it was read. Called before any peer sends. Raises TransportError as ``expect`` does.
        """
        return

    def bind(self, address: str) -> str:
        """Start to receive at ``address`` and return the address that peers connect to, "" for a transport without
        addresses."""
        return ""

    def connect(self, addresses: Mapping[int, str]) -> None:
        """Connect to the peers that this rank sends to, or reads from (``expect`` with ``stays``).

        ``addresses`` are what their ``bind`` returned, by rank. Called before anything is received.
        """
        return

    @abstractmethod
    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        """Send ``array`` (any strides) as message ``step`` of ``channel`` to rank ``peer``, without waiting for it.

        The array may be changed when the call returns, except one that stays here (``keep``). Raises TransportError if
        the peer is unknown or no frame can carry the array. The caller keeps a sender at most WINDOW messages ahead.
        """

    def receive(self, channel: Channel, step: int) -> Array | None:
        """The message of ``step``, returned once; None if it has not arrived.

        The array is read-only. It is valid until the sender may send as many more messages as ``expect`` allows it to
        be ahead, so it must be copied before the sender can find out that it was taken. Raises TransportError if a
        promise was broken or the message cannot arrive any more.
        """
        self._take_in()
        return self.mailbox.take(channel, step)

    def wait(self, seconds: float) -> bool:
        """Block until something has arrived since the last call; False if nothing did within ``seconds``.

        Raises TransportError if a promise was broken.
        """
        end = monotonic() + seconds
        self._take_in()
        while not self.mailbox.news():
            left = end - monotonic()
            if left <= 0 or not self._listen(left):
                return False
            self._take_in()
        return True

    def _take_in(self) -> None:
        """Move what has come into the mailbox, in transports in which no other thread does that."""
        return

    def _listen(self, seconds: float) -> bool:
        """Block for ``seconds``, or until there may be something to take in; False if nothing can arrive."""
        self.mailbox.listen(seconds)
        return True

    def flush(self, seconds: float) -> bool:
        """True once all that was sent can leave without this thread; False if it cannot within ``seconds``.

        A worker calls this before it does something else for long. Raises TransportError if a message cannot leave.
        """
        return True

    def watch_links(self) -> None:
        """Watch the connections from now on, where this transport has some; called before ``connect``."""
        return

    def lost_link(self) -> LostLink | None:
        """A connection to a peer that does not open or has closed, if links are watched: messages may be lost."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Release threads, sockets and names; what was sent still leaves. May be called twice."""

    def abandon(self) -> None:
        """Do ``close``, but drop what was sent and has not left: its receivers have left their team, too."""
        self.close()

    def count(self, channel: Channel, payload: int) -> None:
        """Count payload bytes of ``channel`` that were sent by other means than this transport."""
        self._count(channel, payload, 0)

    def _count(self, channel: Channel, payload: int, header: int) -> None:
        self.counts[channel] = self.counts.get(channel, 0) + payload
        self.header_bytes += header

    def _refuse(self, peer: int, reason: str) -> None:
        """Count a frame that was dropped."""
        # The heartbeat's thread reads this meanwhile: each value is replaced as a whole.
        earlier = self.refused.get(peer, RefusedFrames())
        self.refused[peer] = RefusedFrames(earlier.count + 1, reason)

    def _stranger(self, peer: int) -> TransportError:
        """The error for a message to a rank that this one is not connected to."""
        return TransportError(f"rank {self.rank}: expected a connected peer, got rank {peer}; connect to it first")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(rank {self.rank}: {self.arrivals} arrived, {sum(self.counts.values())} bytes sent)"
        )


def _assign_array(to: Array, array: Array) -> None:
    """Assign ``array`` to ``to`` element by element, as their array module does."""
    to[...] = array


__all__ = ["WINDOW", "Array", "Channel", "Transport"]


TransportMaker = Callable[[Endpoint], Transport]
"""Opens the transport of one worker; all of them are in ``netpart.families.TRANSPORTS``."""
