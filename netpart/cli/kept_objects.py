"""Objects that stay until a command ends, at which the garbage collector does not look again.

A partition for a thousand workers has millions of objects, none of them garbage. A collection among them takes seconds,
in which no other thread runs: the progress line would stand still.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def keep_objects() -> Iterator[None]:
    """Pause the collector during the block. Afterwards it omits what is alive then; ``release_objects`` ends that."""
    from netpart.graph.partition import pause_gc

    with pause_gc():
        yield
        # Before the collector is on again, as it would begin with a collection of everything.
        gc.freeze()


def release_objects() -> None:
    """Let the collector look at all objects again: a process that goes on after a command needs the memory."""
    gc.unfreeze()
