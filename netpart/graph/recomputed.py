"""Which layers are recomputed: those that say so, and where a layer says nothing, all layers of a net that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpart.graph.net import Net

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import NetProto


def layers_recomputed(conf: NetProto) -> tuple[bool, ...]:
    """For each layer of a job: True if its activations are dropped after forward and computed again before backward."""
    return tuple((layer if layer.HasField("recompute") else conf).recompute for layer in conf.layer)


def recomputed_nodes(net: Net, conf: NetProto) -> frozenset[int]:
    """The indices of the nodes of ``net`` that are recomputed; an inserted node as the layer it was inserted for.

    A node that is in no job, such as the score that Grad-CAM reads, does as the net says.
    """
    wanted = layers_recomputed(conf)
    return frozenset(
        node.index for node in net.nodes if (wanted[int(node.at[2])] if len(node.at) > 2 else conf.recompute)
    )


def clear_recomputation(conf: NetProto) -> None:
    """Let every layer keep its activations."""
    conf.ClearField("recompute")
    for layer in conf.layer:
        layer.ClearField("recompute")
