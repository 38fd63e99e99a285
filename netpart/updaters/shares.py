"""What of an update each thread does: some of the blocks that its arrays are cut into."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from netpart.kernels.op import Array
from netpart.kernels.threads import threads_of
from netpart.kernels.verbs import blocks

CACHE = 3 << 16
"""Elements of float32 that a block may have in all arrays of an update together: three quarters of a megabyte."""
WORTH = 1 << 17
"""Elements of a parameter from which on a thread of its own is worth it."""
Parts = Sequence[tuple[Array, ...]]
"""The same block of several arrays, and the next one, and so on."""


def shares(xp: Any, arrays: Sequence[Array], temporaries: int) -> list[Parts]:
    """The blocks of ``arrays`` of one shape, in as many lists as threads are worth it, at least one.

    A block of each of them and ``temporaries`` as large fit a core's cache. On a GPU all is one block.
    """
    size = arrays[0].size
    if xp.__name__ != "numpy":
        return [blocks(arrays, size)]
    parts = blocks(arrays, CACHE // (len(arrays) + temporaries))
    n = max(1, min(threads_of(os.environ), size // WORTH, len(parts)))
    return [parts[len(parts) * i // n : len(parts) * (i + 1) // n] for i in range(n)]
