"""Random nets in which groups of layers are sections: what a person would write as blocks, some of them repeated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from hypothesis import strategies as st

from netpart.proto.job_pb2 import JobProto, LayerProto
from tests.laws.makers import inner_product
from tests.laws.nets import choose_updater, classify, finish, grow, newest, rows
from tests.laws.sketch import Sketch

DEPTH = 3
"""Sections are at most so deep within one another."""
MOST_TIMES = 3
DEPTHS = "_abc"
"""What ends the name of a section: at one depth, no two begin with the same layer."""


@dataclass
class Section:
    """Layers that are one block, ``times`` times in a row.

    ``inputs`` are the layers outside that its layers read, ``outputs`` those of its layers that others read. All names
    are those of the net as it was drawn, in which each section is there once.
    """

    name: str
    items: list[LayerProto | Section]
    inputs: list[str]
    outputs: list[str]
    times: int

    @property
    def instances(self) -> list[str]:
        """The names of the instances."""
        return [self.name] if self.times == 1 else [f"{self.name}{k}" for k in range(1, self.times + 1)]


Items = Sequence[LayerProto | Section]


@dataclass
class SectionedNet:
    """A job without its layers, and these, some of them in sections."""

    job: JobProto
    items: Items

    def __repr__(self) -> str:
        return f"SectionedNet({self.items!r})"


def local_names(items: Items) -> dict[str, str]:
    """What the layers and parameters in ``items`` are called beside them: those of sections, in the last instance."""
    found: dict[str, str] = {}
    for item in items:
        if isinstance(item, Section):
            found |= {name: f"{item.instances[-1]}-{inner}" for name, inner in local_names(item.items).items()}
        else:
            found |= {name: name for name in (item.name, *(param.name for param in item.param)) if name}
    return found


def all_layers(items: Items) -> Iterator[LayerProto]:
    """The layers of ``items`` and of all sections in them, each once."""
    for item in items:
        yield from all_layers(item.items) if isinstance(item, Section) else [item]


@st.composite
def sectioned_nets(draw: st.DrawFn) -> SectionedNet:
    """A random net, with sections before, around and after one that could be repeated."""
    s = Sketch(draw)
    s.job.name, s.job.dtype, s.job.seed = "sections", JobProto.FLOAT64, s.number(0, 99)
    data = rows(s)
    grow(s, s.number(1, 3))
    first, last = grow_residual(s) if s.number(0, 2) else (0, 0)
    if last:  # nothing but the sum is read, so all of it can be repeated
        classify(s, s.job.neuralnet.layer[last - 1].name, data)
    else:
        finish(s, data)
    choose_updater(s)
    layers = list(s.job.neuralnet.layer)
    items = sections(s, layers[:first], DEPTH)
    if last:
        items.append(section(s, sections(s, layers[first:last], DEPTH - 1), DEPTH))
    items += sections(s, layers[last:], DEPTH)
    for item in items:
        if isinstance(item, Section):
            clear_hidden_shares(item.items, local_names(items).keys() - local_names(item.items).keys())
    job = JobProto()
    job.CopyFrom(s.job)
    del job.neuralnet.layer[:]
    return SectionedNet(job, items)


def grow_residual(s: Sketch) -> tuple[int, int]:
    """Adds layers of which the last has the shape of what the first reads, and is added to it; their numbers."""
    first = len(s.job.neuralnet.layer)
    source = newest(s)
    grow(s, s.number(1, 2))
    top = inner_product(s, newest(s), prod(s.shape(source)[1:]))
    folded = s.conf("kReshape", top)
    folded.reshape_conf.shape.extend(s.shape(source)[1:])
    s.add(s.conf("kAdd", s.add(folded), source))
    return first, len(s.job.neuralnet.layer)


def sections(s: Sketch, layers: list[LayerProto], depth: int) -> list[LayerProto | Section]:
    """``layers``, some of them in sections, of which at most ``depth`` are within one another."""
    if not layers or not depth or s.chance(3):
        return [*layers]
    low = s.number(0, len(layers) - 1)
    high = s.number(low + 1, len(layers))
    inside = section(s, sections(s, layers[low:high], depth - 1), depth)
    return [*layers[:low], inside, *sections(s, layers[high:], depth)]


def section(s: Sketch, items: list[LayerProto | Section], depth: int) -> Section:
    """A section of ``items``, repeated if its outputs can take the place of some of its inputs."""
    inside = {layer.name: layer for layer in all_layers(items)}
    others = [layer for layer in s.job.neuralnet.layer if layer.name not in inside]
    inputs = list(dict.fromkeys(x for layer in inside.values() for x in layer.srclayers if x not in inside))
    outputs = [name for name in inside if any(name in layer.srclayers for layer in others)]
    ordered = chained_inputs(s, inputs, outputs)
    times = s.number(1, MOST_TIMES) if ordered is not None else 1
    return Section(f"{next(iter(inside))}_{DEPTHS[depth]}", items, ordered or inputs, outputs, times)


def chained_inputs(s: Sketch, inputs: list[str], outputs: list[str]) -> list[str] | None:
    """``inputs`` in an order in which each of ``outputs`` is like the one in its place; None if there is none."""
    left, first = list(inputs), list[str]()
    for output in outputs:
        found = next((name for name in left if s.layers[name].outputs == s.layers[output].outputs), None)
        if found is None or len(s.layers[output].outputs) > 1:
            return None
        left.remove(found)
        first.append(found)
    return first + left


def clear_hidden_shares(items: Items, outside: set[str]) -> None:
    """Clears shares of parameters that a block has no name for: those of the blocks around it.

    ``outside`` are the names outside of all blocks that these are in.
    """
    known = outside | local_names(items).keys()
    for item in items:
        if isinstance(item, Section):
            clear_hidden_shares(item.items, outside)
            continue
        for param in item.param:
            if param.share_from not in known:
                param.ClearField("share_from")
