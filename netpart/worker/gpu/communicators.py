"""Communicators: through these the GPU of one rank takes part in NCCL collectives with other ranks.

The first member of each makes an id, which is distributed before step 0. Then all members make the communicator
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from importlib import import_module
from threading import Thread
from typing import Any

from netpart.errors import TransportError

Ranks = tuple[int, ...]
HINT = "read NCCL's log with NCCL_DEBUG=WARN, or run with --collectives direct"


class Communicators:
    """The communicators of ``rank``, one for each set of ranks with which it shares collectives.

    They are made when all ranks are bound. The code that made them must close them: only that ends work on a GPU that
    waits for a rank that is gone.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.xp: Any = None
        self.found: dict[Ranks, Any] = {}

    def want(self, xp: Any, ranks: Ranks) -> None:
        """Request a communicator among ``ranks``; ``xp`` is cupy."""
        self.xp = xp
        self.found.setdefault(ranks, None)

    @property
    def nccl(self) -> Any:
        """CuPy's module of NCCL."""
        return import_module(f"{self.xp.__name__}.cuda.nccl")

    @cached_property
    def stream(self) -> Any:
        """The stream of all NCCL calls, made at the first access."""
        return self.xp.cuda.Stream(non_blocking=True)

    def begin(self) -> dict[Ranks, bytes]:
        """A new id for each communicator whose first member is this rank. All members need it to ``connect``."""
        with self.nccl_errors("an id for a communicator"):
            return {ranks: bytes(self.nccl.get_unique_id()) for ranks in self.found if ranks[0] == self.rank}

    def connect(self, ids: Mapping[Ranks, bytes], seconds: float) -> None:
        """Make the communicators, one after another, in an order that is the same for all ranks.

        Making one waits for all its members. Raises TransportError if that fails or takes longer than ``seconds``.
        """
        # Sorted on every rank alike: two ranks that made two communicators in opposite orders would deadlock.
        for ranks in sorted(self.found):
            with self.nccl_errors(f"a communicator of ranks {', '.join(map(str, ranks))}"):
                make = partial(self.nccl.NcclCommunicator, len(ranks), ids[ranks], ranks.index(self.rank))
                self.found[ranks] = _call_with_timeout(seconds, make, self.xp.cuda.Device())

    @contextmanager
    def nccl_errors(self, wanted: str) -> Iterator[None]:
        """Raise TransportError for an error of NCCL."""
        try:
            yield
        except (RuntimeError, TimeoutError) as error:
            raise TransportError(f"rank {self.rank}: expected {wanted}, got {error}; {HINT}") from None

    def close(self) -> None:
        """Abort the communicators and the work that waits on them. May be called twice."""
        for communicator in self.found.values():
            if communicator is not None:
                communicator.abort()
        self.found.clear()


def _call_with_timeout(seconds: float, make: Callable[[], Any], device: Any) -> Any:
    """Call ``make`` on ``device`` in a thread and return its result.

    The thread is abandoned if it takes longer, as it cannot be interrupted. Raises the errors of ``make``, and
    TimeoutError.
    """
    found: list[Any] = []

    def work() -> None:
        try:
            # The current device belongs to a thread, and a new thread starts with device 0.
            device.use()
            found.append((make(), None))
        except Exception as error:
            found.append((None, error))

    thread = Thread(target=work, name="netpart-nccl", daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        raise TimeoutError(f"no answer from the others in {seconds:g} s")
    made, error = found[0]
    if error is not None:
        raise error
    return made
