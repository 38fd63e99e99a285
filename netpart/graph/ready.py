"""Checks that a partition can run: its data exists, its parameters have initialisers, its updater is valid."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from netpart import initialisers
from netpart.errors import ConfigError, FaultList, JobError, combine_faults
from netpart.graph.build import locate_errors
from netpart.graph.judged_metrics import find_judging_faults
from netpart.graph.label_readers import find_label_readers
from netpart.graph.same_classes import require_training_classes
from netpart.proto.phase import PHASE_VALUES
from netpart.updaters import build_updater

if TYPE_CHECKING:
    from netpart.graph.net import Net, Node
    from netpart.graph.partition import Partition


def check_ready(partition: Partition, held: Collection[str] = ()) -> None:
    """Raise all faults of ``find_run_faults`` at once; call it before anything starts."""
    if found := find_run_faults(partition, held):
        raise combine_faults(found)


def check_training_run(partition: Partition, held: Collection[str] = ()) -> None:
    """Do ``check_ready`` for a partition that is to be trained; also raise the faults of ``find_training_faults``."""
    if found := [*find_training_faults(partition), *find_run_faults(partition, held)]:
        raise combine_faults(found)


def find_run_faults(partition: Partition, held: Collection[str] = ()) -> list[JobError]:
    """Faults that keep ``partition`` from running, located in its job: missing or unusable data, initialisers, updater.

    ``held`` names the parameters that a checkpoint provides; they need no initialiser.
    """
    found = FaultList()
    with found.collecting():
        build_updater(partition.job.updater)
    for micros in partition.phases.values():
        net = micros[0].graph.net
        for node in net.nodes:
            with found.collecting(), locate_errors(node.at, node.conf):
                require_training_classes(partition, node)  # first: the error then names a class too many
                _check_data(net, node)
            _check_parameters(node, held, found)
    return found.found


def find_training_faults(partition: Partition) -> Iterator[ConfigError]:
    """Faults that keep a run of ``partition`` from training: no number of steps, no loss, nothing to judge by."""
    job = partition.job
    net = partition.graph.net
    if not job.HasField("train_steps"):
        hint = "write train_steps: 1000, say, or run with --steps 1000; with 0 a run only saves initial values"
        yield ConfigError("train_steps", "the number of training steps", "none", hint, at=("train_steps",))
    if (job.train_steps > 0 or not job.HasField("train_steps")) and not any(n.layer.is_loss for n in net.nodes):
        hint = "add a kSoftmaxLoss or kEuclideanLoss; with --steps 0 a run only saves initial values"
        yield ConfigError("neuralnet", "a loss to train by", "none", hint, at=("neuralnet",))
    yield from find_judging_faults(partition)


def _check_data(net: Net, node: Node) -> None:
    """Open the data that a layer of ``net`` reads; raise ConfigError or DataError."""
    node.layer.check_data(PHASE_VALUES[net.phase])
    for output, classes, ignored in find_label_readers(net, node):
        if output:
            node.layer.check_labels(classes, ignored)
        else:
            node.layer.check_tokens(classes)


def _check_parameters(node: Node, held: Collection[str], found: FaultList) -> None:
    """Note each parameter of a layer that no initialiser can fill, except those in ``held``."""
    for i, (spec, parameter) in enumerate(zip(node.layer.params, node.params, strict=True)):
        # A shared parameter is checked at its owner, whose initialiser fills it.
        own = parameter.owner == node.index and not spec.proto.share_from
        if own and parameter.name not in held:
            with found.collecting(), locate_errors(node.at, node.conf):
                initialisers.find_initialiser(
                    spec.proto.init, spec.matrix, f"{node.name}.param[{i}].init", ("param", i, "init")
                )
