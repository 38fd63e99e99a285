"""Slices: assignment of the parts of a kSlice to the layers that read it. Each part is a node of the net.

Layers are taken in written order. Each layer that names a kSlice reads the first part that no earlier layer reads in
one of its phases; it is the same part in all phases. A layer that reads labels gets those of the part that its other
sources depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from netpart.errors import ConfigError
from netpart.layers.slice import Slice
from netpart.proto.phase import PHASE_VALUES, in_phase

if TYPE_CHECKING:
    from netpart.graph.net import Node
    from netpart.layers.layer import Layer
    from netpart.proto.job_pb2 import LayerProto


LABELS = "label", "target"
"""Outputs of input layers that are not data."""


class SliceReading(NamedTuple):
    """One read of a kSlice: ``reader`` names ``source`` as number ``k`` of its srclayers, for output ``wanted``."""

    source: str
    reader: str
    k: int
    wanted: str


class SliceAssignment:
    """The parts of each kSlice in the net of ``phase``: ``numbers`` maps a read to its part, ``parts`` lists nodes."""

    def __init__(
        self, layers: Sequence[LayerProto], phase: str, kind_of: Callable[[int, LayerProto], type[Layer]]
    ) -> None:
        """Collect the reads of all phases; ``layers`` are the layers of all phases."""
        self.layers = layers
        self.phase = phase
        self.kind_of = kind_of
        self.numbers: dict[SliceReading, int] = {}
        self.parts: dict[str, list[Node]] = {}
        self.phases: dict[str, dict[SliceReading, set[str]]] = {}
        for i, conf in enumerate(layers):
            phases = {each for each in PHASE_VALUES if in_phase(conf, each)}
            for reading in self.readings(i, conf):
                found = self.phases.setdefault(reading.source, {}).setdefault(reading, set())
                found |= phases

    def readings(self, i: int, conf: LayerProto) -> list[SliceReading]:
        """The reads of layer ``i`` of the job, in the order of its srclayers."""
        kind = partial(self.kind_of, i)
        return [
            SliceReading(name, conf.name, k, _wanted_output(conf, k, kind)) for k, name in enumerate(conf.srclayers)
        ]

    def of(self, node: Node) -> list[Node]:
        """The nodes for ``node``: itself, followed by the other parts of a kSlice that this phase reads.

        Raises ConfigError if there are more readers than parts, or if a layer has the name of a part.
        """
        if not isinstance(node.layer, Slice):
            return [node]
        numbers = self.assign_parts(node)
        read = {n for reading, n in numbers.items() if self.phase in self.phases[node.name][reading]}
        self.numbers |= numbers
        # Part 0 is ``node`` itself, so it exists even if this phase does not read it.
        self.parts[node.name] = [node, *(_slice_part(node, j, n) for j, n in enumerate(sorted(read - {0}), 1))]
        return self.parts[node.name]

    def assign_parts(self, node: Node) -> dict[SliceReading, int]:
        """The part of the kSlice ``node`` that each layer reads; reads of its labels are omitted if it has labels."""
        labelled = len(node.layer.outputs) > 1
        taken = {phase: set[int]() for phase in PHASE_VALUES}
        numbers = {}
        for reading, phases in self.phases.get(node.name, {}).items():
            if not (labelled and reading.wanted == "label"):
                # Free in every phase of the reader, not just in ``self.phase``: a layer must read the same part in
                # training and tests.
                numbers[reading] = next(n for n in count() if all(n not in taken[phase] for phase in phases))
                for phase in phases:
                    taken[phase].add(numbers[reading])
        self.check(node, max(numbers.values(), default=0) + 1)
        return numbers

    def check(self, node: Node, most: int) -> None:
        """Raise ConfigError unless ``node`` has the ``most`` parts that are read, and their names are unique."""
        if most > (parts := node.conf.slice_conf.num_slices):
            hint = f"write num_slices: {most}, or let a kSplit read a part for several"
            at = ("slice_conf", "num_slices")
            raise ConfigError(node.name, f"a reader for each of {parts} slices", f"{most} readers", hint, at=at)
        names = {_slice_part_name(node.name, n) for n in range(1, most)}
        for i, conf in enumerate(self.layers):
            if conf.name in names:
                got = f"that of a part of kSlice {node.name}"
                hint = "rename one of them"
                raise ConfigError(conf.name, "a name of its own", got, hint, at=("neuralnet", "layer", i, "name"))

    def sources(self, i: int, conf: LayerProto, built: Mapping[str, Node]) -> list[Node]:
        """The nodes among ``built`` that layer ``i``, with this ``conf``, reads.

        Raises ConfigError if it reads labels of a kSlice and its other sources do not determine the part.
        """
        readings = self.readings(i, conf)
        read = [built[_slice_part_name(reading.source, self.numbers.get(reading, 0))] for reading in readings]
        scores = [read[reading.k] for reading in readings if reading.wanted != "label"]
        for reading in readings:
            if reading.source in self.parts and reading not in self.numbers:
                read[reading.k] = self.labelled(reading, _ancestor_indices(scores, built.values()))
        return read

    def labelled(self, reading: SliceReading, ancestors: set[int]) -> Node:
        """The part whose labels are read: the one among ``ancestors``, or any part if all have the same labels."""
        parts = self.parts[reading.source]
        found = [node for node in parts if node.index in ancestors]
        whole = parts[0].conf.srclayers[0]
        # A kSlice that does not cut the batch leaves all rows in each part, so every part has the same labels.
        if len(found) == 1 or not parts[0].layer.makes_rows:
            return (found or parts)[0]
        expected = f"scores from one part of {reading.source}, to judge by its labels"
        got = "scores from " + (" and ".join(node.name for node in found) if found else "none of its parts")
        hint = f"read the labels of all rows from {whole}, or those of one part from a kSplit that reads that part"
        raise ConfigError(reading.reader, expected, got, hint, at=("srclayers", reading.k))


def _wanted_output(conf: LayerProto, k: int, kind_of: Callable[[LayerProto], type[Layer]]) -> str:
    """The output that a layer reads of source ``k``."""
    try:
        return kind_of(conf).read_output(k)
    except ConfigError:
        # An unknown type is refused where the layer is built; any answer will do here.
        return "data"


def _ancestor_indices(nodes: Sequence[Node], built: Iterable[Node]) -> set[int]:
    """Indices of ``nodes`` and of all nodes that they are computed from, without following labels."""
    by_index = {node.index: node for node in built}
    found = set[int]()
    left = [node.index for node in nodes]
    while left:
        if (index := left.pop()) not in found:
            found.add(index)
            sources = by_index[index].sources
            left += [s.node for s in sources if by_index[s.node].layer.output_names[s.output] not in LABELS]
    return found


def _slice_part_name(name: str, number: int) -> str:
    """Name of part ``number`` of kSlice ``name``: part 0 has the name of the kSlice."""
    return f"{name}[{number}]" if number else name


def _slice_part(node: Node, offset: int, number: int) -> Node:
    """Part ``number`` of the kSlice whose first part is ``node``, as the node ``offset`` places after it."""
    assert isinstance(node.layer, Slice)
    layer = node.layer.part(_slice_part_name(node.name, number), number)
    return replace(node, index=node.index + offset, layer=layer, inserted=True)
