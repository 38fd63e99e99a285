"""Alternatives: other cuts of one layer, with all other layers unchanged, and the cost of a training step with each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

from google.protobuf import text_format

from netpart.errors import ConfigError
from netpart.graph.graph import LAYER
from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition, partition_job
from netpart.graph.passes.place import place_record_sources
from netpart.graph.passes.placer import LayerPlacer
from netpart.layers.layer import INPUT
from netpart.plan.price.cost import part_cost
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.text.cut_settings import cut_settings
from netpart.plan.text.cut_text import place_text
from netpart.plan.text.spelling import cut_fields, spell_placement, wanted_placements
from netpart.progress import track_items
from netpart.proto.cut_pb2 import CutProto, Remainder
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import RECORD, Placement


@dataclass(frozen=True)
class CutAlternative:
    """A cut of the layer, in words and as a job writes it; the bytes that a step sends and the FLOPs of its busiest
    worker. ``settings`` are what ``--set`` takes instead."""

    cut: str
    written: str
    moved: int
    flops: int
    present: bool
    settings: tuple[str, ...] = ()


def find_alternatives(partition: Partition, name: str, folder: Path | None = None) -> list[CutAlternative]:
    """The present cut of layer ``name`` and every even one over all workers, in order of the bytes sent.

    Opaque records have none: they are placed on the workers of their readers.
    """
    node = partition.graph.net.by_name[name]
    if node.layer.output.dtype == RECORD:
        return []
    present = _price_alternative(partition, node, _present_cut(partition, node), True)
    places = partition.graph.placements
    found = {places[node.index]: present}
    for conf in track_items(list(_alternative_confs(node, partition)), "alternative"):
        try:
            other = _recut_layer(partition, node, conf, folder)
        except ConfigError:
            continue
        # By placement: several confs may describe the same one. The present cut is entered first, so its text is kept.
        found.setdefault(
            other.graph.placements[other.graph.net.by_name[name].index], _price_alternative(other, node, conf, False)
        )
    return sorted(found.values(), key=lambda a: (a.moved, a.flops, not a.present))


def _alternative_confs(node: Node, partition: Partition) -> Iterator[LayerProto]:
    """Confs with a cut of ``node``: whole, replicated, on each axis, over the inputs."""
    workers = partition.workers
    layer = node.layer
    now = partition.graph.placements[node.index].workers
    yield LayerProto(partition_dim=-1, location=[now[0]] if now[0] else [])
    if workers == 1:
        return
    trained = partition.graph.net.trained[node.index] and not layer.is_loss
    for summed in [False, True] if trained else [False]:
        copies = LayerProto(cut=[CutProto(over=CutProto.REPLICA, parts=workers)])
        if summed:
            copies.sum_gradient = True
        yield copies
    for axis in (axis for axis in layer.cuts() if isinstance(axis, int)):
        parts = min(workers, layer.output.shape[axis])
        conf = LayerProto(partition_dim=axis, location=range(parts) if parts < workers else [])
        if layer.output.shape[axis] % parts and axis < 2:
            conf.remainder = Remainder.SPREAD
        yield conf
    inputs = min(workers, (layer.contraction() or (1,))[0])
    if INPUT in layer.cuts() and inputs > 1:
        yield LayerProto(cut=[CutProto(over=CutProto.INPUT, parts=inputs)], remainder=Remainder.SPREAD)


def _recut_layer(partition: Partition, node: Node, conf: LayerProto, folder: Path | None) -> Partition:
    """The training net of ``partition`` with one layer cut by ``conf``; raises ConfigError if it cannot be."""
    graphs = {micro.graph.net.rows: micro.graph for micro in partition.phases["train"]}
    rows = partition.phases["train"][-1].rows[1]

    def placer(net: Net) -> list[Placement]:
        graph = graphs[net.rows]
        placements = [graph.placements[graph.net.by_name[n.name].index] for n in net.nodes]
        mine = net.by_name[node.name]
        # A shallow copy, so that the new conf does not change the layer of the net itself.
        layer = copy(mine.layer)
        layer.conf = conf
        placed = LayerPlacer(replace(mine, layer=layer), partition.job.neuralnet, partition.workers, rows, "train")
        placements[mine.index] = placed.place([])
        place_record_sources(net, placements)
        return placements

    return partition_job(partition.job, partition.workers, folder, ("train",), placer=placer)


def _price_alternative(partition: Partition, node: Node, conf: LayerProto, present: bool) -> CutAlternative:
    """The row for ``conf``, which ``partition`` applies to ``node``."""
    placement = partition.graph.placements[partition.graph.net.by_name[node.name].index]
    text = text_format.MessageToString(conf, as_one_line=True, use_short_repeated_primitives=True)
    moved = compute_ledger(partition).total
    busiest = max(_flops_by_worker(partition).values(), default=0)
    settings = () if present else tuple(cut_settings(partition.job.neuralnet.layer[int(node.at[2])], conf))
    return CutAlternative(place_text(node.layer, placement), text, moved, busiest, present, settings)


def _flops_by_worker(partition: Partition) -> Counter[int]:
    """FLOPs of a training step by worker."""
    found = Counter[int]()
    for micro in partition.phases["train"]:
        for part in micro.graph.parts:
            if part.kind == LAYER:
                cost = part_cost(micro.graph, part)
                found[part.worker] += cost.forward + cost.backward
    return found


def _present_cut(partition: Partition, node: Node) -> LayerProto:
    """The present cut of ``node`` as a job writes it."""
    number = int(node.at[2])
    places = [place for place in wanted_placements(partition)[number] if place.phase == "train"]
    net = partition.job.neuralnet
    return cut_fields(spell_placement(net.layer[number], places, net, partition.workers))
