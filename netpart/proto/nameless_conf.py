"""What a layer does, without names: equal for layers that differ in their names and sources alone."""

from __future__ import annotations

from netpart.proto.job_pb2 import LayerProto


def nameless_conf(conf: LayerProto) -> bytes:
    """``conf`` as bytes, without the names of the layer, its sources and its parameters."""
    copy = LayerProto()
    copy.CopyFrom(conf)
    copy.name = ""
    copy.ClearField("srclayers")
    for param in copy.param:
        param.name = ""
    return copy.SerializeToString(deterministic=True)
