"""Communicators: through which the GPU of one rank does collectives of NCCL with those of others.

The first of its members makes an id for each, which goes round before step 0; then all make theirs together.
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
HINT = "see what NCCL says with NCCL_DEBUG=WARN, or run with --collectives direct"


class Communicators:
    """The communicators of ``rank``, one for each set of ranks that it shares collectives with.

    They are made when all ranks are bound, and whoever made them closes them: only that ends what waits on a GPU for a
    rank that is gone.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.xp: Any = None
        self.found: dict[Ranks, Any] = {}

    def want(self, xp: Any, ranks: Ranks) -> None:
        """Of one among ``ranks`` there will be need; ``xp`` is cupy."""
        self.xp = xp
        self.found.setdefault(ranks, None)

    @property
    def nccl(self) -> Any:
        """CuPy's module."""
        return import_module(f"{self.xp.__name__}.cuda.nccl")

    @cached_property
    def stream(self) -> Any:
        """That of all calls, made when first asked for."""
        return self.xp.cuda.Stream(non_blocking=True)

    def begin(self) -> dict[Ranks, bytes]:
        """A new id for each communicator whose first member is this rank; all members need it to ``connect``."""
        with self.nccl_errors("an id for a communicator"):
            return {ranks: bytes(self.nccl.get_unique_id()) for ranks in self.found if ranks[0] == self.rank}

    def connect(self, ids: Mapping[Ranks, bytes], seconds: float) -> None:
        """Makes the communicators, one after the other in an order that is the same for all ranks, as each waits for
        all its members. Raises TransportError if that takes longer than ``seconds``, or fails."""
        for ranks in sorted(self.found):
            with self.nccl_errors(f"a communicator of ranks {', '.join(map(str, ranks))}"):
                make = partial(self.nccl.NcclCommunicator, len(ranks), ids[ranks], ranks.index(self.rank))
                self.found[ranks] = _call_with_timeout(seconds, make, self.xp.cuda.Device())

    @contextmanager
    def nccl_errors(self, wanted: str) -> Iterator[None]:
        """Raises TransportError for what NCCL refuses."""
        try:
            yield
        except (RuntimeError, TimeoutError) as error:
            raise TransportError(f"rank {self.rank}: expected {wanted}, got {error}; {HINT}") from None

    def close(self) -> None:
        """Ends them, and what they still wait for. May be called twice."""
        for communicator in self.found.values():
            if communicator is not None:
                communicator.abort()
        self.found.clear()


def _call_with_timeout(seconds: float, make: Callable[[], Any], device: Any) -> Any:
    """What ``make`` returns, on ``device``, in a thread that is left alone if it takes longer: nobody can interrupt
    it. Raises what it raises, and TimeoutError."""
    found: list[Any] = []

    def work() -> None:
        try:
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
