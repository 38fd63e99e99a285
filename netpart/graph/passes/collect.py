"""Pass: recognises the bridges that together are a collective (all-gather, all-reduce, …).

It adds and removes nothing: it marks the parts of each collective, so that a Program may carry it out as one exchange,
the ledger may count it as one, and a drawing may frame it. What forms no clean pattern stays single bridges.

    every source sends all it holds to every other member        one source: broadcast, else all-gather
    every source sends each other member a piece of its own      all-to-all, if no two members get the same
    the readers add up what they get: of one piece each          reduce-scatter
                                      all of everything          all-reduce, or reduce to one reader
"""

from __future__ import annotations

from collections.abc import Iterable

from netpart.collectives.kinds import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    REDUCE,
    REDUCE_SCATTER,
    SUMMING,
)
from netpart.graph.graph import BRIDGE_DST, CONCATE, SUM, Collective, Graph, Part
from netpart.spec import RECORD, Region, hull, intersect, size

Pairs = dict[tuple[int, int], Part]
"""The receiving half of the one bridge between two workers, by (source, target)."""
Readers = dict[int, list[Part]]
"""The parts that read each part, by its index."""


def collect(graph: Graph) -> None:
    """Marks every collective of ``graph``, in the order of the parts."""
    arrivals: dict[tuple[int, int], list[Part]] = {}
    for part in graph.parts:
        if part.kind == BRIDGE_DST:
            arrivals.setdefault((part.node, part.output), []).append(part)
    several = {key: parts for key, parts in arrivals.items() if len(parts) > 1}
    if not several:
        return
    readers = readers_of(graph)
    for parts in several.values():
        for group in apart(parts):
            found = recognise(graph, group, readers)
            if found is not None:
                graph.collectives.append(found)


def readers_of(graph: Graph) -> Readers:
    """Who reads the receiving half of each bridge."""
    readers: Readers = {}
    for part in graph.parts:
        for feed in part.feeds:
            if feed.part.kind == BRIDGE_DST:
                readers.setdefault(feed.part.index, []).append(part)
    return readers


def apart(parts: list[Part]) -> list[list[Part]]:
    """Bridges in groups whose workers have nothing to do with each other."""
    leader: dict[int, int] = {}

    def find(worker: int) -> int:
        while leader.setdefault(worker, worker) != worker:
            worker = leader[worker]
        return worker

    for part in parts:
        leader[find(source(part).worker)] = find(part.worker)
    groups: dict[int, list[Part]] = {}
    for part in parts:
        groups.setdefault(find(part.worker), []).append(part)
    return list(groups.values())


def source(arrival: Part) -> Part:
    """The sending half of a bridge."""
    return arrival.feeds[0].part


def recognise(graph: Graph, arrivals: list[Part], readers: Readers) -> Collective | None:
    """The collective that the bridges of one tensor among some workers form, marked on its parts."""
    pairs = {(source(a).worker, a.worker): a for a in arrivals}
    outlets = {source(a).worker: source(a).feeds[0].part for a in arrivals}
    one_way = {a.feeds[0].gradient for a in arrivals}
    alike = len(pairs) == len(arrivals) > 1 and len(one_way) == 1 and all(map(is_plain, arrivals))
    alike = alike and (one_way == {False} or all(returns_all(r) for a in arrivals for r in readers.get(a.index, [])))
    spec = graph.net.nodes[arrivals[0].node].layer.outputs[arrivals[0].output]
    if (
        not alike
        or spec.dtype == RECORD
        or any(source(a).feeds[0].part is not outlets[s] for (s, _), a in pairs.items())
    ):
        return None
    addends = len(graph.placements[arrivals[0].node].terms) > 1
    regions = {worker: graph.held(outlet, arrivals[0].output) for worker, outlet in sorted(outlets.items())}
    shape = added_up(pairs, regions, readers) if addends else spread(pairs, regions, readers)
    return None if shape is None else mark(graph, arrivals, readers, *shape)


def returns_all(reader: Part) -> bool:
    """True unless a Concate returns the gradient of some of its boxes and keeps that of others."""
    return reader.kind != CONCATE or len({feed.gradient for feed in reader.feeds}) == 1


def is_plain(arrival: Part) -> bool:
    """True for a bridge that brings what it is sent, which is what its sending half reads."""
    sender = source(arrival)
    return len(sender.feeds) == 1 and arrival.region == sender.region == sender.feeds[0].region


Pattern = tuple[str, tuple[int, ...], tuple[Region | None, ...], Region]
"""Kind, members, blocks (of an all-gather, a reduce-scatter or an all-to-all), the region of the tensor."""


Regions = dict[int, Region]
"""What each source holds, by worker."""


