"""Pass: whose replicas compute the same bits, so that their parameters need not be summed to stay equal.

Full replicas compute the same numbers, but not always the same bits: a matrix product cut elsewhere rounds
otherwise, and three addends added in two orders make two sums. Where that can happen, one replica's gradient is
summed over the holders instead of being computed by each, as if the others had nothing to add.
"""

from __future__ import annotations

from netpart.graph.net import Net
from netpart.graph.passes.ask import Demand, ShardDemands
from netpart.graph.passes.gradients import GradientPlan, merge_demands, reader_class
from netpart.spec import Placement


def find_bit_equal_nodes(
    net: Net, placements: list[Placement], answers: ShardDemands, plan: GradientPlan
) -> list[bool]:
    """Per node: True if its replicas hold whole gradients and all they compute is bit-equal."""
    values = _equal_values(net, placements)
    agree = [False] * len(net.nodes)
    for node in reversed(net.nodes):
        placement = placements[node.index]
        if not plan.full[node.index] or not all(values[s.node] for s in node.sources):
            continue
        demands = [[d for d in of_shard if d.gradient] for of_shard in merge_demands(answers.demands[node.index])]
        summed = placement.has_no_replicas or plan.reduced[node.index] or node.layer.is_loss
        agree[node.index] = summed or _equal_sums(placement, placements, demands, agree)
    return agree


def _equal_values(net: Net, placements: list[Placement]) -> list[bool]:
    """Per node: True if every shard that holds an element of the output holds the same bits."""
    equal: list[bool] = []
    for node in net.nodes:
        whole = node.layer.is_input or placements[node.index].exact
        equal.append(whole and all(equal[s.node] for s in node.sources))
    return equal


def _equal_sums(
    placement: Placement, placements: list[Placement], demands: list[list[Demand]], agree: list[bool]
) -> bool:
    """True if every replica of a class adds up the same gradients in the same order, or only two of them."""
    for members in (m for m in placement.classes.values() if len(m) > 1):
        met = [[(d.reader, d.k, reader_class(placements, d), d.box) for d in demands[i]] for i in members]
        local = all(
            placements[d.reader].shards[d.j].worker == placement.shards[i].worker for i in members for d in demands[i]
        )
        if not all(agree[d.reader] for i in members for d in demands[i]):
            return False
        if len(met[0]) > 2 and not (local and all(m == met[0] for m in met)):
            return False
    return True
