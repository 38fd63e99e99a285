"""Mistakes made on purpose in partitioned graphs, one at a time, each where it must change a number.

No mutation can be without effect, for reasons that need no run. In the jobs (``generic.py``) every element counts, each
in its own way: no ReLU, maximum or dropout, no mean or LRN, strides of 1. Inputs and weights are drawn from continuous
distributions: no two elements are equal, no addend and no gradient is 0. A place is taken only if the edit is not the
identity and what it moves is a float tensor. Which layer an edit spoils first is read off the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from random import Random

from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, CONCATE, LAYER, SLICE, SUM, Graph, Part, PartInput
from netpart.graph.partition import Partition
from netpart.graph.passes.mark_collectives import mark_collectives
from netpart.spec import FLOAT, Region, contains, extent, size
from netpart.verify.report import ACTIVATION, GRADIENT, PARAMETER_GRADIENT

Edit = Callable[[], None]


@dataclass(frozen=True)
class Mutant:
    """A mistake that can be made: ``edit`` makes it, and ``layer`` is the first whose tensor of ``kind`` is wrong."""

    what: str
    layer: str
    kind: str
    edit: Edit


def mutate(graph: Graph, mutant: Mutant) -> None:
    """Makes the mistake and forgets what was derived from the parts before: it is derived anew when it is asked for.

    Collectives are recognised anew: bridges that no longer form one are carried out one by one, as they are.
    """
    mutant.edit()
    graph.collectives.clear()
    for part in graph.parts:
        part.collective = None
    mark_collectives(graph)
    for name, value in vars(type(graph)).items():
        if isinstance(value, cached_property):
            graph.__dict__.pop(name, None)


def shifted_slices(cut: Partition, random: Random) -> Iterator[Mutant]:
    """A layer that reads a Slice, or a bridge that sends a box of it, takes the box one index beside its own."""
    for part in cut.graph.parts:
        for feed in part.feeds if part.kind in (LAYER, BRIDGE_SRC) else ():
            if feed.part.kind == SLICE and is_float(cut.graph, feed.part):
                sender = part if part.kind == BRIDGE_SRC else None
                for box in neighbours(feed.region, feed.part.region):
                    what = f"{part.name} takes {box}"
                    yield Mutant(what, spoiled(cut.graph, part), ACTIVATION, takes(feed, box, sender))


def dropped_sums(cut: Partition, random: Random) -> Iterator[Mutant]:
    """Only the first term of a Sum is left."""
    for part in cut.graph.parts:
        if part.kind == SUM:
            kept = terms_of(part)[0]
            yield Mutant(f"{part.name} adds nothing", spoiled(cut.graph, part), ACTIVATION, becomes(part, kept))


def scaled_gradients(cut: Partition, random: Random) -> Iterator[Mutant]:
    """What a bridge brings back is handed to its source two or three times: its sending half reads twice or more."""
    for part in cut.graph.parts:
        if part.kind == BRIDGE_SRC and part.feeds[0].gradient:
            factor = random.choice([2, 3])
            feeds = [copy_of(part.feeds[0]) for _ in range(factor)]
            layer = above(cut.graph, part.feeds[0].part)
            yield Mutant(f"{part.name} returns {factor} times", layer, GRADIENT, becomes(part, feeds))


def swapped_concates(cut: Partition, random: Random) -> Iterator[Mutant]:
    """Two boxes of one size that arrive over bridges take each other's place."""
    read = [feed.part for part in cut.graph.parts for feed in part.feeds]
    for part in cut.graph.parts:
        alone = [f for f in part.feeds if f.part.kind == BRIDGE_DST and read.count(f.part) == 1]
        for a, b in combinations(alone if part.kind == CONCATE and is_float(cut.graph, part) else [], 2):
            if extent(a.region) == extent(b.region) and (a.region, b.region) == (a.part.region, b.part.region):
                what = f"{part.name} swaps {a.region} and {b.region}"
                yield Mutant(what, spoiled(cut.graph, part), ACTIVATION, swaps(a, b))


