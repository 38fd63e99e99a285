"""Groups of a folded drawing: the layers of each block's instance; equal instances that follow each other are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from netpart.draw.equal_chains import EqualChains, find_equal_chains, layer_flow
from netpart.draw.joined_boxes import make_quotient
from netpart.draw.picture import PartBox, Picture
from netpart.draw.quotient import BoxGroup, Quotient

Nesting = Mapping[str, tuple[str, ...]]
"""For each layer, the names of the blocks around it: of a layer kBlock, its instance, and so on inwards."""

PAGE = 40
"""Up to this many boxes are readable on one page."""


def single_groups(shown: Picture) -> list[BoxGroup]:
    """Each box of a layer by itself: only helpers disappear."""
    return [BoxGroup(box.name, (box,)) for box in shown.boxes if not box.is_helper]


def fold_blocks(shown: Picture, nesting: Nesting | None = None) -> Quotient:
    """Fold ``shown`` at the innermost blocks that give a page; at the outermost if none does.

    ``nesting`` has the blocks of the job's text; without it they are found. The parts of a layer on
    all workers are one box.
    """
    nesting = nesting or find_nesting(layer_flow(shown))
    deepest = max(map(len, nesting.values()), default=0)
    depth, found = deepest, _fold_depth(shown, nesting, deepest)
    while depth > 1 and not _fits_page(found):
        depth -= 1
        found = _fold_depth(shown, nesting, depth)
    return found


def _fits_page(folded: Quotient) -> bool:
    """True for few boxes with arrows that all lead down: what is inside of a block may surround an inner one."""
    return len(folded.groups) <= PAGE and all(arrow.source < arrow.target for arrow in folded.arrows)


def find_nesting(flow: Quotient) -> Nesting:
    """The blocks around the layers that are the groups of ``flow``: equal chains of layers, and blocks by names.

    A chain is left out if its layers are a block by their names, or if it has only a part of such a block.
    """
    names = [group.name for group in flow.groups]
    found = name_nesting(names)
    blocks: dict[tuple[str, ...], list[int]] = {}
    for number, name in enumerate(names):
        if name in found:
            blocks.setdefault(found[name], []).append(number)
    for row in find_equal_chains(flow):
        if all(_is_within_chain(row, inner) for inner in blocks.values()):
            for path, numbers in _chain_paths(row, names):
                found |= {names[n]: (*path, *found.get(names[n], ())) for n in numbers}
    return found


def _is_within_chain(row: EqualChains, block: Sequence[int]) -> bool:
    """True if the layers ``block`` are beside ``row``, or a portion of one of its chains."""
    chains = {(n - row.first) // row.length if row.first <= n < row.end else -1 for n in block}
    return chains == {-1} or (len(chains) == 1 and len(block) < row.length)


def _chain_paths(row: EqualChains, names: Sequence[str]) -> Iterator[tuple[tuple[str, str], range]]:
    """The two names around the layers of each chain: those of the row, and of the chain, which is its first layer's."""
    title = f"{row.times} × {names[row.first]} … {names[row.end - row.length]}"
    return (((title, names[chain[0]]), chain) for chain in row.chains())


def name_nesting(layers: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The blocks around ``layers`` by their names: prefixes up to a hyphen, where several have the same names inside.

    ``b1-fc`` and ``b1-relu`` are in the block ``b1`` if there is also a ``b2-fc`` and ``b2-relu``.
    """
    inside: dict[str, dict[str, None]] = {}
    for layer in layers:
        prefix, _, local = layer.partition("-")
        inside.setdefault(prefix, {})[local] = None
    repeated = Counter(tuple(found) for found in inside.values() if len(found) > 1)
    blocks = {prefix for prefix, found in inside.items() if repeated[tuple(found)] > 1}
    found = ((layer, layer.partition("-")[0]) for layer in layers)
    return {layer: (prefix, prefix) for layer, prefix in found if prefix in blocks}


def _fold_depth(shown: Picture, nesting: Nesting, depth: int) -> Quotient:
    """Fold the blocks that have up to ``depth`` names; equal ones that follow each other are one group."""
    single = make_quotient(shown, list(_block_groups(shown, nesting, depth)))
    return make_quotient(shown, list(_join_runs(single)))


def _block_groups(shown: Picture, nesting: Nesting, depth: int) -> Iterator[BoxGroup]:
    """The layers of each block of ``depth`` names as a group; any other layer is one of its own."""
    found: dict[tuple[str, ...], list[PartBox]] = {}
    for box in shown.boxes:
        if not box.is_helper:
            around = nesting.get(box.layer, ())[:depth]
            found.setdefault(around or ("", box.layer), []).append(box)
    for around, boxes in found.items():
        inner = (nesting.get(box.layer, ())[: depth + depth % 2] for box in boxes)
        instances = tuple(dict.fromkeys(names[-1] for names in inner if names))
        yield _name_group(around[-1], tuple(boxes), instances)


def _name_group(name: str, boxes: tuple[PartBox, ...], instances: tuple[str, ...]) -> BoxGroup:
    """A group with the names of its first and last instance, if it has several."""
    several = f"{len(instances)} × {instances[0]} … {instances[-1]}" if len(instances) > 1 else ""
    return BoxGroup(several or name, boxes, instances)


def _join_runs(folded: Quotient) -> Iterator[BoxGroup]:
    """The groups of ``folded``; neighbours that are alike are one group."""
    numbers = range(len(folded.groups))
    for _, run in groupby(numbers, lambda number: _group_signature(folded, number)):
        groups = [folded.groups[number] for number in run]
        boxes = tuple(box for group in groups for box in group.boxes)
        instances = tuple(name for group in groups for name in group.instances)
        yield _name_group(groups[0].name, boxes, instances)


def _group_signature(folded: Quotient, number: int) -> object:
    """What alike groups have in common: names inside, types, shapes, workers and bytes. A single layer is like none."""
    group = folded.groups[number]
    if not group.instances:
        return number
    read = [folded.groups[arrow.source].extent for arrow in folded.arrows if arrow.target == number]
    names = [box.layer for box in group.boxes]
    # The layers of an equal chain have any names: their place identifies them.
    named = all(name.startswith(group.name) for name in names)
    local = [name.removeprefix(group.name) for name in names] if named else range(len(names))
    looks = [(box.type, box.extent, box.worker, folded.picture.confs.get(box.layer)) for box in group.boxes]
    parts = list(zip(local, looks, strict=True))
    inside = folded.inside[number]
    return read, parts, inside.forward, inside.backward, folded.sums[number]
