"""Quotient of a Picture: groups of boxes, each drawn as one box, and between them one arrow with all bytes.

    conv-00 → slice → bridge → concate → fc-00          conv ══ all-to-all ↓ 42 KiB ══▶ fc
    conv-01 → slice → bridge → concate → fc-01

Every layer's box is in one group. Helpers are in none: they become the arrow between the groups of the layers that they
connect. The bytes of each arrow between workers count at one place: inside of a group, or at an arrow between two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from netpart.draw.picture import Arrow, PartBox, Picture, ways_text
from netpart.units import plural_text, ranges_text


@dataclass(frozen=True)
class Traffic:
    """Arrows between workers that are drawn as one, with the names of the collectives to which they belong."""

    arrows: tuple[Arrow, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def forward(self) -> int:
        """Bytes of values in a step."""
        return sum(arrow.forward for arrow in self.arrows)

    @cached_property
    def backward(self) -> int:
        """Bytes of gradients in a step."""
        return sum(arrow.backward for arrow in self.arrows)

    @property
    def lines(self) -> tuple[str, ...]:
        """What moves the bytes, and the bytes of each direction; nothing without arrows."""
        return (self._movers, *ways_text(self.forward, self.backward).split("  ")) if self.arrows else ()

    @property
    def _movers(self) -> str:
        """The collectives by kind, and the number of bridges that are in none: ``"2 all-gathers, 3 bridges"``."""
        frames = dict.fromkeys(arrow.frame for arrow in self.arrows)
        kinds = Counter(self.names[frame].split(" ")[0] for frame in frames if frame >= 0)
        kinds["bridge"] += sum(arrow.frame < 0 for arrow in self.arrows)
        return ", ".join(kind if n == 1 else plural_text(n, kind) for kind, n in kinds.items() if n)


@dataclass(frozen=True)
class BoxGroup:
    """Boxes of layers that are drawn as one, with the title ``name``.

    ``instances`` are the names of the instances of a block that they are, in order; () if they are not of a block.
    """

    name: str
    boxes: tuple[PartBox, ...]
    instances: tuple[str, ...] = ()

    @property
    def workers(self) -> tuple[int, ...]:
        """The workers that compute it, in ascending order."""
        return tuple(sorted({box.worker for box in self.boxes}))

    @property
    def layers(self) -> dict[str, str]:
        """The type of each of its layers, by name, in order."""
        return {box.layer: box.type for box in self.boxes}

    @property
    def kind(self) -> str:
        """The type of its only layer, or the number of its layers: ``"20 layers each"`` of several instances."""
        if len(self.layers) == 1:
            return self.boxes[0].type
        return f"{plural_text(len(self.layers) // self.times, 'layer')}{' each' * (self.times > 1)}"

    @property
    def types(self) -> str:
        """The types of several layers, with their numbers in one instance; "" for one layer."""
        counts = {kind: n // self.times for kind, n in Counter(self.layers.values()).items()}
        return ", ".join(f"{n}×{kind}" if n > 1 else kind for kind, n in counts.items()) * (len(self.layers) > 1)

    @property
    def times(self) -> int:
        """The number of instances, 1 for none."""
        return max(1, len(self.instances))

    @property
    def extent(self) -> str:
        """The shapes of the parts of its last layer: ``"4 × 8×27×27"``."""
        last = Counter(box.extent for box in self.boxes if box.layer == self.boxes[-1].layer)
        return ", ".join(shape if n == 1 else f"{n} × {shape}" for shape, n in last.items())


@dataclass(frozen=True)
class GroupArrow:
    """The arrow from group number ``source`` to group number ``target``; ``gradient``: backward returns one along it."""

    source: int
    target: int
    gradient: bool
    traffic: Traffic


@dataclass(frozen=True)
class Quotient:
    """A Picture in groups. ``inside`` and ``sums`` have one entry per group: what its parts send to each other, and
    the bytes of the all-reduces of its gradients."""

    picture: Picture
    groups: tuple[BoxGroup, ...]
    arrows: tuple[GroupArrow, ...]
    inside: tuple[Traffic, ...]
    sums: tuple[int, ...]

    @cached_property
    def fields(self) -> dict[tuple[int, ...], list[int]]:
        """The numbers of the groups that each set of workers computes together."""
        found: dict[tuple[int, ...], list[int]] = {}
        for number, group in enumerate(self.groups):
            found.setdefault(group.workers, []).append(number)
        return dict(sorted(found.items()))

    def __repr__(self) -> str:
        return f"Quotient({self.picture.name}, {plural_text(len(self.groups), 'group')})"


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
    of_layer: dict[str, list[PartBox]] = {}
    for box in shown.boxes:
        if not box.is_helper:
            of_layer.setdefault(box.layer, []).append(box)
    for each in shown.reductions:
        if each.boxes:
            yield each.boxes, each.nbytes
        for cell, nbytes in zip(each.parameters, each.cell_bytes, strict=True):
            owners = of_layer[cell.split("[")[0].rpartition("/")[0]]
            # A parameter may also be of a layer on another worker, which shares it.
            members = [box.name for box in owners if box.worker in each.members]
            yield members or [box.name for box in owners], nbytes


def traffic_lines(folded: Quotient, number: int) -> list[str]:
    """Lines about what the workers of a group send each other: inside of it, and to sum gradients."""
    inside, sums = folded.inside[number].lines, folded.sums[number]
    texts = f"inside: {' '.join(inside)}" * bool(inside), f"Σ gradients {ways_text(0, sums)}" * bool(sums)
    return list(filter(None, texts))


def workers_text(workers: Sequence[int]) -> str:
    """A set of workers as text: ``"worker 3"``, ``"workers 0 to 3"``."""
    return f"worker{'s' * (len(workers) > 1)} {ranges_text(workers)}"
