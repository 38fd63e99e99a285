"""How fused attention goes through its matrices: in tiles that fit the shared memory of a block."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from netpart.errors import NetpartError

WIDEST = 128
"""The widest rows that tiles are made for."""
ROWS = 16
"""Rows of its own that a block has for each warp."""
WARPS = 4, 2
"""Of a block, the best first."""
OTHERS = {False: (64, 32, 16), True: (32, 16)}
"""Rows that pass at a time in float32, the best first, forward and for gradients; in float64 half as many."""
PACK = 16
"""Bytes that a thread moves at once."""
SHARED = 112 << 10
"""Bytes of shared memory for a block at most: two of them then share a multiprocessor of compute capability 9."""
FULL = 2 * 132
"""Blocks that keep a GPU busy; where there are fewer, each takes fewer rows."""


class AttentionTiles(NamedTuple):
    """``own`` rows that stay against ``others`` that pass; rows of keys and of values are ``widths`` elements long.

    ``cores`` are those of the source that multiply.
    """

    warps: int
    others: int
    widths: tuple[int, int]
    itemsize: int
    gradient: bool
    cores: str

    @property
    def own(self) -> int:
        """Rows that a block has of its own."""
        return ROWS * self.warps

    @property
    def block(self) -> int:
        """Threads."""
        return 32 * self.warps

    @property
    def shared(self) -> int:
        """Bytes of shared memory: queries, keys or values, and scores; for gradients two tiles that stay, two that
        pass, and scores."""
        stay = self.widths if self.gradient else self.widths[:1]
        passing = self.widths if self.gradient else (max(self.widths),)
        scores = self.own * (self.others * self.itemsize + 2 * PACK)
        return scores + sum(map(self._tile, [self.own] * len(stay) + [self.others] * len(passing), stay + passing))

    @property
    def defines(self) -> tuple[str, ...]:
        """What the source is compiled with."""
        keys, values = self.widths
        sizes = f"KEY_WIDTH={keys}", f"VALUE_WIDTH={values}", f"WARPS={self.warps}", f"OTHERS={self.others}"
        return *sizes, f"CORES={self.cores}"

    def _tile(self, rows: int, width: int) -> int:
        return rows * (width * self.itemsize + PACK)


def tile_candidates(
    width: int, values: int, itemsize: int, gradient: bool, cores: str, few: bool = False
) -> list[AttentionTiles]:  # fmt: skip
    """Tiles for rows of ``width`` and ``values`` elements, the best first, those with few rows alone if there are
    ``few`` blocks."""
    widths = (_padded_width(width), _padded_width(values))
    times = itemsize // 4
    sizes = product(WARPS[few:], (max(16, others // times) for others in OTHERS[gradient]))
    return [AttentionTiles(*size, widths, itemsize, gradient, cores) for size in sizes]


def fitting_tiles(found: list[AttentionTiles], shared: int) -> AttentionTiles:
    """The first that takes no more than ``shared`` bytes. Raises NetpartError if there is none."""
    for tiles in found:
        if tiles.shared <= min(SHARED, shared):
            return tiles
    least = min(tiles.shared for tiles in found)
    who = f"attention {max(found[0].widths)} wide"
    raise NetpartError(f"{who}: expected {least} bytes of shared memory, got {shared}; use --kernels reference")


def _padded_width(width: int) -> int:
    """The width of a tile with rows of ``width`` elements."""
    return max(16, -(-width // 16) * 16)
