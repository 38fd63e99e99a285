"""Whether a partition can run: its data is there, its parameters can be filled, its updater can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netpart import initialisers
from netpart.errors import ConfigError, DataError
from netpart.graph.build import path_field
from netpart.proto.phase import PHASES
from netpart.spec import INT
from netpart.updaters import updater

if TYPE_CHECKING:
    from netpart.graph.net import Net, Node
    from netpart.graph.partition import Partition


def check_ready(partition: Partition) -> None:
    """Raises the first of ``faults``: to be asked before anything starts."""
    for fault in faults(partition):
        raise fault


def faults(partition: Partition) -> Iterator[ConfigError | DataError]:
    """What keeps ``partition`` from running, located in its job: data missing or unusable, initialisers, updater."""
    try:
        updater(partition.job.updater)
    except ConfigError as error:
        yield error
    for micros in partition.phases.values():
        net = micros[0].graph.net
        for node in net.nodes:
            try:
                check_node(net, node)
            except (ConfigError, DataError) as error:
                yield error


def check_node(net: Net, node: Node) -> None:
    """Opens what a layer of ``net`` reads, looks how its parameters are filled; raises ConfigError or DataError."""
    try:
        node.layer.check_data(PHASES[net.phase])
        for classes in classes_of(net, node):
            node.layer.check_labels(classes)
        for i, (spec, parameter) in enumerate(zip(node.layer.params, node.params, strict=True)):
            if parameter.owner == node.index and not spec.proto.share_from:
                initialisers.check(spec.proto.init, spec.matrix, f"{node.name}.param[{i}].init", ("param", i, "init"))
    except ConfigError as error:
        error.at = node.at + (error.at or ())
        raise
    except DataError as error:
        raise error.of_layer(node.name, path_field(node.conf, node.at)) from None


def classes_of(net: Net, node: Node) -> list[int]:
    """How many classes the layers that read labels of ``node`` know."""
    return [
        reader.layer.classes
        for reader in net.nodes
        if reader.layer.classes and any(s.node == node.index and net.spec(s).dtype == INT for s in reader.sources)
    ]
