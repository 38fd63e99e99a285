"""Plans by hand: what people write for a net, so that what is searched can be compared with it.

A plan gives each layer a direction along each axis of a mesh of the workers. A layer that cannot be cut so is cut on
the batch along that axis, or else copied.

- megatron: products of transformers on heads and neurons, then on inputs, all else copied (Shoeybi et al.,
  arXiv:1909.08053, section 3); *of vocabulary* also cuts the embedding and the classes, *on rows* what lies between
  products on the batch, as the mixed jobs of the zoo do.
- rows, columns: each image on its space (Dryden et al., IPDPS 2019, section 3.2); *mixed* cuts the lowest level of a
  U-Net on channels, as the mixed jobs of the zoo do.
- filters, channels: convolutions on their outputs, or on their inputs (Dryden et al., SC 2019, section 3).
- trick: the first layers on the batch, from some inner product on the neurons (Krizhevsky, arXiv:1404.5997).

On a mesh of two axes the batch is along the first: with two hosts, each host has its own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

from netpart.graph.net import Net, Node
from netpart.layers.convolution import Convolution
from netpart.layers.inner_product import InnerProduct
from netpart.layers.layer import INPUT
from netpart.plan.optimal.chosen_scheme import scheme_from_choices
from netpart.plan.optimal.cut_choices import REPLICA, CutChoice, Over
from netpart.plan.schemes.placing import BATCH, NEURONS, Scheme, can_cut

ROWS, COLUMNS = 2, 3
"""Axes of the outputs of a convolution."""
FEATURES = 2
"""The axis of features of a sequence."""
BLOCK: dict[str, Over] = {
    "query": FEATURES, "query-heads": FEATURES, "query-turned": 1, "key": FEATURES, "key-heads": FEATURES,
    "key-turned": 1, "value": FEATURES, "value-heads": FEATURES, "value-turned": 1, "attention": 1, "back": FEATURES,
    "joined": FEATURES, "out": INPUT, "fc1": FEATURES, "gelu": FEATURES, "fc2": INPUT,
}  # fmt: skip
"""Megatron's cut by the name of a layer within its block."""
VOCABULARY: dict[str, Over] = {"tokens": INPUT, "next": FEATURES, "loss": FEATURES}
"""The same for the layers of which each part has a part of the vocabulary."""
Direction = Callable[[Node], Over]
"""The direction that a plan gives a layer."""


@dataclass(frozen=True)
class HandPlan:
    """A plan: ``along`` gives the direction of each layer for each axis of a mesh of ``extents`` workers."""

    name: str
    extents: tuple[int, ...]
    along: tuple[Direction, ...]

    def scheme(self, net: Net) -> Scheme:
        """The scheme that places the layers of ``net``."""
        return scheme_from_choices({node.name: self._choose(node) for node in net.nodes})

    def _choose(self, node: Node) -> CutChoice:
        """The grid of one layer: a direction that it has already, or cannot have, is the batch, or else copies."""
        over: list[Over] = []
        for direction, extent in zip(self.along, self.extents, strict=True):
            wanted = (each for each in (direction(node), BATCH) if each not in over and _has_parts(node, each, extent))
            over.append(next(wanted, REPLICA))
        workers = tuple(range(prod(self.extents)))
        return CutChoice(workers, tuple(over), tuple((1.0,) * extent for extent in self.extents))


def _has_parts(node: Node, over: Over, count: int) -> bool:
    """True for copies, and if ``node`` can be cut into ``count`` parts in the direction ``over``."""
    if over == REPLICA:
        return True
    if not isinstance(over, int):
        return over in node.layer.cuts() and (node.layer.contraction() or (0,))[0] >= count
    return can_cut(node, over) and node.layer.output.shape[over] >= count


def hand_plans(net: Net, workers: int) -> Iterator[HandPlan]:
    """All plans by hand for ``net``: by themselves, and with the batch on grids."""
    meshes = [(outer, workers // outer) for outer in range(2, workers) if workers % outer == 0]
    for name, direction in _directions(net):
        yield HandPlan(name, (workers,), (direction,))
        for mesh in meshes:
            yield HandPlan(f"batch × {name}, {mesh[0]} × {mesh[1]}", mesh, (_on_batch, direction))
    if any(isinstance(node.layer, Convolution) for node in net.nodes):
        for mesh in meshes:
            yield HandPlan(f"rows × columns, {mesh[0]} × {mesh[1]}", mesh, (_on_rows, _on_columns))


def _directions(net: Net) -> Iterator[tuple[str, Direction]]:
    """The plans of one axis that suit ``net``: their names and directions."""
    if any(node.name.endswith("-attention") for node in net.nodes):
        yield "megatron", _by_name(BLOCK, REPLICA)
        yield "megatron on rows", _by_name(BLOCK, BATCH)
        if any(node.name == "next" for node in net.nodes):
            yield "megatron of vocabulary", _by_name(BLOCK | VOCABULARY, REPLICA)
    elif any(isinstance(node.layer, Convolution) for node in net.nodes):
        yield "rows", _on_rows
        yield "filters", lambda node: NEURONS
        yield "channels", lambda node: INPUT if isinstance(node.layer, Convolution) else NEURONS
    if any(node.name == "u2-up" for node in net.nodes):
        yield "mixed", _mixed_levels(net)
    products = [node for node in net.nodes if isinstance(node.layer, InnerProduct)]
    for first in products if len(products) <= 4 else []:
        yield f"trick from {first.name}", _switched_from(first)


def _on_batch(node: Node) -> Over:
    return BATCH


def _on_rows(node: Node) -> Over:
    return ROWS


def _on_columns(node: Node) -> Over:
    return COLUMNS


def _by_name(cuts: dict[str, Over], rest: Over) -> Direction:
    """The direction in ``cuts`` of the name of a layer without that of its block, or ``rest``."""

    def direction(node: Node) -> Over:
        block, _, name = node.name.partition("-")
        return cuts.get(name if block[1:].isdigit() else node.name, rest)

    return direction


def _mixed_levels(net: Net) -> Direction:
    """The lowest level of a U-Net, which has the most channels, on these, all others on rows."""
    lowest = max(node.name.split("-")[0] for node in net.nodes if node.name[0] == "d" and node.name[1:2].isdigit())
    return lambda node: NEURONS if node.name.startswith(f"{lowest}-") else ROWS


def _switched_from(first: Node) -> Direction:
    """Layers before ``first`` on the batch, it and all after it on the neurons."""
    return lambda node: NEURONS if node.index >= first.index else BATCH
