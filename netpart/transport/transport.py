"""Transport: what a worker sends and receives through, the same in one process, on one host and between hosts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from netpart.errors import TransportError
from netpart.transport.frames import Array, Channel
from netpart.transport.mailbox import WINDOW, Mailbox


class Endpoint(NamedTuple):
    """Where a transport of a run is opened: at worker ``rank`` of ``workers``, of the run with the secret ``run_id`` (8
    bytes). ``devices`` are those of all ranks, "cpu" or "cuda:N", () where nobody asks; ``xp`` is the array module of
    this one's."""

    rank: int
    run_id: bytes
    workers: int
    devices: Sequence[str] = ()
    xp: Any = np


class Transport(ABC):
    """One rank's end of the wires.

    A channel has one sender and one receiver and carries one message a step, in order. What comes in is held
    against what ``expect`` promised; the first frame that breaks a promise makes ``receive``, ``wait`` and
    ``send`` raise TransportError from then on. One thread, the worker's, calls all methods.
    """

    slots_for_all = False
    """True if every channel has memory of its own from before the first step to the last."""

    xp: Any = np
    """The array module of what ``allocate`` returns."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.device_peers: frozenset[int] = frozenset()
        """The ranks with which arrays of the device are exchanged; with all others those of the host are."""
        self.copy: Callable[[Array, Array], None] = _assign_array
        """copy(to, array) enqueues a copy of what lies in pieces on the device; a worker gives that of its kernels."""
        self.mailbox = Mailbox(rank)
        self.counts: dict[Channel, int] = {}
        """Payload bytes sent, by channel."""
        self.header_bytes = 0
        """Bytes of headers sent."""

    @property
    def arrivals(self) -> int:
        """Number of messages that have arrived: a cheap look at whether anything is new."""
        self._take_in()
        return self.mailbox.arrivals

    def allocate(self, nbytes: int) -> Array:
        """Zeroed bytes, in which ``expect`` may say where a message belongs and ``keep`` where it lies.

        Called before ``bind``. Raises TransportError if there is not as much memory.
        """
        return np.zeros(nbytes, np.uint8)

    def expect(
        self, channel: Channel, peer: int, shape: Sequence[int], dtype: npt.DTypeLike, ahead: int = WINDOW,
        place: Array | None = None, stays: bool = False,
    ) -> None:  # fmt: skip
        """Promises what ``channel`` brings from rank ``peer``; called before any peer sends.

        ``ahead`` is how many messages may be on their way: sent, and not yet done with here. ``place`` is where the
        message belongs, a contiguous array in memory of ``allocate`` that nobody needs once the peer may send: a
        transport that can writes it there, and ``receive`` returns just that. With ``stays``, for which ``ahead`` must
        be 1, the peer makes ready to ``keep`` it, and ``receive`` may return what lies there. Raises TransportError if
        no frame can carry the messages or another promise was made.
        """
        self.mailbox.expect(channel, peer, tuple(shape), np.dtype(dtype), ahead)

    def keep(
        self, channel: Channel, peer: int, shape: Sequence[int], dtype: npt.DTypeLike, place: Array | None = None
    ) -> None:
        """Makes ready to keep each message of ``channel`` here until rank ``peer`` has read it, which expects that.

        ``place`` is where it lies, a contiguous array in memory of ``allocate``: a transport that can sends word of it
        alone. Neither may it change nor the next one follow before a message of the peer says that it was read. Called
        before any peer sends. Raises TransportError as ``expect`` does.
        """
        return

    def bind(self, address: str) -> str:
        """Starts to receive at ``address`` and returns what peers connect to; "" where nothing has an address."""
        return ""

    def connect(self, addresses: Mapping[int, str]) -> None:
        """Connects to the peers that this rank sends to, or reads from (``expect`` with ``stays``), given what their
        ``bind`` returned; before anything is received."""
        return

    @abstractmethod
    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        """Sends ``array`` (any strides) as message ``step`` of ``channel`` to rank ``peer``, without waiting for it.

        The array may be changed when the call returns, but for one that stays (``keep``). Raises TransportError if the
        peer is unknown or no frame can carry the array. Whoever plays a program keeps a sender at most WINDOW messages
        ahead.
        """

    def receive(self, channel: Channel, step: int) -> Array | None:
        """The message of ``step``, once; None if it has not arrived.

        Read-only, and valid until the sender may send as many messages more as ``expect`` let it be ahead: copy it out
        before it can learn that this one was taken. Raises TransportError if a promise was broken or the message cannot
        come any more.
        """
        self._take_in()
        return self.mailbox.take(channel, step)

    def wait(self, seconds: float) -> bool:
        """Blocks until something has arrived since the last call; False if ``seconds`` went by without.

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
        """Moves what has come into the mailbox, where nobody else does."""
        return

    def _listen(self, seconds: float) -> bool:
        """Blocks for ``seconds``, or until there may be something to take in; False where nothing can come."""
        self.mailbox.listen(seconds)
        return True

    def flush(self, seconds: float) -> bool:
        """True once what was sent leaves without this thread; False if ``seconds`` went by before.

        Whoever turns to other things for long calls this first. Raises TransportError if a message cannot leave.
        """
        return True

    @abstractmethod
    def close(self) -> None:
        """Lets go of threads, sockets and names; what was sent still leaves. May be called twice."""

    def count(self, channel: Channel, payload: int) -> None:
        """Counts bytes of ``channel`` that go another way."""
        self._count(channel, payload, 0)

    def _count(self, channel: Channel, payload: int, header: int) -> None:
        self.counts[channel] = self.counts.get(channel, 0) + payload
        self.header_bytes += header

    def _stranger(self, peer: int) -> TransportError:
        """The error of who sends to a rank that he is not connected to."""
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
    """to = array, as their array module does it."""
    to[...] = array


__all__ = ["WINDOW", "Array", "Channel", "Transport"]


TransportMaker = Callable[[Endpoint], Transport]
"""Opens the transport of one worker; a family of them is ``netpart.families.TRANSPORTS``."""
