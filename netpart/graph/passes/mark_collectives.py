"""Pass: finds the bridges that together form a collective (all-gather, all-reduce, …) and marks them.

It adds and removes no parts. The marks let a Program execute the collective as one exchange, the ledger count it as one
and a drawing frame it. Bridges that match none of the ``patterns`` stay single bridges. A complete sum of a compact
graph is an all-reduce already, and is only marked.
"""

from __future__ import annotations

from collections.abc import Iterable

from netpart.collectives.kinds import ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, SUMMING
from netpart.graph.graph import BRIDGE_DST, CONCATE, GIVE, SUM, TAKE, Collective, Graph, Part
from netpart.graph.passes.patterns import Pattern, Readers, match_copy_pattern, match_sum_pattern
from netpart.spec import RECORD, Region, size


def mark_collectives(graph: Graph) -> None:
    """Mark every collective of ``graph``, in the order of the parts."""
    arrivals: dict[tuple[int, int], list[Part]] = {}
    for part in graph.parts:
        if part.kind in (BRIDGE_DST, TAKE):
            arrivals.setdefault((part.node, part.output), []).append(part)
    several = {key: parts for key, parts in arrivals.items() if len(parts) > 1}
    if not several:
        return
    readers = _bridge_readers(graph)
    gives = _find_gives(graph)
    for parts in several.values():
        if parts[0].kind == TAKE:
            graph.collectives.append(_mark_complete_sum(graph, gives[parts[0].node], parts, readers))
            continue
        for group in _group_connected(parts):
            found = _recognise_collective(graph, group, readers)
            if found is not None:
                graph.collectives.append(found)


def _bridge_readers(graph: Graph) -> Readers:
    """The parts that read the receiving half of each bridge, by its index."""
    readers: Readers = {}
    for part in graph.parts:
        for feed in part.feeds:
            if feed.part.kind in (BRIDGE_DST, TAKE):
                readers.setdefault(feed.part.index, []).append(part)
    return readers


def _find_gives(graph: Graph) -> dict[int, list[Part]]:
    """The Gives of each complete sum, by its node."""
    found: dict[int, list[Part]] = {}
    for part in graph.parts:
        if part.kind == GIVE:
            found.setdefault(part.node, []).append(part)
    return found


def _mark_complete_sum(graph: Graph, gives: list[Part], takes: list[Part], readers: Readers) -> Collective:
    """The all-reduce of a complete sum, marked on its parts."""
    members = tuple(sorted(part.worker for part in gives))
    sums = [reader for take in takes for reader in readers[take.index]]
    return _mark_collective(graph, gives, takes, sums, takes[0].live, ALL_REDUCE, members, (), takes[0].region)


def _group_connected(parts: list[Part]) -> list[list[Part]]:
    """Group the bridges of one tensor so that no worker occurs in two groups."""
    # Union-find over workers: a tensor can cross in several independent groups, such as the rows of a grid, each of
    # which may be a collective of its own.
    leader: dict[int, int] = {}

    def find(worker: int) -> int:
        while leader.setdefault(worker, worker) != worker:
            worker = leader[worker]
        return worker

    left = len({worker for part in parts for worker in (_sending_half(part).worker, part.worker)}) - 1
    for part in parts:
        source, target = find(_sending_half(part).worker), find(part.worker)
        leader[source] = target
        left -= source != target
        # Where all exchange with all, the bridges of the first worker connect everyone.
        if not left:
            return [parts]
    groups: dict[int, list[Part]] = {}
    for part in parts:
        groups.setdefault(find(part.worker), []).append(part)
    return list(groups.values())


def _sending_half(arrival: Part) -> Part:
    """The sending half of a bridge, given its receiving half."""
    return arrival.feeds[0].part


def _recognise_collective(graph: Graph, arrivals: list[Part], readers: Readers) -> Collective | None:
    """The collective that the bridges of one tensor among some workers form, marked on its parts; None if they form
    none."""
    senders = [_sending_half(a) for a in arrivals]
    pairs = {(s.worker, a.worker): a for s, a in zip(senders, arrivals, strict=True)}
    outlets = {s.worker: s.feeds[0].part for s in senders}
    one_way = {a.feeds[0].gradient for a in arrivals}
    alike = len(pairs) == len(arrivals) > 1 and len(one_way) == 1 and all(map(_is_plain_bridge, arrivals))
    alike = alike and (
        # An exchange runs backward for all its members or not at all, so gradients must return over all bridges or
        # none.
        one_way == {False} or all(map(_returns_all_gradients, _distinct_readers(arrivals, readers)))
    )
    spec = graph.net.nodes[arrivals[0].node].layer.outputs[arrivals[0].output]
    if not alike or spec.dtype == RECORD or any(s.feeds[0].part is not outlets[s.worker] for s in senders):
        return None
    addends = len(graph.placements[arrivals[0].node].terms) > 1
    regions = {worker: graph.held_region(outlet, arrivals[0].output) for worker, outlet in sorted(outlets.items())}
    shape = match_sum_pattern(pairs, regions, readers) if addends else match_copy_pattern(pairs, regions, readers)
    if shape is None:
        return None
    sums = [r for a in arrivals for r in readers.get(a.index, []) if r.kind == SUM] if shape[0] in SUMMING else []
    return _mark_collective(graph, senders, arrivals, sums, arrivals[0].feeds[0].gradient, *shape)


def _distinct_readers(arrivals: list[Part], readers: Readers) -> Iterable[Part]:
    """The parts that read some bridges, each once: one that joins n of them is looked at once."""
    return {id(r): r for a in arrivals for r in readers.get(a.index, [])}.values()


def _returns_all_gradients(reader: Part) -> bool:
    """True unless ``reader`` is a Concate that returns the gradients of some of its boxes but not of all."""
    return reader.kind != CONCATE or len({feed.gradient for feed in reader.feeds}) == 1


def _is_plain_bridge(arrival: Part) -> bool:
    """True for a bridge that delivers its region unchanged: the region that its sending half reads."""
    sender = _sending_half(arrival)
    return len(sender.feeds) == 1 and arrival.region == sender.region == sender.feeds[0].region


def _mark_collective(
    graph: Graph, sent: list[Part], arrivals: list[Part], sums: list[Part], back: bool, *pattern: *Pattern
) -> Collective:
    """Make the Collective and set it on its parts: the bridges, and the Sums whose addends all come from it. ``back``:
    the gradient returns."""
    kind, members, blocks, region = pattern
    first = min(p.index for p in sent)
    last = max(a.index for a in arrivals)
    # A Sum of a reduction is executed by the exchange itself, so the collective lasts until its last Sum.
    last = max([last, *(s.index for s in sums)])
    layer = graph.net.nodes[sent[0].node].layer
    name = layer.name + (f".{layer.output_names[sent[0].output]}" if sent[0].output else "")
    dtype = graph.net.element(sent[0].node, sent[0].output)
    count = _collective_elements(kind, len(members), region, arrivals)
    found = Collective(kind, name, dtype, members, blocks, region, back, first, last, count)
    for part in (*sent, *arrivals, *sums):
        part.collective = found
    return found


def _collective_elements(kind: str, members: int, region: Region, arrivals: list[Part]) -> int:
    """Elements that all members send together, forward. Backward, if any, sends the same number."""
    if kind in (ALL_TO_ALL, REDUCE_SCATTER):
        return sum(size(a.region) for a in arrivals)
    return (members - 1) * size(region) * (2 if kind == ALL_REDUCE else 1)