def spread(pairs: Pairs, regions: Regions, readers: Readers) -> Pattern | None:
    """Copies on their way: a broadcast, an all-gather, an all-to-all, or none of them."""
    targets = sorted({t for _, t in pairs})
    everything = all(a.region == regions[s] for (s, _), a in pairs.items())
    if len(regions) == 1 and everything:
        ((root, region),) = regions.items()
        return BROADCAST, (root, *targets), (), region
    if not complete(pairs, regions, targets) or not tile(regions.values()):
        return None
    if everything:
        return ALL_GATHER, tuple(targets), tuple(regions.get(t) for t in targets), hull(list(regions.values()))
    joins = [(t, r) for (_, t), a in pairs.items() for r in readers.get(a.index, [])]
    wanted = {t: r.region for t, r in sorted(joins, key=lambda j: j[0])}
    if set(regions) != set(wanted) or any(r.kind != CONCATE or r.region != wanted[t] for t, r in joins):
        return None
    if not tile(wanted.values()):
        return None
    blocks = tuple(intersect(mine, need) for mine in regions.values() for need in wanted.values())
    return ALL_TO_ALL, tuple(targets), blocks, hull(list(regions.values()))


def complete(pairs: Pairs, sources: Iterable[int], targets: list[int]) -> bool:
    """True if every source is a target too and sends to every other target."""
    return set(sources) <= set(targets) and set(pairs) == {(s, t) for s in sources for t in targets if s != t}


def tile(regions: Iterable[Region]) -> bool:
    """True if the regions are disjoint and fill their hull."""
    boxes = list(regions)
    disjoint = not any(intersect(a, b) is not None for i, a in enumerate(boxes) for b in boxes[:i])
    return disjoint and sum(map(size, boxes)) == size(hull(boxes))


def added_up(pairs: Pairs, regions: Regions, readers: Readers) -> Pattern | None:
    """Addends on their way: an all-reduce, a reduce, a reduce-scatter, or none of them."""
    wanted = {t: a.region for (_, t), a in sorted(pairs.items(), key=lambda p: p[0][1])}
    (whole, *others), boxes = set(regions.values()), list(wanted.values())
    if others or set(pairs) != {(s, t) for s in regions for t in wanted if s != t}:
        return None
    counts = {t: sum(u == t for _, u in pairs) for t in wanted}
    everyone = [(t, a, r) for (_, t), a in pairs.items() for r in readers.get(a.index, [a])]
    if not all(is_total(r, a, counts[t]) and (t not in regions or len(r.feeds) > counts[t]) for t, a, r in everyone):
        return None
    if len(wanted) == 1:
        (root,) = wanted
        return REDUCE, (root, *regions), (), boxes[0]
    if not set(wanted) <= set(regions):
        return None
    if len(wanted) == len(regions) and all(box == whole for box in boxes):
        return ALL_REDUCE, tuple(regions), (), whole
    if any(intersect(a, b) is not None for i, a in enumerate(boxes) for b in boxes[:i]):
        return None
    return REDUCE_SCATTER, tuple(regions), tuple(wanted.get(s) for s in regions), whole


def is_total(reader: Part, arrival: Part, count: int) -> bool:
    """True if ``reader`` adds up what ``count`` bridges bring and at most one addend of its own worker, each once and
    whole, and its gradient goes back to all or to one."""
    back, came = {f.gradient for f in reader.feeds}, [f.part for f in reader.feeds if f.part.kind == BRIDGE_DST]
    return (
        reader.kind == SUM
        and len(set(map(id, came))) == len(came) == count >= len(reader.feeds) - 1
        and all(f.region == reader.region == arrival.region for f in reader.feeds)
        and (len(back) == 1 or not arrival.feeds[0].gradient)
    )


def mark(graph: Graph, arrivals: list[Part], readers: Readers, *pattern: *Pattern) -> Collective:
    """Makes the Collective and tells its parts: the bridges, and the Sums that take all they add up from it."""
    kind, members, blocks, region = pattern
    sent = [source(a) for a in arrivals]
    first, last = min(p.index for p in sent), max(a.index for a in arrivals)
    sums = [r for a in arrivals for r in readers.get(a.index, []) if r.kind == SUM] if kind in SUMMING else []
    last = max([last, *(s.index for s in sums)])
    layer = graph.net.nodes[sent[0].node].layer
    name = layer.name + (f".{layer.output_names[sent[0].output]}" if sent[0].output else "")
    back = arrivals[0].feeds[0].gradient
    dtype = layer.outputs[sent[0].output].dtype
    count = moved(kind, len(members), region, arrivals)
    found = Collective(kind, name, dtype, members, blocks, region, back, first, last, count)
    for part in (*sent, *arrivals, *sums):
        part.collective = found
    return found


def moved(kind: str, members: int, region: Region, arrivals: list[Part]) -> int:
    """Elements that all members send together, forward; the same return where the gradient does."""
    if kind in (ALL_TO_ALL, REDUCE_SCATTER):
        return sum(size(a.region) for a in arrivals)
    return (members - 1) * size(region) * (2 if kind == ALL_REDUCE else 1)
