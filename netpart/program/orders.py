"""Orders: how every tensor of a net lies in memory, a function of the net and of the kernels alone.

Neither worker nor cut has a say, so both ends of a wire, which carries arrays as they lie, agree.
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
    """The order that each node gives its tensors: that of its layer's wish if ``kernels`` like channels last."""
    found: Orders = []
    for node in net.nodes:
        found.append(_node_order(net, node, found) if kernels.channels_last else ())
    return found


def _node_order(net: Net, node: Node, before: Orders) -> Order:
    """The order of one node, given those of its sources; rows are put where those that read them want them."""
    if node.layer.memory_order == MemoryOrder.CHANNELS_LAST or (
        node.layer.is_input and _wanted_channels_last(net, node)
    ):
        return channels_last_order(node.layer.output.rank)
    if node.layer.memory_order == MemoryOrder.PLAIN or not node.sources:
        return ()
    alike = (source for source in node.sources if net.spec(source).shape == node.layer.output.shape)
    first = next(alike, node.sources[0])
    return order_for_shape(before[first.node], net.spec(first).shape)


def _wanted_channels_last(net: Net, node: Node) -> bool:
    """True if all that read the rows of an input want them with the channels last."""
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
    """(batch, space, channels); () where nothing moves."""
    return (0, *range(2, rank), 1) if rank > 2 else ()


def order_for_shape(order: Order, shape: Shape) -> Order:
    """The order in which a tensor of ``shape`` lies at a node of ``order``."""
    return order if len(order) == len(shape) else ()
