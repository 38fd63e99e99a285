"""Whether the data that a net reads is there: asked before anything starts."""

from __future__ import annotations

from netpart.errors import ConfigError, DataError
from netpart.graph.net import Net, Node

NAMING = ("store_conf", "sharddata_conf")
"""Confs that have a ``path``."""


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
        conf = next((name for name in NAMING if node.conf.HasField(name)), None)  # type: ignore[arg-type]
        raise error.of_layer(node.name, (*node.at, conf, "path") if conf else node.at) from None
