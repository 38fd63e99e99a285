"""Threads that decode images: as many as kernels may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from netpart.threads import kernel_threads

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_on_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return ``function`` of each item, computed by several threads. Raises what the first failed call raises."""
    threads = kernel_threads(os.environ)
    if threads == 1 or len(items) == 1:
        return [function(item) for item in items]
    # Pillow lets other threads run while it decodes and scales.
    return list(_decode_threads(threads).map(function, items))


@cache
def _decode_threads(count: int) -> ThreadPoolExecutor:
    """``count`` threads, which wait for the next images until the process ends."""
    return ThreadPoolExecutor(count, "decode")
