"""Message patterns: the collectives among the messages of one output, as the pass ``mark_collectives`` finds them.

That pass looks at the parts of a graph. Here there is no graph, only what each worker holds and which messages it gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netpart.box_index import are_boxes_disjoint
from netpart.collectives.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE, REDUCE_SCATTER
from netpart.spec import Region, hull, size

HeldRegions = Sequence[Region | None]
"""By worker, the region of the output that it holds."""


class SizedMessage(NamedTuple):
    """``elements`` from one worker to another; ``returned``: their gradient comes back. ``own``: what the target takes
    from itself; ``need``: the first worker that needs the same as the target; ``alike``: all readers there need the
    same; ``uniform``: each of them returns the gradients of all that it joins, or of nothing."""

    source: int
    target: int
    elements: int
    returned: bool
    own: int
    need: int
    alike: bool
    uniform: bool


@dataclass(frozen=True)
class SizedCollective:
    """A collective: its kind, its members, the elements of its blocks if these are given by the cut, and its region."""

    kind: str
    members: tuple[int, ...]
    blocks: tuple[int, ...]
    region: Region
    returned: bool


def split_collectives(
    messages: Sequence[SizedMessage], held: HeldRegions, addends: bool
) -> tuple[list[SizedMessage], list[SizedCollective]]:
    """The messages that form no collective, in their order, and the collectives. ``addends``: the readers add up what
    they get."""
    single: list[SizedMessage] = []
    found: list[SizedCollective] = []
    for group in _group_messages(messages, len(held)):
        match = _match_group(group, held, addends)
        single += [] if match else group
        found += [match] if match else []
    # In the order in which they arrive, whatever group they are of.
    return sorted(single, key=messages.index) if found else list(messages), found


def _group_messages(messages: Sequence[SizedMessage], workers: int) -> Iterator[list[SizedMessage]]:
    """The messages of each set of workers that they connect."""
    label = list(range(workers))
    for m in messages:
        one, other = label[m.source], label[m.target]
        if one != other:
            label = [other if each == one else each for each in label]
    groups: dict[int, list[SizedMessage]] = {}
    for m in messages:
        groups.setdefault(label[m.target], []).append(m)
    yield from groups.values()


def _match_group(group: list[SizedMessage], held: HeldRegions, addends: bool) -> SizedCollective | None:
    """The collective that connected messages form; None if they form none."""
    pairs = {(m.source, m.target): m.elements for m in group}
    if len(pairs) != len(group) or len(group) < 2 or len({m.returned for m in group}) > 1:
        return None
    sources, targets = ({pair[i] for pair in pairs} for i in range(2))
    if group[0].returned and not all(m.uniform for m in group):
        return None
    if set(pairs) != {(s, t) for s in sources for t in targets if s != t}:
        return None
    return _match_sums(group, sources, held) if addends else _match_copies(group, sources, pairs, held)


def _match_copies(
    group: list[SizedMessage], sources: set[int], pairs: dict[tuple[int, int], int], held: HeldRegions
) -> SizedCollective | None:
    """A broadcast, an all-gather or an all-to-all."""
    targets = sorted({m.target for m in group})
    regions = {s: box for s in sorted(sources) if (box := held[s]) is not None}
    everything = all(m.elements == size(regions[m.source]) for m in group)
    whole, returned = hull(list(regions.values())), group[0].returned
    if len(sources) == 1 and everything:
        return SizedCollective(BROADCAST, (*sources, *targets), (), whole, returned)
    if not sources <= set(targets) or not _fill_hull(list(regions.values())):
        return None
    sizes = {s: size(box) for s, box in regions.items()}
    if everything:
        blocks = tuple(sizes.get(t, 0) for t in targets)
        return SizedCollective(ALL_GATHER, tuple(targets), blocks, whole, returned)
    own = {m.target: m.own for m in group}
    apart = len({m.need for m in group}) == len(targets) == len(sources) and all(m.alike for m in group)
    if not apart or sum(own.values()) + sum(pairs.values()) != size(whole):
        return None
    blocks = tuple(own[s] if s == t else pairs[s, t] for s in targets for t in targets)
    return SizedCollective(ALL_TO_ALL, tuple(targets), blocks, whole, returned)


def _fill_hull(boxes: list[Region]) -> bool:
    """True if the boxes are disjoint and fill their hull."""
    return sum(map(size, boxes)) == size(hull(boxes)) and are_boxes_disjoint(boxes)


def _match_sums(group: list[SizedMessage], sources: set[int], held: HeldRegions) -> SizedCollective | None:
    """An all-reduce, a reduce or a reduce-scatter of addends."""
    regions = {held[s] for s in sources}
    whole = held[group[0].source]
    if whole is None or len(regions) > 1 or not all(m.alike for m in group):
        return None
    members, returned = tuple(sorted(sources)), group[0].returned
    wanted = {m.target: m.elements for m in group}
    if len(wanted) == 1:
        (root,) = wanted
        region = whole if wanted[root] == size(whole) else ((0, wanted[root]),)
        return SizedCollective(REDUCE, (root, *members), (), region, returned)
    if not set(wanted) <= sources:
        return None
    if len(wanted) == len(sources) and all(elements == size(whole) for elements in wanted.values()):
        return SizedCollective(ALL_REDUCE, members, (), whole, returned)
    if len({m.need for m in group}) < len(wanted) or sum(wanted.values()) > size(whole):
        return None
    return SizedCollective(REDUCE_SCATTER, members, tuple(wanted.get(s, 0) for s in members), whole, returned)
