"""Window copies: the copies within a worker of tensors that are windows of larger ones.

A Concate copies what is local into its place. A message is copied by its transport anyway, and takes longer where its
tensor is no run of memory at one of its ends. A kernel reads a slice that is no run of memory from a copy. Backward
copies gradients the other way, but writes one that is a run of memory where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from netpart.graph.graph import BRIDGE_DST, CONCATE, Graph, Part, PartInput
from netpart.program.buffers import Order, View, is_contiguous
from netpart.program.memory_orders import order_for_shape
from netpart.spec import Region, Shape, extent


class WindowCopy(NamedTuple):
    """A copy of a tensor of ``shape`` into, or out of, an array of shape ``whole``, both in ``order``.

    ``dense``: the window is one run of memory. ``sent``: the copy is part of a message, and counts as far as it takes
    longer than that of one run. ``returned``: backward copies the gradient, too.
    """

    shape: Shape
    whole: Shape
    order: Order
    dense: bool
    sent: bool
    returned: bool


def input_copies(graph: Graph, part: Part, orders: Sequence[Order]) -> Iterator[WindowCopy]:
    """The copies that make the inputs of a part of a layer; ``orders`` are those of the tensors of each node."""
    for feed in part.feeds:
        if feed.part.kind == CONCATE:
            for each in feed.part.feeds:
                yield from _joined_copies(graph, each, feed.part, orders[feed.part.node])
        else:
            yield from _sliced_copies(graph, feed, orders[feed.part.node])


def _joined_copies(graph: Graph, feed: PartInput, helper: Part, order: Order) -> Iterator[WindowCopy]:
    """The copies of one feed of a Concate."""
    sent = feed.part.kind == BRIDGE_DST
    if sent:
        yield from _sliced_copies(graph, feed, order)
    found = _window_copy(feed.region, helper.region, order, sent, feed.gradient)
    if not (found.dense and sent):
        yield found


def _sliced_copies(graph: Graph, feed: PartInput, order: Order) -> Iterator[WindowCopy]:
    """The copy of a feed that is a slice of a larger tensor, on this worker or on the one that sends it."""
    peer = feed.part.peer
    cut = feed if peer is None else peer.feeds[0]
    around = graph.held_region(cut.part, cut.output)
    found = _window_copy(cut.region, around, order, peer is not None, feed.gradient)
    if not found.dense:
        yield found


def _window_copy(region: Region, around: Region, order: Order, sent: bool, gradient: bool) -> WindowCopy:
    """The copy of ``region`` in a tensor of the region ``around``."""
    shape, whole = extent(region), extent(around)
    order = order_for_shape(order, shape)
    box = tuple((lo - start, hi - start) for (lo, hi), (start, _) in zip(region, around, strict=True))
    dense = is_contiguous(View(-1, box), whole, order)
    return WindowCopy(shape, whole, order, dense, sent, gradient and not dense)
