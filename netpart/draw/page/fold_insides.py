"""Insides of the boxes of a FoldTree: the arrows between the boxes in a box, and its ports.

A port stands for what is outside: above the boxes for each layer (or part) that is read, below them for what is read
elsewhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from netpart.draw.page.fold_tree import LAYER, PART, FoldBox, FoldTree, arrows_between
from netpart.draw.picture import Arrow, PartBox
from netpart.draw.quotient import Traffic


@dataclass
class InsideArrow:
    """An arrow between two ends, by number: children, then ports above, then ports below."""

    gradient: bool
    crosses: bool
    moved: list[Arrow] = field(default_factory=list)


@dataclass
class Inside:
    """The inside of ``box``. ``above`` has what is read from outside, and ``below`` the children that are read there,
    each with one reader's name."""

    box: FoldBox
    numbers: dict[str, int]
    above: dict[str, int] = field(default_factory=dict)
    below: dict[int, list[str]] = field(default_factory=dict)
    arrows: dict[tuple[tuple[str, int], tuple[str, int]], InsideArrow] = field(default_factory=dict)

    def add(self, source: str | None, target: str | None, ends: tuple[str, str], found: InsideArrow) -> None:
        """Add an arrow between the children named ``source`` and ``target``; None is outside. ``ends`` are the names
        of what it comes from and leads to."""
        first, second = ("", 0), ("", 0)
        if source is None:
            first = ("above", self.above.setdefault(ends[0], len(self.above)))
        else:
            first = ("", self.numbers[source])
        if target is None:
            self.below.setdefault(first[1], []).append(ends[1])
            second = ("below", list(self.below).index(first[1]))
        else:
            second = ("", self.numbers[target])
        known = self.arrows.setdefault((first, second), InsideArrow(False, False))
        known.gradient |= found.gradient
        known.crosses |= found.crosses
        known.moved += found.moved if source is not None and target is not None else []

    def numbered(self) -> Iterator[tuple[int, int, InsideArrow]]:
        """The arrows by the numbers of their ends."""
        first = {"": 0, "above": len(self.numbers), "below": len(self.numbers) + len(self.above)}
        for (source, target), arrow in self.arrows.items():
            yield first[source[0]] + source[1], first[target[0]] + target[1], arrow

    @property
    def ports(self) -> list[str]:
        """The texts of the ports: what is read from outside, and who reads outside."""
        readers = (list(dict.fromkeys(names)) for names in self.below.values())
        below = (f"→ {names[0]}" + f" +{len(names) - 1}" * (len(names) > 1) for names in readers)
        return [*self.above, *below]


def find_insides(tree: FoldTree) -> dict[FoldBox, Inside]:
    """The inside of every box of ``tree`` that has boxes."""
    found = {
        box: Inside(box, {_child_key(child): number for number, child in enumerate(box.children)})
        for box in tree.root.walk()
        if box.children
    }
    for source, target, arrow in arrows_between(tree):
        crosses = bool(arrow.traffic.arrows)
        moved = InsideArrow(arrow.gradient, crosses, list(arrow.traffic.arrows))
        _add_everywhere(found, tree.layers[source], tree.layers[target], moved)
    for each in tree.shown.arrows:
        moved = InsideArrow(each.gradient, each.crosses, [each] if each.crosses else [])
        ends = tree.parts[each.source], tree.parts[each.target]
        for layer in dict.fromkeys(end.parent for end in ends):
            assert layer is not None
            inner = [end.name if end.parent is layer else None for end in ends]
            found[layer].add(inner[0], inner[1], (each.source, each.target), moved)
    return found


def _child_key(child: FoldBox) -> str:
    """A name of a child that is its own: a block may have the name of a layer."""
    return child.name if child.kind in (LAYER, PART) else f"{child.name}\0{id(child)}"


def _add_everywhere(found: dict[FoldBox, Inside], source: FoldBox, target: FoldBox, moved: InsideArrow) -> None:
    """Add an arrow between two layers to every box around one of them."""
    first, second = _children_around(source), _children_around(target)
    for box in {**first, **second}:
        a, b = first.get(box), second.get(box)
        if a is not b:
            found[box].add(_key_or_none(a), _key_or_none(b), (source.name, target.name), moved)


def _key_or_none(child: FoldBox | None) -> str | None:
    return None if child is None else _child_key(child)


def _children_around(box: FoldBox) -> dict[FoldBox, FoldBox]:
    """The boxes around ``box``, each with its child in which ``box`` is."""
    found = {}
    while box.parent is not None:
        found[box.parent] = box
        box = box.parent
    return found


def fold_signatures(tree: FoldTree, insides: dict[FoldBox, Inside]) -> dict[FoldBox, Hashable]:
    """A value for each box that is equal for boxes which look alike, but for names."""
    sums = dict(zip((group.name for group in tree.flow.groups), tree.flow.sums, strict=True))
    found: dict[FoldBox, Hashable] = {}
    numbers: dict[Hashable, int] = {}
    for box in reversed(list(tree.root.walk())):
        # By number: the signature of a block would otherwise contain those of all its parts.
        value = _own_signature(tree, box, insides, found, sums)
        found[box] = numbers.setdefault(value, len(numbers))
    return found


def _own_signature(
    tree: FoldTree, box: FoldBox, insides: dict[FoldBox, Inside], found: dict[FoldBox, Hashable], sums: dict[str, int]
) -> Hashable:
    if box.part is not None:
        part = box.part
        # The frame by its place among those of its layer: numbers of collectives differ.
        frame = part.frame >= 0 and part.frame - min(b.frame for b in _layer_parts(box) if b.frame >= 0)
        return PART, part.kind, part.type, part.extent, part.worker, frame
    inside = insides[box]
    arrows = tuple(
        (a, b, arrow.gradient, arrow.crosses, sum(each.forward for each in arrow.moved),
         sum(each.backward for each in arrow.moved), _movers(tree, arrow))
        for a, b, arrow in inside.numbered()
    )  # fmt: skip
    children = tuple(found[child] for child in box.children)
    kind = box.kind, len(box.children[0].children) if box.kind == "run" else 0
    return kind, sums.get(box.layer, 0), children, len(inside.above), len(inside.below), arrows, box.group.kind


def _layer_parts(box: FoldBox) -> list[PartBox]:
    assert box.parent is not None
    return [child.part for child in box.parent.children if child.part is not None]


def _movers(tree: FoldTree, arrow: InsideArrow) -> tuple[str, ...]:
    return arrow_traffic(tree, arrow).lines


def arrow_traffic(tree: FoldTree, arrow: InsideArrow) -> Traffic:
    """What an arrow moves between workers."""
    names = {frame.number: frame.name for frame in tree.shown.frames}
    return Traffic(tuple(arrow.moved), names)