def doubled_replicas(cut: Partition, random: Random) -> Iterator[Mutant]:
    """An addend is summed twice: in a Sum, or in a parameter's gradient by a replica that should keep silent."""
    for part in cut.graph.parts:
        node = cut.graph.net.nodes[part.node]
        if part.kind == SUM:
            twice = [*part.feeds, copy_of(random.choice(terms_of(part)[-1]))]
            yield Mutant(f"{part.name} adds twice", spoiled(cut.graph, part), ACTIVATION, becomes(part, twice))
        elif part.kind == LAYER and part.live and node.params and not any(part.trains):
            speaker = next(p for p in cut.graph.parts if is_replica(p, part) and any(p.trains))
            yield Mutant(f"{part.name} adds too", node.name, PARAMETER_GRADIENT, trains(part, speaker.trains))


MUTATIONS: dict[str, Callable[[Partition, Random], Iterator[Mutant]]] = {
    "shifts a slice": shifted_slices,
    "drops a sum": dropped_sums,
    "scales a bridge's gradient": scaled_gradients,
    "swaps the order of a concate": swapped_concates,
    "sums a replica twice": doubled_replicas,
}


def takes(feed: PartInput, box: Region, sender: Part | None = None) -> Edit:
    """``feed`` reads ``box``; so says the sending half of a bridge."""

    def edit() -> None:
        feed.region = box
        if sender is not None:
            sender.region = box

    return edit


def becomes(part: Part, feeds: list[PartInput]) -> Edit:
    """``part`` is fed by ``feeds``."""

    def edit() -> None:
        part.feeds = feeds

    return edit


def swaps(a: PartInput, b: PartInput) -> Edit:
    """What arrives for one feed goes to the other."""

    def edit() -> None:
        a.part.region, b.part.region = b.region, a.region
        a.part, b.part = b.part, a.part

    return edit


def trains(part: Part, slots: tuple[bool, ...]) -> Edit:
    """``part`` adds to the gradients of these parameters."""

    def edit() -> None:
        part.trains = slots

    return edit


def copy_of(feed: PartInput) -> PartInput:
    """The same feed once more."""
    return PartInput(feed.part, feed.region, feed.k, feed.output, feed.gradient)


def neighbours(box: Region, outer: Region) -> list[Region]:
    """The boxes of the same extent, one index beside ``box``, that lie in ``outer``."""
    moved = [(*box[:a], (lo + d, hi + d), *box[a + 1 :]) for a, (lo, hi) in enumerate(box) for d in (-1, 1) if lo < hi]
    return [m for m in moved if contains(outer, m)]


def terms_of(part: Part) -> list[list[PartInput]]:
    """The feeds of a Sum, term by term: each term fills its region once."""
    terms: list[list[PartInput]] = [[]]
    for feed in part.feeds:
        if sum(size(f.region) for f in terms[-1]) == size(part.region):
            terms.append([])
        terms[-1].append(feed)
    return terms


def is_float(graph: Graph, part: Part) -> bool:
    """True if the tensor that ``part`` holds has distinct numbers: labels repeat."""
    return graph.net.nodes[part.node].layer.outputs[part.output].dtype == FLOAT


def is_replica(a: Part, b: Part) -> bool:
    """True if both are the same part of a layer, on different workers."""
    return a is not b and (a.kind, a.node, a.region, a.term) == (LAYER, b.node, b.region, b.term)


def is_helper(graph: Graph, part: Part) -> bool:
    """True for what the uncut net does not have: helpers, and the layers that a pass inserts."""
    return part.kind != LAYER or graph.net.nodes[part.node].inserted


def spoiled(graph: Graph, part: Part) -> str:
    """The first layer, in the order of the net, whose output ``part`` enters through helpers alone, or is."""
    reached, layers = {part.index}, list[int]()
    for later in graph.parts[part.index :]:
        if later is part or any(feed.part.index in reached for feed in later.feeds):
            if is_helper(graph, later):
                reached.add(later.index)
            else:
                layers.append(later.node)
    return graph.net.nodes[min(layers)].name


def above(graph: Graph, part: Part) -> str:
    """The layer whose output ``part`` passes on."""
    while is_helper(graph, part):
        part = part.feeds[0].part
    return graph.net.nodes[part.node].name
