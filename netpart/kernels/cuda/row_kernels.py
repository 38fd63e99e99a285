"""Kernels with a block of threads for each row."""

from __future__ import annotations

from typing import Any

from netpart.kernels.cuda.launch import MOST, CudaVerbs, KernelLaunch

LONGEST = 512
"""The most threads of a block."""


class RowVerbs(CudaVerbs):
    """Launches with a block of threads for each row; blocks step by the size of the grid, so rows may be many."""

    def rows(self, file: str, name: str, rows: int, columns: int, *args: Any) -> KernelLaunch | None:
        """The kernel ``name`` of ``source/file`` for rows of ``columns`` elements."""
        return self.bound(file, name, rows * columns, *args, block=row_threads(columns), grid=min(rows, MOST))


def row_threads(columns: int) -> int:
    """The threads for a row: a power of two from a warp to LONGEST, at least ``columns`` if possible."""
    return min(LONGEST, max(32, 1 << (columns - 1).bit_length()))
