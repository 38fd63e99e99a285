"""Picture: what a drawing says, as plain values: boxes, arrows, one field per worker, a legend.

Writers turn a Picture into DOT, text or JSON and decide nothing about the net.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from netpart.draw.palette import WorkerColour, worker_colour
from netpart.graph.graph import LAYER
from netpart.spec import Shape
from netpart.units import bytes_text, plural_text


@dataclass(frozen=True)
class PartBox:
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
    def colour(self) -> WorkerColour:
        return worker_colour(self.worker)


@dataclass(frozen=True)
class Arrow:
    """One input of a box. ``forward`` and ``backward`` are the bytes that cross workers in one step, 0 within one;
    ``gradient``: backward returns the gradient along it. ``frame`` is the collective that it is a way of: its bytes are
    this way's share of the collective's, which are the same however that is carried out."""

    source: str
    target: str
    crosses: bool
    gradient: bool
    forward: int = 0
    backward: int = 0
    frame: int = -1

    @property
    def label(self) -> str:
        """Bytes down with the values and up with their gradient; empty within a worker."""
        return ways_text(self.forward, self.backward) if self.crosses else ""


@dataclass(frozen=True)
class CollectiveFrame:
    """A collective, which frames its helpers on each worker. ``forward`` and ``backward`` are the bytes of a step."""

    number: int
    name: str
    members: tuple[int, ...]
    forward: int
    backward: int

    @property
    def label(self) -> str:
        """What it is, and what all its members send together."""
        return f"{self.name}  {ways_text(self.forward, self.backward)}"


@dataclass(frozen=True)
class Reduction:
    """An all-reduce of gradients, on the way backward: ``nbytes`` are what all ``members`` send together in a step.

    Either of the output of a layer of which each member computes a part of the whole gradient: ``boxes`` are its
    replicas. Or of ``parameters`` (``"fc1/w[0:4, 0:2]"``), for updates.
    """

    name: str
    members: tuple[int, ...]
    nbytes: int
    boxes: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What is summed, and what that moves."""
        return f"{self.name}  {ways_text(0, self.nbytes)}"


@dataclass(frozen=True)
class Picture:
    """A partitioned net as it is drawn; ``boxes`` in topological order, inputs first.

    ``reductions`` are the all-reduces of gradients, which cross no bridge; ``micro_batches`` those of a step, of which
    one is drawn: all bytes but those of parameters are of one.
    """

    name: str
    phase: str
    workers: int
    boxes: tuple[PartBox, ...]
    arrows: tuple[Arrow, ...]
    frames: tuple[CollectiveFrame, ...] = ()
    reductions: tuple[Reduction, ...] = ()
    micro_batches: int = 1

    @property
    def title(self) -> str:
        """What is drawn, in one line."""
        drawn = f"{self.name}, {self.phase}"
        if self.micro_batches > 1:
            drawn += f", one of {self.micro_batches} micro-batches"
        return f"{drawn}: {plural_text(len(self.boxes), 'part')} on {plural_text(self.workers, 'worker')}"

    @property
    def reduced_bytes(self) -> int:
        """Bytes of all ``reductions``."""
        return sum(each.nbytes for each in self.reductions)

    @property
    def traffic(self) -> str:
        """What crosses workers; empty if nothing does."""
        return "; ".join(filter(None, (self._crossing, *self._sums)))

    @property
    def _crossing(self) -> str:
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
        """The kinds of line that occur beside the plain one: ``"bridge"``, ``"no gradient"``."""
        found = {"bridge": any(a.crosses for a in self.arrows), "no gradient": any(not a.gradient for a in self.arrows)}
        return tuple(kind for kind, occurs in found.items() if occurs)

    @cached_property
    def fields(self) -> dict[int, list[PartBox]]:
        """The boxes of each worker that has some, by worker."""
        found: dict[int, list[PartBox]] = {}
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
    def by_name(self) -> dict[str, PartBox]:
        """The boxes by name."""
        return {box.name: box for box in self.boxes}

    @cached_property
    def reduction_by_box(self) -> dict[str, Reduction]:
        """The all-reduce of the gradient of each box that has one."""
        return {box: each for each in self.reductions for box in each.boxes}

    @cached_property
    def arrows_into(self) -> dict[str, list[Arrow]]:
        """The arrows that end at each box, by its name, in order of its inputs."""
        found: dict[str, list[Arrow]] = {box.name: [] for box in self.boxes}
        for arrow in self.arrows:
            found[arrow.target].append(arrow)
        return found

    def __repr__(self) -> str:
        return f"Picture({self.title})"


def ways_text(forward: int, backward: int) -> str:
    """Bytes down, with values, and up, with gradients; a way that nothing goes is omitted, unless both are."""
    up = [f"↑ {bytes_text(backward)}"] if backward else []
    return "  ".join([f"↓ {bytes_text(forward)}"] * (forward > 0 or not up) + up)
