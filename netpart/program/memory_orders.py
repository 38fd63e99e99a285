"""Memory orders of a net's tensors, a function of the net, of the kernels, and of what crosses workers.

They do not depend on the worker. Arrays are sent in memory order, so both ends must agree: a tensor that crosses
workers has the order that all kernels of a job give it. Others may keep the order of what they are made from.

query (batch, positions, heads, width)     kTranspose     (batch, heads, positions, width), in the same memory
"""

from __future__ import annotations

from collections.abc import Set

from netpart.graph.net import Net, Node
from netpart.kernels.reference import Kernels
from netpart.layers.layer import MemoryOrder, ParamSpec
from netpart.program.buffers import Order, move_axes, same_layout
from netpart.spec import Shape

Orders = list[Order]
"""The order of each node of a net."""


def memory_orders(net: Net, kernels: type[Kernels]) -> Orders:
    """The order of each node's tensors: the one its layer prefers if ``kernels`` want channels last, else row-major."""
    found: Orders = []
    for node in net.nodes:
        found.append(_node_order(net, node, found) if kernels.channels_last else ())
    return found


def kept_orders(net: Net, kernels: type[Kernels], crossing: Set[int] = frozenset()) -> Orders:
    """The ``memory_orders``, except that layers that can keep the order of their source do so. The tensors of the nodes
    ``crossing`` cross workers."""
    found = memory_orders(net, kernels)
    for node in net.nodes if kernels.any_order else ():
        if node.index not in crossing:
            found[node.index] = _kept_order(net, node, kernels, found, crossing)
    return found


def input_order(net: Net, node: Node, kernels: type[Kernels], orders: Orders) -> Order:
    """The order in which ``node`` reads its inputs: that of its own tensors, or, if it only moves axes, any."""
    return orders[node.sources[0].node] if node.layer.moved_axes and kernels.any_order else orders[node.index]


def _kept_order(net: Net, node: Node, kernels: type[Kernels], orders: Orders, crossing: Set[int]) -> Order:
    """The order of the source of ``node``, moved as its axes are, if the layer and its readers take it; else its own
    one."""
    layer = node.layer
    own = orders[node.index]
    if not node.sources or net.spec(node.sources[0]).rank != layer.output.rank:
        return own
    moved = move_axes(orders[node.sources[0].node], layer.moved_axes, layer.output.rank)
    if not layer.keeps_order(kernels, moved):
        return own
    if same_layout(layer.output.shape, moved, ()):
        return ()
    # Each reader that takes no such order would make a copy of its own.
    readers = [each for each in net.nodes if any(source.node == node.index for source in each.sources)]
    taken = all(each.index not in crossing and each.layer.keeps_order(kernels, moved) for each in readers)
    return moved if taken or not layer.moved_axes else own


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


def rounded_order(spec: ParamSpec) -> Order:
    """The order of a copy of a parameter in bfloat16. From channels last, kernels make their own orders faster: copy
    and orders of a weight of 512 x 512 x 3 x 3 take 2 ms instead of 4."""
    return channels_last_order(len(spec.shape)) if spec.channels_last else ()


def order_for_shape(order: Order, shape: Shape) -> Order:
    """The order of a tensor of ``shape`` at a node of ``order``: () unless it has as many axes."""
    return order if len(order) == len(shape) else ()
