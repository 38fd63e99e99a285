"""Kernels with a block of threads for each row."""

from __future__ import annotations

from typing import Any

from netpart.kernels.cuda.launch import MOST, CudaVerbs, KernelLaunch

LONGEST = 512
"""Threads of a block at most."""


class RowVerbs(CudaVerbs):
    """Blocks go on by the size of the grid: any number of rows will do."""

    def rows(self, file: str, name: str, rows: int, columns: int, *args: Any) -> KernelLaunch | None:
        """The kernel ``name`` of ``source/file`` for rows of ``columns`` elements."""
        return self.bound(file, name, rows * columns, *args, block=row_threads(columns), grid=min(rows, MOST))


def row_threads(columns: int) -> int:
    """A power of two, at least a warp, that is enough for a row."""
    return min(LONGEST, max(32, 1 << (columns - 1).bit_length()))
