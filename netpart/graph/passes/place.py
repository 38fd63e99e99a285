"""Pass: one Placement per layer, from the cuts and locations of the job (docs/language.md, "Cutting a layer")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netpart.errors import ConfigError, FaultList
from netpart.graph.net import Net, Node
from netpart.graph.passes.placer import CutFallback, LayerPlacer
from netpart.spec import RECORD, Placement, Shard

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import NetProto


@dataclass
class PlacedLayers:
    """Result of the pass: a placement per node, and the inherited cuts that fell back."""

    placements: list[Placement]
    fallbacks: list[CutFallback]


def place_layers(net: Net, conf: NetProto, workers: int, full_rows: int | None = None) -> PlacedLayers:
    """Place every layer of ``net`` on ``workers`` workers.

    ``full_rows`` is the whole mini-batch if ``net`` is built for a micro-batch of it. The whole batch must be long
    enough for its parts; a part of a micro-batch may then be empty. Raises ConfigError, for all layers at once, for a
    cut that a layer does not allow, an axis shorter than its parts, and a location beyond the workers.
    """
    placed = PlacedLayers([], [])
    faults = FaultList()
    # Equal placements become one object: ``ask`` caches suppliers by identity, and large placements are kept once.
    interned: dict[Placement, Placement] = {}
    for node in net.nodes:
        with faults.collecting():
            rows = layer_batch_rows(node, net, full_rows or net.rows)
            placement = place_node(node, conf, workers, rows, net.phase, placed.fallbacks)
            placed.placements.append(interned.setdefault(placement, placement))
    # Before records are placed: that reads the placement of every node, and after a fault some are missing.
    faults.raise_found()
    place_record_sources(net, placed.placements)
    return placed


def layer_batch_rows(node: Node, net: Net, full_rows: int) -> int:
    """Rows of the whole mini-batch that reach a layer; fewer after a kSlice of the batch."""
    shape = node.layer.output.shape
    return full_rows * shape[0] // net.rows if shape else full_rows


def place_node(
    node: Node, conf: NetProto, workers: int, full_rows: int, phase: str, fallbacks: list[CutFallback]
) -> Placement:
    """The placement that the conf of ``node`` asks for; raises ConfigError with its place."""
    try:
        return LayerPlacer(node, conf, workers, full_rows, phase).place(fallbacks)
    except ConfigError as error:
        error.at = node.at + (error.at or ())
        raise


def place_record_sources(net: Net, placements: list[Placement]) -> None:
    """Put a copy of every source of opaque records on each worker with a reader: records are never sent."""
    for node in reversed(net.nodes):
        if node.layer.output.dtype != RECORD:
            continue
        readers = [n for n in net.nodes if any(s.node == node.index for s in n.sources)]
        wanted = sorted({w for r in readers for w in placements[r.index].workers}) or [0]
        if node.conf.location and wanted != list(node.conf.location):
            hint = f"write location: {wanted[0]} or omit it"
            expected = f"a location with its readers {[r.name for r in readers]} on {wanted}"
            raise ConfigError(node.name, expected, str(list(node.conf.location)), hint, at=(*node.at, "location"))
        placements[node.index] = Placement(tuple(Shard(w, ()) for w in wanted))
