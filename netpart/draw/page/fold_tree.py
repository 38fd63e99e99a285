"""Tree of a net's boxes for the page: blocks hold instances, instances hold layers, layers hold parts.

    net ─┬─ tokens ── tokens-00, tokens-01, split, bridges …
         ├─ 12 × b1 … b12 ─┬─ b1 ─┬─ b1-norm1 ── …
         │                 │      └─ b1-fc1 ── …
         │                 └─ b2 ── …
         └─ loss ── …

A box's inside is drawn when a reader unfolds it. The parts of a layer are its shards, and the helpers that carry its
output to its readers. Neighbours that are alike stand in a box of their own, ``"12 × b1 … b12"``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from netpart.draw.equal_chains import layer_flow
from netpart.draw.layer_groups import Nesting, find_nesting
from netpart.draw.picture import PartBox, Picture
from netpart.draw.quotient import BoxGroup, GroupArrow

NET, RUN, BLOCK, LAYER, PART = "net", "run", "block", "layer", "part"
"""What a box of the tree is."""
FEW = 3
"""So many neighbours that are alike stand in a box of their own."""


@dataclass(eq=False)
class FoldBox:
    """A box of the tree. ``part`` is that of a leaf; ``layer`` is the name of a layer, and of its parts."""

    kind: str
    name: str
    children: list[FoldBox] = field(default_factory=list)
    layer: str = ""
    part: PartBox | None = None
    parent: FoldBox | None = None

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """The names of the layers in it."""
        return (self.layer,) if self.layer else tuple(name for child in self.children for name in child.layers)

    @cached_property
    def shards(self) -> tuple[PartBox, ...]:
        """The parts of its layers, without helpers."""
        if self.part is not None:
            return () if self.part.is_helper else (self.part,)
        return tuple(shard for child in self.children for shard in child.shards)

    @property
    def instances(self) -> tuple[str, ...]:
        """The names of the instances of a run."""
        return tuple(child.name for child in self.children) if self.kind == RUN else ()

    @property
    def group(self) -> BoxGroup:
        """Its layers as a group of a folded drawing."""
        return BoxGroup(self.name, self.shards, self.instances)

    def walk(self) -> Iterator[FoldBox]:
        """The box and all boxes inside it, outer ones first."""
        yield self
        for child in self.children:
            yield from child.walk()


class FoldTree:
    """The tree of ``shown``, and what moves between its layers (``flow``, a group per layer)."""

    def __init__(self, shown: Picture, nesting: Nesting | None) -> None:
        self.shown = shown
        self.flow = layer_flow(shown)
        self.root = FoldBox(NET, shown.name)
        names = [group.name for group in self.flow.groups]
        nesting = nesting or find_nesting(self.flow)
        self._by_path: dict[tuple[str, ...], FoldBox] = {}
        self.layers = {name: self._place_layer(name, nesting.get(name, ())) for name in names}
        self.parts = {part.name: self._place_part(part) for part in shown.boxes}
        _merge_single_blocks(self.root)

    def _place_layer(self, name: str, path: Sequence[str]) -> FoldBox:
        """The box of a layer, inside the boxes of its blocks and instances."""
        at = self.root
        for depth in range(1, len(path) + 1):
            at = self._by_path.get(tuple(path[:depth])) or self._new_block(at, tuple(path[:depth]))
        return _add_child(at, FoldBox(LAYER, name, layer=name))

    def _new_block(self, at: FoldBox, path: tuple[str, ...]) -> FoldBox:
        self._by_path[path] = _add_child(at, FoldBox(BLOCK, path[-1]))
        return self._by_path[path]

    def _place_part(self, part: PartBox) -> FoldBox:
        """The box of a part, inside of its layer."""
        return _add_child(self.layers[part.layer], FoldBox(PART, part.name, layer=part.layer, part=part))


def _add_child(parent: FoldBox, child: FoldBox) -> FoldBox:
    """``child``, as the last one of ``parent``."""
    child.parent = parent
    parent.children.append(child)
    return child


def _merge_single_blocks(box: FoldBox) -> None:
    """Replace each block that has one instance by this instance."""
    for place, child in enumerate(box.children):
        while child.kind == BLOCK and len(child.children) == 1 and child.children[0].kind == BLOCK:
            child = child.children[0]
        child.parent = box
        box.children[place] = child
        _merge_single_blocks(child)


def join_alike(box: FoldBox, signatures: Mapping[FoldBox, object]) -> None:
    """Put neighbours that are blocks of equal ``signatures`` into a box of their own, inside of ``box``."""
    for child in box.children:
        join_alike(child, signatures)
    if box.kind in (LAYER, PART):
        return
    runs = [list(run) for _, run in groupby(box.children, lambda child: _run_key(child, signatures))]
    if len(runs) == 1 and len(runs[0]) >= FEW and box.kind == BLOCK:
        box.kind, box.name = RUN, _run_name(runs[0])
        return
    joined = [each for run in runs for each in (run if len(run) < FEW else [FoldBox(RUN, _run_name(run), run)])]
    box.children = []
    for child in joined:
        _add_child(box, child)
        for inner in child.children:
            inner.parent = child


def _run_key(child: FoldBox, signatures: Mapping[FoldBox, object]) -> object:
    return signatures[child] if child.kind == BLOCK else id(child)


def _run_name(run: Sequence[FoldBox]) -> str:
    return f"{len(run)} × {run[0].name} … {run[-1].name}"


def arrows_between(tree: FoldTree) -> Iterator[tuple[str, str, GroupArrow]]:
    """What a layer reads of another: the names of both, and the arrow between them."""
    groups = tree.flow.groups
    for arrow in tree.flow.arrows:
        yield groups[arrow.source].name, groups[arrow.target].name, arrow
