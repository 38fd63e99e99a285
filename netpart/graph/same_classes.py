"""Check that folders of classes have the same numbers in all phases: the number of a class is its place in its set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netpart.choices import TRAIN
from netpart.errors import DataError, JobError
from netpart.graph.build import type_name
from netpart.layers import layer_class
from netpart.layers.inputs.image_input import ImageInput
from netpart.proto.phase import in_phase

if TYPE_CHECKING:
    from netpart.graph.net import Node
    from netpart.graph.partition import Partition
    from netpart.layers.layer import Layer

_SHOWN = 12
"""Number of classes that an error lists."""


def require_training_classes(partition: Partition, node: Node) -> None:
    """Raise DataError if ``node`` reads folders of classes that differ from those of the training layer of its name.

    Data that cannot be listed is no fault here: the check of that layer names it.
    """
    if not isinstance(node.layer, ImageInput) or node.layer.training:
        return
    trained = _find_training_layer(partition, node)
    wanted, found = _find_class_names(trained), _find_class_names(node.layer)
    if isinstance(trained, ImageInput) and wanted and found and wanted != found:
        raise _make_error(trained, node.layer, wanted, found)


def _find_training_layer(partition: Partition, node: Node) -> Layer | None:
    """The layer of the training net with the name of ``node``; None without one, or if it is the same layer."""
    for i, conf in enumerate(partition.job.neuralnet.layer):
        if conf.name == node.name and in_phase(conf, TRAIN) and node.at[-1] != i:
            return _training_node_layer(partition, node.name) or _build_training_layer(node.layer, i, partition)
    return None


def _training_node_layer(partition: Partition, name: str) -> Layer | None:
    """The layer ``name`` of the training net of ``partition``, which an evaluation does not have."""
    nodes = partition.phases[TRAIN][0].graph.net.nodes if TRAIN in partition.phases else []
    return next((node.layer for node in nodes if node.name == name), None)


def _build_training_layer(like: Layer, i: int, partition: Partition) -> Layer | None:
    """The input layer ``i`` of the job, with the folder of ``like``; None if its data is not here or has a fault."""
    conf = partition.job.neuralnet.layer[i]
    kind = layer_class(type_name(conf), who=conf.name)
    if not issubclass(kind, ImageInput):
        return None
    try:
        return kind(conf, (), folder=like.folder, training=True, data_cache=like.data_cache)
    except JobError:
        return None


def _find_class_names(layer: Layer | None) -> tuple[str, ...]:
    try:
        return layer.class_names() if isinstance(layer, ImageInput) else ()
    except (JobError, OSError):
        return ()


def _make_error(
    trained: ImageInput, other: ImageInput, wanted: tuple[str, ...], found: tuple[str, ...]
) -> DataError:  # fmt: skip
    (path, training_path) = (other.conf.image_conf.path, trained.conf.image_conf.path)
    expected = f"the classes of the training, {_show_class_names(wanted)} of {training_path}"
    return DataError(f"{path}: expected {expected}, got {_describe_difference(wanted, found)}; {_hint(wanted, found)}")


def _describe_difference(wanted: Sequence[str], found: Sequence[str]) -> str:
    """What ``found`` lacks, what it has besides, or its order."""
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    lacks = f"no {_show_class_names(missing)}" if missing else ""
    has = f"{_show_class_names(extra)} besides" if extra else ""
    return ", ".join(filter(None, [lacks, has])) or f"the order {_show_class_names(found)}"


def _hint(wanted: Sequence[str], found: Sequence[str]) -> str:
    """The next step. A set may lack classes, but have no others."""
    if any(name not in wanted for name in found):
        return "rename the folders, move them away, or train with them"
    names = ", ".join(f'"{name}"' for name in wanted)
    # Named for all, so that a class that the training set lacks one day keeps the others where they are.
    return f"write classes: [{names}] in image_conf of every layer of this name, so that each class keeps its number"


def _show_class_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
