"""Whether the data that a net reads is there: asked before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpart.errors import ConfigError, DataError, FieldPath
from netpart.graph.net import Net, Node

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import LayerProto


def check_data(net: Net) -> None:
    """Opens what every layer of ``net`` will read.

    Raises DataError or ConfigError, located in the job, for the first file that is missing or cannot be used.
    """
    for node in net.nodes:
        check_layer(node)


def check_layer(node: Node) -> None:
    """Opens what one layer will read; raises as ``check_data`` does."""
    try:
        node.layer.check_data()
    except ConfigError as error:
        error.at = node.at + (error.at or ())
        raise
    except DataError as error:
        raise error.of_layer(node.name, path_field(node.conf, node.at)) from None


def path_field(conf: LayerProto, at: FieldPath) -> FieldPath:
    """Where the layer at ``at`` names its data: the path in its conf, or the layer if it names none."""
    if conf.HasField("store_conf"):
        return (*at, "store_conf", "path")
    return (*at, "sharddata_conf", "path") if conf.HasField("sharddata_conf") else at
