"""Picture: what a drawing says, as plain values: boxes, arrows, one field per worker, a legend.

Writers turn a Picture into DOT, text or JSON and decide nothing about the net.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from netpart.draw.palette import Colour, colour
from netpart.graph.build import type_name
from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, CONCATE, LAYER, Collective, Feed, Graph, Part
from netpart.graph.net import Net
from netpart.graph.partition import partition_net
from netpart.layers.layer import Layer
from netpart.plan.ledger import replicas_summed
from netpart.spec import INT, RECORD, Shape, Spec, one, size
from netpart.units import bytes_text

HELPER_TYPES = {"slice": "Slice", "split": "Split", "concate": "Concate", "sum": "Sum"}
LABEL_BYTES = 4


@dataclass(frozen=True)
class Box:
    """A part: ``type`` says what it does, ``extent`` how much it holds (``"8×27×27"``), ``holds`` which elements.

    ``layer`` is the uncut layer whose output it computes or carries, ``frame`` the collective that it is a piece of.
    """

    name: str
    kind: str
    layer: str
    type: str
    shape: Shape
    extent: str
    holds: str
    worker: int
    frame: int = -1

    @property
    def is_helper(self) -> bool:
        return self.kind != LAYER

    @property
    def colour(self) -> Colour:
        return colour(self.worker)


@dataclass(frozen=True)
class Arrow:
    """One input of a box. ``forward`` and ``backward`` are the bytes that cross workers in one step, 0 within one;
    ``gradient``: backward returns the gradient along it."""

    source: str
    target: str
    crosses: bool
    gradient: bool
    forward: int = 0
    backward: int = 0
    framed: bool = False

    @property
    def label(self) -> str:
        """Bytes down with the values and up with their gradient; empty within a worker and within a collective."""
        return _bytes(self.forward, self.backward) if self.crosses and not self.framed else ""


@dataclass(frozen=True)
class Frame:
    """A collective, which frames its helpers on each worker. ``forward`` and ``backward`` are the bytes of a step."""

    number: int
    name: str
    members: tuple[int, ...]
    forward: int
    backward: int

    @property
    def label(self) -> str:
        """What it is, and what all its members send together."""
        return f"{self.name}  {_bytes(self.forward, self.backward)}"


@dataclass(frozen=True)
class Picture:
    """A partitioned net as it is drawn; ``boxes`` in topological order, inputs first.

    ``summed`` are the bytes of the all-reduces of gradients, of parameters and of replicas: they cross no bridge.
    """

    name: str
    phase: str
    workers: int
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    summed: int = 0
    frames: tuple[Frame, ...] = ()

    @property
    def title(self) -> str:
        """What is drawn, in one line."""
        return f"{self.name}, {self.phase}: {_count(len(self.boxes), 'part')} on {_count(self.workers, 'worker')}"

    @property
    def traffic(self) -> str:
        """What crosses workers in one step; empty if nothing does."""
        single = [a for a in self.arrows if a.crosses and not a.framed]
        ways: list[Arrow | Frame] = [*single, *self.frames]
        forward, backward = sum(w.forward for w in ways), sum(w.backward for w in ways)
        counts = [_count(len(of), noun) for of, noun in ((self.frames, "collective"), (single, "bridge")) if of]
        crossing = [f"{' and '.join(counts)}, {_bytes(forward, backward)} per step"] if ways else []
        sums = [f"Σ gradients {bytes_text(self.summed)} per step"] if self.summed else []
        return "; ".join(crossing + sums)

    @property
    def legend(self) -> tuple[str, ...]:
        """The kinds of line that occur beside the plain one: ``"bridge"``, ``"no gradient"``."""
        found = {"bridge": any(a.crosses for a in self.arrows), "no gradient": any(not a.gradient for a in self.arrows)}
        return tuple(kind for kind, occurs in found.items() if occurs)

    @cached_property
    def fields(self) -> dict[int, list[Box]]:
        """The boxes of each worker that has some, by worker."""
        found: dict[int, list[Box]] = {}
        for box in self.boxes:
            found.setdefault(box.worker, []).append(box)
        return dict(sorted(found.items()))

    @cached_property
    def rows(self) -> list[list[str]]:
        """The names of the shards of each layer that has several: they belong side by side."""
        found: dict[str, list[str]] = {}
        for box in self.boxes:
            if not box.is_helper:
                found.setdefault(box.layer, []).append(box.name)
        return [names for names in found.values() if len(names) > 1]

    @cached_property
    def by_name(self) -> dict[str, Box]:
        """The boxes by name."""
        return {box.name: box for box in self.boxes}

    @cached_property
    def into(self) -> dict[str, list[Arrow]]:
        """The arrows that end at each box, by its name, in order of its inputs."""
        found: dict[str, list[Arrow]] = {box.name: [] for box in self.boxes}
        for arrow in self.arrows:
            found[arrow.target].append(arrow)
        return found

    def __repr__(self) -> str:
        return f"Picture({self.title})"


def picture(drawn: Graph | Net, itemsize: int = 4) -> Picture:
    """The Picture of a partitioned net, or of an uncut one as on one worker.

    ``itemsize`` is the bytes of one activation: 4, or 8 with ``dtype: FLOAT64``; labels always have 4.
    """
    graph = uncut(drawn) if isinstance(drawn, Net) else drawn
    pieces = framed(graph)
    boxes = tuple(replace(box(graph, part), frame=pieces.get(part.index, -1)) for part in graph.parts)
    arrows = tuple(arrow(graph, part, feed, itemsize) for part in graph.parts for feed in part.feeds)
    frames = tuple(frame(number, found, itemsize) for number, found in enumerate(graph.collectives))
    return Picture(graph.net.name, graph.net.phase, graph.workers, boxes, arrows, summed(graph, itemsize), frames)


def framed(graph: Graph) -> dict[int, int]:
    """The number of the collective that each helper is a piece of, by its index; also of a Concate of what came."""
    numbers = {id(found): n for n, found in enumerate(graph.collectives)}
    pieces = {p.index: numbers[id(p.collective)] for p in graph.parts if p.collective is not None}
    for part in graph.parts:
        brought = {pieces.get(f.part.index) for f in part.feeds if f.part.kind == BRIDGE_DST}
        if part.kind == CONCATE and len(brought) == 1 and (number := brought.pop()) is not None:
            pieces[part.index] = number
    return pieces


def frame(number: int, found: Collective, itemsize: int) -> Frame:
    """The Frame of a collective."""
    item = LABEL_BYTES if found.dtype == INT else itemsize
    forward = found.elements * item
    return Frame(number, f"{found.kind} {found.name}", found.members, forward, forward * found.backward)


def summed(graph: Graph, itemsize: int) -> int:
    """Bytes that workers exchange to add up gradients: of parameters, and of the outputs of replicas."""
    return (graph.summed + replicas_summed(graph)) * itemsize


def uncut(net: Net) -> Graph:
    """``net`` as a Graph on one worker: the rewrite adds nothing to it."""
    return partition_net(net, [one(0, node.layer.output) for node in net.nodes], 1)


def box(graph: Graph, part: Part) -> Box:
    """The Box of one part."""
    layer = graph.net.nodes[part.node].layer
    spec, shape = layer.outputs[part.output], graph.shape(part)
    extent = f"{spec.rows} records" if spec.dtype == RECORD else "×".join(map(str, shape))
    return Box(
        part.name, part.kind, layer.name, _type(layer, part), shape, extent, _holds(layer, spec, part), part.worker
    )


def arrow(graph: Graph, part: Part, feed: Feed, itemsize: int) -> Arrow:
    """The Arrow of one feed of ``part``."""
    source = feed.part
    if source.worker == part.worker:
        return Arrow(source.name, part.name, False, feed.gradient)
    spec = graph.net.nodes[part.node].layer.outputs[part.output]
    forward = size(feed.region) * (LABEL_BYTES if spec.dtype == INT else itemsize)
    back = forward if feed.gradient else 0
    return Arrow(source.name, part.name, True, feed.gradient, forward, back, part.collective is not None)


def _type(layer: Layer, part: Part) -> str:
    if part.peer is not None and part.kind == BRIDGE_SRC:
        return f"to worker {part.peer.worker}"
    if part.peer is not None and part.kind == BRIDGE_DST:
        return f"from worker {part.peer.worker}"
    sums = ", Σ gradient" if part.live and part.members else ""
    return HELPER_TYPES.get(part.kind) or type_name(layer.conf).removeprefix("k") + sums


def _holds(layer: Layer, spec: Spec, part: Part) -> str:
    """``"conv1[0:2, 0:8]"``, and for an addend of a sum the box of the contraction it covers."""
    output = f".{layer.output_names[part.output]}" if part.output else ""
    term = f" over inputs [{_ranges(part.term)}]" if part.term is not None else ""
    return f"{layer.name}{output}[{_ranges(part.region) if spec.shape else '...'}]{term}"


def _ranges(region: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{lo}:{hi}" for lo, hi in region)


def _bytes(forward: int, backward: int) -> str:
    down = f"↓ {bytes_text(forward)}"
    return f"{down}  ↑ {bytes_text(backward)}" if backward else down


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
