"""Patterns: the collective that the bridges of one tensor among some workers form, if any.

every source sends all it holds to every other member        one source: broadcast, else all-gather
every source sends each other member a different piece       all-to-all, if no two members get the same
the readers add up what they receive: one piece each         reduce-scatter
                                      all of everything      all-reduce, or reduce to one reader
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from netpart.box_index import are_boxes_disjoint
from netpart.collectives.kinds import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    REDUCE,
    REDUCE_SCATTER,
)
from netpart.graph.graph import BRIDGE_DST, CONCATE, SUM, Part
from netpart.spec import Region, hull, intersect, size

Pairs = dict[tuple[int, int], Part]
"""The receiving half of the one bridge between two workers, by (source, target)."""
Readers = dict[int, list[Part]]
"""The parts that read each part, by its index."""
Regions = dict[int, Region]
"""The region that each source holds, by worker."""
Pattern = tuple[str, tuple[int, ...], tuple[Region | None, ...], Region]
"""Kind, members, blocks (of an all-gather, a reduce-scatter or an all-to-all), the region of the tensor."""


def match_copy_pattern(pairs: Pairs, regions: Regions, readers: Readers) -> Pattern | None:
    """The pattern of bridges that carry copies: a broadcast, an all-gather or an all-to-all; None otherwise."""
    targets = sorted({t for _, t in pairs})
    everything = all(a.region == regions[s] for (s, _), a in pairs.items())
    if len(regions) == 1 and everything:
        ((root, region),) = regions.items()
        return BROADCAST, (root, *targets), (), region
    if not _is_complete_exchange(pairs, regions, targets) or not _tile_hull(regions.values()):
        return None
    if everything:
        return ALL_GATHER, tuple(targets), tuple(regions.get(t) for t in targets), hull(list(regions.values()))
    joins = [(t, r) for (_, t), a in pairs.items() for r in readers.get(a.index, [])]
    # By worker, because ``blocks`` of an all-to-all are listed by place, and ``targets`` is sorted as well.
    wanted = {t: r.region for t, r in sorted(joins, key=lambda j: j[0])}
    # Only Concates can take the pieces of an all-to-all: its blocks are intersections of what is held with what is
    # needed.
    if set(regions) != set(wanted) or any(r.kind != CONCATE or r.region != wanted[t] for t, r in joins):
        return None
    if not _tile_hull(wanted.values()):
        return None
    blocks = tuple(intersect(mine, need) for mine in regions.values() for need in wanted.values())
    return ALL_TO_ALL, tuple(targets), blocks, hull(list(regions.values()))


def _is_complete_exchange(pairs: Pairs, sources: Iterable[int], targets: list[int]) -> bool:
    """True if every source is also a target and sends to every other target."""
    return set(sources) <= set(targets) and set(pairs) == {(s, t) for s in sources for t in targets if s != t}


def _tile_hull(regions: Iterable[Region]) -> bool:
    """True if the regions are disjoint and fill their hull."""
    boxes = list(regions)
    return sum(map(size, boxes)) == size(hull(boxes)) and are_boxes_disjoint(boxes)


def match_sum_pattern(pairs: Pairs, regions: Regions, readers: Readers) -> Pattern | None:
    """The pattern of bridges that carry addends: an all-reduce, a reduce or a reduce-scatter; None otherwise."""
    wanted = {t: a.region for (_, t), a in sorted(pairs.items(), key=lambda p: p[0][1])}
    (whole, *others) = set(regions.values())
    boxes = list(wanted.values())
    if others or set(pairs) != {(s, t) for s in regions for t in wanted if s != t}:
        return None
    counts = Counter(t for _, t in pairs)
    # A bridge without a reader stands for itself, so that it is rejected as no Sum.
    everyone = [(t, a, r) for (_, t), a in pairs.items() for r in readers.get(a.index, [a])]
    # By identity, as the Sum of n addends reads n bridges: it is looked at once.
    totals = {id(r): r for t, _, r in everyone if t not in regions or len(r.feeds) > counts[t]}
    totals = {key: r for key, r in totals.items() if _is_sum_of_bridges(r, counts[r.worker])}
    some = {key for key, r in totals.items() if len({f.gradient for f in r.feeds}) > 1}
    # The gradient must return to all addends or to one.
    if any(
        id(r) not in totals or r.region != a.region or (id(r) in some and a.feeds[0].gradient) for _, a, r in everyone
    ):
        return None
    if len(wanted) == 1:
        (root,) = wanted
        return REDUCE, (root, *regions), (), boxes[0]
    if not set(wanted) <= set(regions):
        return None
    if len(wanted) == len(regions) and all(box == whole for box in boxes):
        return ALL_REDUCE, tuple(regions), (), whole
    if not are_boxes_disjoint(boxes):
        return None
    return REDUCE_SCATTER, tuple(regions), tuple(wanted.get(s) for s in regions), whole


def _is_sum_of_bridges(reader: Part, count: int) -> bool:
    """True if ``reader`` is a Sum of what ``count`` bridges bring and at most one addend of its own worker, each of
    which comes once and whole."""
    came = [f.part for f in reader.feeds if f.part.kind == BRIDGE_DST]
    return (
        reader.kind == SUM
        and len(set(map(id, came))) == len(came) == count >= len(reader.feeds) - 1
        and all(f.region == reader.region for f in reader.feeds)
    )
