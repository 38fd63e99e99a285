"""The scheme of a choice for each layer: places the nets of all phases and micro-batches."""

from __future__ import annotations

from collections.abc import Mapping

from netpart.graph.net import Net, Node
from netpart.graph.passes.place import place_record_sources
from netpart.plan.optimal.cut_choices import CutChoice, choice_placement
from netpart.plan.schemes.placing import BATCH, Scheme, can_cut, node_readers
from netpart.spec import RECORD, Placement, single_placement


def scheme_from_choices(choices: Mapping[str, CutChoice]) -> Scheme:
    """The scheme that places each layer by its choice.

    A layer without one, as those of other phases, is cut on the batch over the workers of its last source, or else of
    its first reader.
    """

    def scheme(net: Net, workers: int) -> list[Placement]:
        found = _complete_choices(net, choices)
        placements = [_place_chosen(node, choice) for node, choice in zip(net.nodes, found, strict=True)]
        place_record_sources(net, placements)
        return placements

    return scheme


def _place_chosen(node: Node, choice: CutChoice) -> Placement:
    """The placement of ``node``; records are placed with their readers, later."""
    if node.layer.output.dtype == RECORD:
        return single_placement(choice.workers[0], node.layer.output)
    return choice_placement(node, choice)


def _complete_choices(net: Net, choices: Mapping[str, CutChoice]) -> list[CutChoice]:
    """The choice of every node."""
    found = [choices.get(node.name) for node in net.nodes]
    for node in net.nodes:
        sources = sorted(source.node for source in node.sources)
        near = found[sources[-1]] if sources else None
        if found[node.index] is None and near is not None:
            found[node.index] = _batch_choice(node, near)
    for node, reading in reversed(list(zip(net.nodes, node_readers(net), strict=True))):
        near = next((found[r.index] for r in reading), None)
        if found[node.index] is None:
            found[node.index] = _batch_choice(node, near or CutChoice((0,)))
    return [choice or CutChoice((0,)) for choice in found]


def _batch_choice(node: Node, near: CutChoice) -> CutChoice:
    """``node`` cut on the batch over the workers of ``near``; whole on the first of them if it cannot be cut so."""
    workers = near.workers
    if len(workers) == 1 or not can_cut(node, BATCH):
        return CutChoice(workers[:1])
    return CutChoice(workers, (BATCH,), ((1.0,) * len(workers),))
