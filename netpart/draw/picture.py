"""Picture: what a drawing says, as plain values: boxes, arrows, one field per worker, a legend.

Writers turn a Picture into DOT, text or JSON and decide nothing about the net.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from netpart.draw.palette import Colour, colour
from netpart.graph.graph import LAYER
from netpart.spec import Shape
from netpart.units import bytes_text


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


def _bytes(forward: int, backward: int) -> str:
    down = f"↓ {bytes_text(forward)}"
    return f"{down}  ↑ {bytes_text(backward)}" if backward else down


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
