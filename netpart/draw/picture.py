"""Picture: the content of a drawing as plain values: boxes, arrows, one field per worker, a legend.

Writers turn a Picture into DOT, text or JSON, and make no decision about the net.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from netpart.draw.palette import WorkerColour, worker_colour
from netpart.graph.graph import LAYER
from netpart.spec import Shape
from netpart.units import bytes_text, plural_text


@dataclass(frozen=True)
class PartBox:
    """The box of a part.

    ``type`` is its operation, ``extent`` its shape as text (``"8×27×27"``), ``holds`` its elements as text. ``layer``
    is the uncut layer whose output it computes or carries. ``frame`` is the number of the collective to which it
    belongs, -1 for none.
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
    def colour(self) -> WorkerColour:
        return worker_colour(self.worker)


@dataclass(frozen=True)
class Arrow:
    """One input of a box.

    ``forward`` and ``backward`` are the bytes that cross workers in one step, 0 within a worker. ``gradient``: backward
    returns the gradient along it. ``frame`` is the number of its collective, -1 for none: then its bytes are its share
    of the collective's bytes, which do not depend on the algorithm.
    """

    source: str
    target: str
    crosses: bool
    gradient: bool
    forward: int = 0
    backward: int = 0
    frame: int = -1

    @property
    def label(self) -> str:
        """The bytes of values (down) and of their gradient (up); "" within a worker."""
        return ways_text(self.forward, self.backward) if self.crosses else ""


@dataclass(frozen=True)
class CollectiveFrame:
    """A collective: a frame around its helpers on each worker. ``forward`` and ``backward`` are bytes per step."""

    number: int
    name: str
    members: tuple[int, ...]
    forward: int
    backward: int

    @property
    def label(self) -> str:
        """The collective's name, and the bytes that all its members send together."""
        return f"{self.name}  {ways_text(self.forward, self.backward)}"


@dataclass(frozen=True)
class Reduction:
    """An all-reduce of gradients in the backward pass; ``nbytes`` are what all ``members`` send together in a step.

    It sums either the gradient of a layer's output, to which each member contributes a part: then ``boxes`` are the
    replicas. Or it sums the gradients of ``parameters`` (``"fc1/w[0:4, 0:2]"``) for their update, each with its
    ``cell_bytes`` of the ``nbytes``.
    """

    name: str
    members: tuple[int, ...]
    nbytes: int
    boxes: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    cell_bytes: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """The name of the sum, and the bytes that it moves."""
        return f"{self.name}  {ways_text(0, self.nbytes)}"


