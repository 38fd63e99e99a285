"""Boxes joined to groups: which group reads which, what moves between them and inside, and the sums of gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from netpart.draw.picture import Arrow, Picture
from netpart.draw.quotient import BoxGroup, GroupArrow, Quotient, Traffic


def make_quotient(shown: Picture, groups: Sequence[BoxGroup]) -> Quotient:
    """Join the boxes of ``shown``. Each box of a layer must be in one of ``groups``, and helpers in none."""
    group_of = {box.name: number for number, group in enumerate(groups) for box in group.boxes}
    crossing = _group_traffic(shown, group_of)
    joined = _group_edges(shown, group_of)
    names = {frame.number: frame.name for frame in shown.frames}
    traffic = {pair: Traffic(tuple(arrows), names) for pair, arrows in crossing.items()}
    arrows = (GroupArrow(*pair, back, traffic.get(pair, Traffic())) for pair, back in joined.items())
    inside = (traffic.get((number, number), Traffic()) for number in range(len(groups)))
    sums = _group_sums(shown, groups, group_of)
    return Quotient(shown, tuple(groups), tuple(a for a in arrows if a.source != a.target), tuple(inside), sums)


def _group_edges(shown: Picture, group_of: Mapping[str, int]) -> dict[tuple[int, int], bool]:
    """The pairs of groups of which the second reads the first; True if a gradient comes back."""
    found: dict[tuple[int, int], bool] = {}
    above: dict[str, dict[int, None]] = {}
    for box in shown.boxes:
        feeds = shown.arrows_into[box.name]
        if box.is_helper:
            above[box.name] = {group: None for feed in feeds for group in above[feed.source]}
            continue
        number = group_of[box.name]
        above[box.name] = {number: None}
        for feed in feeds:
            for group in above[feed.source]:
                found[group, number] = found.get((group, number), False) or feed.gradient
    return found


def _group_traffic(shown: Picture, group_of: Mapping[str, int]) -> dict[tuple[int, int], list[Arrow]]:
    """The arrows between workers, by the groups of the first layers that they come from and lead to.

    A tensor that several layers read arrives once, so it counts at one of them.
    """
    source, target = dict(group_of), dict(group_of)
    for box in shown.boxes:
        if box.is_helper:
            source[box.name] = source[shown.arrows_into[box.name][0].source]
    for box in reversed(shown.boxes):
        for arrow in shown.arrows_into[box.name]:
            if arrow.source not in group_of:
                target[arrow.source] = target[box.name]
    found: dict[tuple[int, int], list[Arrow]] = {}
    for arrow in shown.arrows:
        if arrow.crosses:
            found.setdefault((source[arrow.source], target[arrow.target]), []).append(arrow)
    return found


def _group_sums(shown: Picture, groups: Sequence[BoxGroup], group_of: Mapping[str, int]) -> tuple[int, ...]:
    """The bytes of the all-reduces of gradients in each group: replicas in several groups have equal parts of them."""
    found = Counter[int]()
    for boxes, nbytes in _summed_boxes(shown):
        for place, box in enumerate(boxes):
            # Differences of rounded-down running sums: they add up to the total exactly.
            found[group_of[box]] += nbytes * (place + 1) // len(boxes) - nbytes * place // len(boxes)
    return tuple(found[number] for number in range(len(groups)))


def _summed_boxes(shown: Picture) -> Iterator[tuple[Sequence[str], int]]:
    """The boxes that take part in each all-reduce of a gradient, and its bytes."""
    for each in shown.reductions:
        if each.boxes:
            yield each.boxes, each.nbytes
        for cell, nbytes in zip(each.parameters, each.cell_bytes, strict=True):
            yield shown.summing_boxes(each, cell), nbytes
