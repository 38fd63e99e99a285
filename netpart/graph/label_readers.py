"""Readers of labels: which layers of a net read the labels or tokens of an input, and which classes they know."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from netpart.spec import INT

if TYPE_CHECKING:
    from netpart.graph.net import Net, Node


class LabelReader(NamedTuple):
    """A reader of output ``output`` of an input (0 tokens, 1 labels): its classes, and the label that it ignores."""

    output: int
    classes: int
    ignored: int | None


def find_label_readers(net: Net, node: Node) -> list[LabelReader]:
    """The layers of ``net`` that read the tokens or the labels of ``node`` as classes."""
    if all(spec.dtype != INT for spec in node.layer.outputs):
        return []
    return [
        LabelReader(source.output, reader.layer.classes, reader.layer.ignored_label)
        for reader in net.nodes
        if reader.layer.classes
        for source in reader.sources
        if source.node == node.index and net.spec(source).dtype == INT
    ]


def tell_inputs_their_classes(net: Net) -> None:
    """Let the input layers of ``net`` know the classes of their labels, so that they can name the file of another."""
    for node in net.nodes:
        if node.layer.is_input:
            found = find_label_readers(net, node)
            node.layer.read_classes = tuple((each.classes, each.ignored) for each in found if each.output)