@dataclass(frozen=True)
class Picture:
    """A partitioned net as it is drawn; ``boxes`` are in topological order, inputs first.

    ``reductions`` are the all-reduces of gradients, which do not use bridges. ``micro_batches`` is the number of
    micro-batches of a step, of which one is drawn: all bytes except those of parameters are per micro-batch. ``confs``
    has what each layer does, without names, to tell equal ones.
    """

    name: str
    phase: str
    workers: int
    boxes: tuple[PartBox, ...]
    arrows: tuple[Arrow, ...]
    frames: tuple[CollectiveFrame, ...] = ()
    reductions: tuple[Reduction, ...] = ()
    micro_batches: int = 1
    confs: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def title(self) -> str:
        """The title line: name, phase, and the number of parts and workers."""
        drawn = f"{self.name}, {self.phase}"
        if self.micro_batches > 1:
            drawn += f", one of {self.micro_batches} micro-batches"
        return f"{drawn}: {plural_text(len(self.boxes), 'part')} on {plural_text(self.workers, 'worker')}"

    @property
    def reduced_bytes(self) -> int:
        """The bytes of all ``reductions``."""
        return sum(each.nbytes for each in self.reductions)

    @property
    def traffic(self) -> str:
        """The traffic between workers as text, "" if nothing is sent."""
        return "; ".join(filter(None, (self._crossing, *self._sums)))

    @property
    def _crossing(self) -> str:
        # Arrows of collectives are left to the frames, which have their bytes: they would be counted twice.
        single = [a for a in self.arrows if a.crosses and a.frame < 0]
        found: list[Arrow | CollectiveFrame] = [*single, *self.frames]
        moved = ways_text(sum(way.forward for way in found), sum(way.backward for way in found))
        counts = [plural_text(len(of), noun) for of, noun in ((self.frames, "collective"), (single, "bridge")) if of]
        return f"{' and '.join(counts)}, {moved} per {self._unit}" if found else ""

    @property
    def _sums(self) -> Iterator[str]:
        for what, unit, parameters in (("outputs", self._unit, False), ("parameters", "step", True)):
            nbytes = sum(each.nbytes for each in self.reductions if bool(each.parameters) == parameters)
            if nbytes:
                yield f"Σ gradients of {what} {ways_text(0, nbytes)} per {unit}"

    @property
    def _unit(self) -> str:
        return "step" if self.micro_batches == 1 else "micro-batch"

    @property
    def legend(self) -> tuple[str, ...]:
        """The kinds of arrows that occur apart from plain ones: ``"bridge"``, ``"no gradient"``."""
        found = {"bridge": any(a.crosses for a in self.arrows), "no gradient": any(not a.gradient for a in self.arrows)}
        return tuple(kind for kind, occurs in found.items() if occurs)

    @cached_property
    def fields(self) -> dict[int, list[PartBox]]:
        """The boxes by worker; workers without boxes have no entry."""
        found: dict[int, list[PartBox]] = {}
        for box in self.boxes:
            found.setdefault(box.worker, []).append(box)
        return dict(sorted(found.items()))

    @cached_property
    def rows(self) -> list[list[str]]:
        """The names of the shards of each layer that has several; they are drawn side by side."""
        return [[box.name for box in boxes] for boxes in self._boxes_of_layer.values() if len(boxes) > 1]

    @cached_property
    def by_name(self) -> dict[str, PartBox]:
        """The boxes by name."""
        return {box.name: box for box in self.boxes}

    @cached_property
    def reduction_by_box(self) -> dict[str, Reduction]:
        """The all-reduce of the output's gradient, by the name of each box that takes part in one."""
        return {box: each for each in self.reductions for box in each.boxes}

    @cached_property
    def parameter_sums(self) -> dict[str, int]:
        """The bytes of the sums of parameters' gradients, of all their members, by each box that takes part."""
        found = Counter[str]()
        for each in self.reductions:
            for cell, nbytes in zip(each.parameters, each.cell_bytes, strict=True):
                found.update(dict.fromkeys(self.summing_boxes(each, cell), nbytes))
        return dict(found)

    def summing_boxes(self, each: Reduction, cell: str) -> list[str]:
        """The boxes whose gradients ``each`` sums for the parameter ``cell``: those of its layer on the members."""
        owners = self._boxes_of_layer[cell.split("[")[0].rpartition("/")[0]]
        # A parameter may also be of a layer on another worker, which shares it.
        return [box.name for box in owners if box.worker in each.members] or [box.name for box in owners]

    @cached_property
    def _boxes_of_layer(self) -> dict[str, list[PartBox]]:
        found: dict[str, list[PartBox]] = {}
        for box in self.boxes:
            if not box.is_helper:
                found.setdefault(box.layer, []).append(box)
        return found

    @cached_property
    def arrows_into(self) -> dict[str, list[Arrow]]:
        """The arrows that end at each box, by its name, in the order of its inputs."""
        found: dict[str, list[Arrow]] = {box.name: [] for box in self.boxes}
        for arrow in self.arrows:
            found[arrow.target].append(arrow)
        return found

    def __repr__(self) -> str:
        return f"Picture({self.title})"


def ways_text(forward: int, backward: int) -> str:
    """Bytes of values (↓) and of gradients (↑) as text; a direction without bytes is omitted, unless both are 0."""
    up = [f"↑ {bytes_text(backward)}"] if backward else []
    return "  ".join([f"↓ {bytes_text(forward)}"] * (forward > 0 or not up) + up)
