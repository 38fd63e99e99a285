"""Cache lines: what two processes write does not share one."""

from __future__ import annotations

LINE = 64
"""Bytes of a cache line."""


def round_up(nbytes: int, unit: int = LINE) -> int:
    """The next multiple of ``unit``."""
    return -(-nbytes // unit) * unit
