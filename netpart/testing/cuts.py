"""Random legal cuts of a layer: uneven, on several axes at once, overlapping, over its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from random import Random

from netpart.layers.layer import INPUT, Layer
from netpart.spec import Region

Cell = tuple[Region, Region]
"""(region that a part computes, box of it that the part owns); the owned boxes tile the output."""
Span = tuple[int, int]


@dataclass(frozen=True)
class RandomCut:
    """A cut: each cell of the output combined with each term of the contraction is a part."""

    cells: tuple[Cell, ...]
    terms: tuple[Region | None, ...]

    def parts(self) -> Iterator[tuple[Region, Region, Region | None]]:
        """(region, owned box, term) of every part."""
        return ((region, own, term) for region, own in self.cells for term in self.terms)

    def __str__(self) -> str:
        terms = f" over the terms {list(self.terms)}" if len(self.terms) > 1 else ""
        return f"the parts {[region for region, _ in self.cells]}{terms}"


def random_cut(layer: Layer, random: Random) -> RandomCut:
    """Draw a legal cut: uneven, on any set of the layer's axes, with or without overlaps, with or without terms."""
    axes = [a for a in layer.cuts() if isinstance(a, int) and random.randrange(2)]
    widen = random.choice([0, 0, 1, 2])
    spans = [_random_ranges(n, random) if a in axes else [(0, n)] for a, n in enumerate(layer.output.shape)]
    cells = tuple((tuple(_widen_box(layer, box, widen, random)), box) for box in product(*spans))
    space = layer.contraction() if INPUT in layer.cuts() and random.randrange(2) else None
    terms = (None,) if space is None else tuple(product(*(_random_ranges(n, random) for n in space)))
    return RandomCut(cells, terms)


def _random_ranges(n: int, random: Random) -> list[Span]:
    """Draw 1 to 4 uneven ranges that tile ``range(n)``."""
    inner = {random.randrange(1, n) for _ in range(random.randrange(4))} if n > 1 else set()
    return list(pairwise([0, *sorted(inner), n]))


def _widen_box(layer: Layer, box: Region, most: int, random: Random) -> Iterator[Span]:
    """Widen ``box`` by up to ``most`` elements on each side of every axis that can be cut."""
    for axis, (lo, hi) in enumerate(box):
        if axis in layer.cuts() and most:
            lo = max(lo - random.randint(0, most), 0)
            hi = min(hi + random.randint(0, most), layer.output.shape[axis])
        yield lo, hi
