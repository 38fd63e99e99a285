"""Quotient of a Picture: groups of boxes, each drawn as one box, and between them one arrow with all bytes.

    conv-00 → slice → bridge → concate → fc-00          conv ══ all-to-all ↓ 42 KiB ══▶ fc
    conv-01 → slice → bridge → concate → fc-01

Every layer's box is in one group. Helpers are in none: they become the arrow between the groups of the layers that they
connect. The bytes of each arrow between workers count at one place: inside of a group, or at an arrow between two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
    """The arrow from group ``source`` to group ``target``, by number; ``gradient``: backward returns one along it."""

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


def traffic_lines(folded: Quotient, number: int) -> list[str]:
    """Lines about what the workers of a group send each other: inside of it, and to sum gradients."""
    inside, sums = folded.inside[number].lines, folded.sums[number]
    texts = f"inside: {' '.join(inside)}" * bool(inside), f"Σ gradients {ways_text(0, sums)}" * bool(sums)
    return list(filter(None, texts))


def group_workers_text(workers: Sequence[int]) -> str:
    """A set of workers as text: ``"worker 3"``, ``"workers 0 to 3"``."""
    return f"worker{'s' * (len(workers) > 1)} {ranges_text(workers)}"
