"""Tiles of fused attention: the sizes of the blocks of rows that fit the shared memory."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from netpart.errors import NetpartError

WIDEST = 128
"""The widest rows that have tiles."""
ROWS = 16
"""The rows that a block keeps for each of its warps."""
WARPS = 4, 2
"""The warps of a block, the best number first."""
OTHERS = {False: (64, 32, 16), True: (32, 16)}
"""The rows of a passing tile in float32, the best number first, by ``gradient``; in float64 half as many."""
PACK = 16
"""The bytes that a thread moves at once."""
SHARED = 112 << 10
"""The most bytes of shared memory of a block: two blocks fit a multiprocessor of compute capability 9."""
FULL = 2 * 132
"""The blocks that keep a GPU busy; where there are fewer, each has fewer rows."""


class AttentionTiles(NamedTuple):
    """A block's ``own`` rows, which stay in shared memory, and the ``others``, which pass tile by tile.

    ``widths`` are the elements of a row of keys and of values; ``cores`` is the struct of the source that multiplies.
    """

    warps: int
    others: int
    widths: tuple[int, int]
    itemsize: int
    gradient: bool
    cores: str

    @property
    def own(self) -> int:
        """The rows that stay in a block."""
        return ROWS * self.warps

    @property
    def block(self) -> int:
        """The threads of a block."""
        return 32 * self.warps

    @property
    def shared(self) -> int:
        """The bytes of shared memory of a block.

        Forward: a tile of queries, one of keys or values, and scores. Gradients: two tiles that stay, two that pass,
        and scores.
        """
        stay = self.widths if self.gradient else self.widths[:1]
        passing = self.widths if self.gradient else (max(self.widths),)
        scores = self.own * (self.others * self.itemsize + 2 * PACK)
        return scores + sum(map(self._tile, [self.own] * len(stay) + [self.others] * len(passing), stay + passing))

    @property
    def defines(self) -> tuple[str, ...]:
        """The defines that the source is compiled with."""
        keys, values = self.widths
        sizes = f"KEY_WIDTH={keys}", f"VALUE_WIDTH={values}", f"WARPS={self.warps}", f"OTHERS={self.others}"
        return *sizes, f"CORES={self.cores}"

    def _tile(self, rows: int, width: int) -> int:
        return rows * (width * self.itemsize + PACK)


def tile_candidates(
    width: int, values: int, itemsize: int, gradient: bool, cores: str, few: bool = False
) -> list[AttentionTiles]:  # fmt: skip
    """Tiles for rows of ``width`` and ``values`` elements, the best first; with ``few`` blocks, only small tiles."""
    widths = (_padded_width(width), _padded_width(values))
    times = itemsize // 4
    sizes = product(WARPS[few:], (max(16, others // times) for others in OTHERS[gradient]))
    return [AttentionTiles(*size, widths, itemsize, gradient, cores) for size in sizes]


def fitting_tiles(found: list[AttentionTiles], shared: int) -> AttentionTiles:
    """The first tiles that take at most ``shared`` bytes. Raises NetpartError if all take more."""
    for tiles in found:
        if tiles.shared <= min(SHARED, shared):
            return tiles
    least = min(tiles.shared for tiles in found)
    who = f"attention {max(found[0].widths)} wide"
    raise NetpartError(f"{who}: expected {least} bytes of shared memory, got {shared}; use --kernels reference")


def _padded_width(width: int) -> int:
    """The width of a tile with rows of ``width`` elements."""
    return max(16, -(-width // 16) * 16)
