"""Data waits: how long the steps of a timeline wait for rows of input layers, and what makes the wait shorter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from netpart.graph.build import type_name
from netpart.graph.graph import LAYER
from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition
from netpart.measure.timeline import READ, TimelineEvent
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import RECORD

NOTEWORTHY = 0.1
"""Share of a step from which on a wait gets a hint."""
AHEAD = "image_conf", "array_conf", "nifti_conf", "store_conf"
"""The confs with a field ``prefetching``."""


@dataclass(frozen=True)
class DataWait:
    """Seconds for which a step waits for rows of the input layer ``name``, on the worker that waits longest.

    What is read ahead, while a step computes, does not count. ``share`` is relative to the step. ``hint`` is empty for
    a share of at most NOTEWORTHY.
    """

    name: str
    type: str
    seconds: float
    share: float
    hint: str


def mark_reads(cut: Partition, events: Iterable[TimelineEvent]) -> Iterator[TimelineEvent]:
    """Yield ``events``; those in which a worker fetches rows of data become ``read LAYER``."""
    graphs = [micro.graph for micro in cut.phases["train"]]
    reading = {p.name for g in graphs for p in g.parts if p.kind == LAYER and reads_data(g.net, g.net.nodes[p.node])}
    for event in events:
        is_read = event.verb == "forward" and event.part in reading
        yield event._replace(text=f"{READ} {event.object}") if is_read else event


def reads_data(net: Net, node: Node) -> bool:
    """True for input layers and for layers that decode the records of one."""
    return node.layer.is_input or any(net.spec(source).dtype == RECORD for source in node.sources)


def make_data_wait(node: Node, seconds: float, step: float) -> DataWait:
    """The wait of ``seconds`` for a layer, in a step of ``step`` seconds."""
    share = seconds / step if step else 0.0
    hint = _shorter_wait_hint(node.conf) if share > NOTEWORTHY else ""
    return DataWait(node.name, type_name(node.conf), seconds, share, hint)


def _shorter_wait_hint(conf: LayerProto) -> str:
    """What makes the wait for rows of a layer shorter."""
    if conf.HasField("synthetic_conf"):
        return "write synthetic_conf { batches: 16 }, to draw 16 mini-batches once and repeat them"
    for field in AHEAD:
        if conf.HasField(field) and not getattr(conf, field).prefetching:
            return f"write prefetching: true in {field}, to read the next mini-batch while this one is computed"
    if conf.HasField("image_conf"):
        return "let more --threads decode, or decode once: `netpart data images` makes a store of images of one size"
    return "`netpart data look` measures how fast rows are read; those of a kvfile are, as `netpart data csv` makes it"
