"""Memory orders of a net's tensors, a function of the net and of the kernels alone.

They depend neither on the worker nor on the partitioning. Arrays are sent in memory order, so both ends must agree.
"""

from __future__ import annotations

from netpart.graph.net import Net, Node
from netpart.kernels.reference import Kernels
from netpart.layers.layer import MemoryOrder
from netpart.program.buffers import Order
from netpart.spec import Shape

Orders = list[Order]
"""The order of each node of a net."""


def memory_orders(net: Net, kernels: type[Kernels]) -> Orders:
    """The order of each node's tensors: the one its layer prefers if ``kernels`` want channels last, else row-major."""
    found: Orders = []
    for node in net.nodes:
        found.append(_node_order(net, node, found) if kernels.channels_last else ())
    return found


def _node_order(net: Net, node: Node, before: Orders) -> Order:
    """The order of one node, given those of the nodes ``before`` it; an input has the order that its readers want."""
    if node.layer.memory_order == MemoryOrder.CHANNELS_LAST or (
        node.layer.is_input and _wanted_channels_last(net, node)
    ):
        return channels_last_order(node.layer.output.rank)
    if node.layer.memory_order == MemoryOrder.PLAIN or not node.sources:
        return ()
    # A layer without a preference keeps its input's order: of several inputs, that of the first of the output's shape.
    alike = (source for source in node.sources if net.spec(source).shape == node.layer.output.shape)
    first = next(alike, node.sources[0])
    return order_for_shape(before[first.node], net.spec(first).shape)


def _wanted_channels_last(net: Net, node: Node) -> bool:
    """True if all layers that read an input want its channels last."""
    rank = node.layer.output.rank
    readers = [
        each.layer
        for each in net.nodes
        for source in each.sources
        if source.node == node.index and net.spec(source).rank == rank
    ]
    wishes = {layer.memory_order if layer.output.rank == rank else MemoryOrder.PLAIN for layer in readers}
    return wishes == {MemoryOrder.CHANNELS_LAST}


def channels_last_order(rank: int) -> Order:
    """The order (batch, space, channels) of ``rank`` axes; () if there is no space, as it then equals row-major."""
    return (0, *range(2, rank), 1) if rank > 2 else ()


def order_for_shape(order: Order, shape: Shape) -> Order:
    """The order of a tensor of ``shape`` at a node of ``order``: () unless it has as many axes."""
    return order if len(order) == len(shape) else ()
