"""Slices: which reader of a kSlice reads which of its parts, each of which is a layer of the net.

Of the layers of the job, as they are written, the i-th that names a kSlice reads part i. Those that want its labels are
counted by themselves, so that the i-th loss judges by the labels of part i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from netpart.errors import ConfigError, FieldPath
from netpart.layers.slice import Slice
from netpart.proto.job_pb2 import LayerProto, LayerType

if TYPE_CHECKING:
    from netpart.graph.net import Node
    from netpart.layers.layer import Layer

Reading = tuple[str, int]
"""A layer, and the number of one of its srclayers."""


@dataclass
class SlicesRead:
    """``names`` are those of the parts of each kSlice; ``parts`` the part that a source of a layer is."""

    names: dict[str, list[str]] = field(default_factory=dict)
    parts: dict[Reading, str] = field(default_factory=dict)

    def of(self, conf: LayerProto) -> Iterator[tuple[str, int]]:
        """The layers of the net that ``conf`` is: name and number of each part of a kSlice; else itself."""
        yield from ((name, number) for number, name in enumerate(self.names.get(conf.name, [conf.name])))

    def sources(self, conf: LayerProto, found: dict[str, Node]) -> list[Node]:
        """The nodes that the layer of ``conf`` reads, of those that were ``found``."""
        return [found[self.parts.get((conf.name, k), name)] for k, name in enumerate(conf.srclayers)]


def slices_read(layers: Sequence[LayerProto], kind_of: Callable[[int, LayerProto], type[Layer]]) -> SlicesRead:
    """Deals out the parts of each kSlice among ``layers``, those of all phases, to its readers; a layer that is written
    once for each phase counts once. Raises ConfigError if there are more readers than parts."""
    slices = {conf.name: (i, conf) for i, conf in enumerate(layers) if conf.type == LayerType.kSlice}
    readers: dict[tuple[str, str], dict[Reading, None]] = {}
    for i, conf in enumerate(layers):
        for k, name in enumerate(conf.srclayers):
            if name in slices:
                readers.setdefault((name, wanted(conf, k, partial(kind_of, i))), {})[conf.name, k] = None
    read = SlicesRead()
    for name, (i, conf) in slices.items():
        dealt = [list(found) for (of, _), found in readers.items() if of == name]
        most = max(map(len, dealt), default=1)
        if most > conf.slice_conf.num_slices:
            at: FieldPath = ("neuralnet", "layer", i, "slice_conf", "num_slices")
            got, hint = f"{most} readers", f"write num_slices: {most}, or let a kSplit read a part for several"
            raise ConfigError(name, f"a reader for each of {conf.slice_conf.num_slices} slices", got, hint, at=at)
        read.names[name] = [name, *(f"{name}[{number}]" for number in range(1, most))]
        read.parts |= {reading: read.names[name][part] for each in dealt for part, reading in enumerate(each)}
    return read


def wanted(conf: LayerProto, k: int, kind_of: Callable[[LayerProto], type[Layer]]) -> str:
    """The output that a layer wants of source ``k``; that of a type that there is not is refused where it is built."""
    try:
        return kind_of(conf).wants(k)
    except ConfigError:
        return "data"


def as_slice(node: Node, name: str, number: int) -> Node:
    """``node``, or, if it is a part of a kSlice behind the first, that part."""
    if not number:
        return node
    assert isinstance(node.layer, Slice)
    node.layer.name, node.layer.number = name, number
    return replace(node, inserted=True)
