"""Alignment to cache lines, so that data written by two processes never shares a line."""

from __future__ import annotations

LINE = 64
"""Bytes of a cache line."""


def round_up(nbytes: int, unit: int = LINE) -> int:
    """``nbytes`` rounded up to a multiple of ``unit``."""
    return -(-nbytes // unit) * unit
