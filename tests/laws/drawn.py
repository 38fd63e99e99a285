"""What was drawn of the table (``options.py``) in some examples, and what was not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from netpart.graph.graph import Graph
from netpart.graph.net import Node
from netpart.graph.partition import Partition
from netpart.layers.layer import INPUT
from netpart.proto.job_pb2 import JobProto, LayerType
from netpart.spec import Placement, remaining_boxes, size
from tests.laws.options import ANY, CROSSINGS
from tests.laws.partings import REPLICA, extent_of, way_class
from tests.laws.sketch import LINES, TABLES


class Drawn:
    """Values, ways of cutting and crossings in the examples of ``kind`` that are noted."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.values: dict[str, set[Any]] = {path: set() for path in TABLES[kind]}
        self.ways: set[int | str] = set()
        self.able: set[int | str] = set()
        self.crossings: set[str] = set()

    def note(self, cut: Partition) -> None:
        """Takes down what a job says and what its graphs are."""
        for message in messages(cut.job, self.kind):
            for path, seen in self.values.items():
                seen.update(values(message, path))
        for graph in (micro.graph for micro in cut.phases["train"]):
            self.crossings.update(crossings(graph))
            for node, placement in zip(graph.net.nodes, graph.placements, strict=True):
                if LINES.get(LayerType.Name(node.conf.type)) == self.kind and not node.inserted:
                    able = (w for w in (*node.layer.cuts(), REPLICA) if extent_of(node.layer, w, 2) > 1)
                    self.able.update(map(way_class, able))
                    self.ways.update(map(way_class, ways_of(node, placement)))
        self.crossings.update({"several micro-batches"} if len(cut.phases["train"]) > 1 else ())
        self.crossings.update({"a test net"} if "test" in cut.phases else ())

    def missing(self) -> list[str]:
        """What of the table was not drawn."""
        table = TABLES[self.kind].items()
        found = [f"{path}: {value}" for path, every in table for value in every if not self.seen(path, value)]
        return [
            *found,
            *(f"cut on {way}" for way in self.able - self.ways),
            *(each for each in CROSSINGS.get(self.kind, ()) if each not in self.crossings),
        ]

    def seen(self, path: str, value: Any) -> bool:
        """True if a field had ``value``; an empty list is an unset one."""
        seen = self.values[path]
        if value == ANY:
            return bool(seen - {None, 0})
        return value in seen or (value is None and 0 in seen)


def messages(job: JobProto, kind: str) -> Iterator[Message]:
    """What in a job is of ``kind``."""
    if kind in ("job", "updater"):
        yield job
    for conf in job.neuralnet.layer:
        if kind == "param":
            yield from conf.param
        elif kind == "cut" or LINES.get(LayerType.Name(conf.type)) == kind:
            yield conf


def values(message: Any, path: str) -> Iterator[Any]:
    """What a field says: the name of a type, how many there are of what is repeated, None if it is unset."""
    head, _, rest = path.partition(".")
    field, found = message.DESCRIPTOR.fields_by_name[head], getattr(message, head)
    repeated = not hasattr(type(found), "DESCRIPTOR") and not isinstance(found, str | int | float)
    if rest:
        for each in found if repeated else [found]:
            yield from values(each, rest)
    elif head == "type" and field.enum_type.name == "LayerType":
        yield LayerType.Name(found)
    elif repeated:
        yield len(found)
    else:
        yield (round(found, 6) if isinstance(found, float) else found) if message.HasField(head) else None


def ways_of(node: Node, placement: Placement) -> Iterator[int | str]:
    """On what a layer is cut."""
    yield from (a for a in range(node.layer.output.rank) if len({s.region[a] for s in placement.shards}) > 1)
    if len(placement.terms) > 1:
        yield INPUT
    if not placement.has_no_replicas:
        yield REPLICA


def crossings(graph: Graph) -> Iterator[str]:
    """What meets in a graph."""
    for found in graph.collectives:
        yield found.kind
        if (
            found.backward
            and found.blocks
            and remaining_boxes(found.region, [b for b in found.blocks if b is not None])
        ):
            yield "a gap in what is read of addends"
    for node, placement in zip(graph.net.nodes, graph.placements, strict=True):
        on = list(ways_of(node, placement))
        yield from {"addends"} if INPUT in on else ()
        yield from {"replicas"} if REPLICA in on else ()
        yield from {"a grid"} if len(on) > 1 else ()
        yield from {"uneven parts"} if len({size(s.region) for s in placement.shards}) > 1 else ()
