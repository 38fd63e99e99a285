"""Pass: finds the nodes whose replicas compute the same bits, so that their parameters stay equal without a sum.

Full replicas compute the same numbers, but not always the same bits: a matrix product that is cut differently rounds
differently, and three addends added in two orders can give two sums. Where that can happen, the gradient of one replica
is summed over the holders as if the others contributed nothing, instead of being computed by each holder.
"""

from __future__ import annotations

from netpart.graph.net import Net
from netpart.graph.passes.ask import Demand, ShardDemands
from netpart.graph.passes.replica_gradients import GradientPlan, merge_demands, reader_class
from netpart.spec import Placement


def find_bit_equal_nodes(
    net: Net, placements: list[Placement], answers: ShardDemands, plan: GradientPlan
) -> list[bool]:
    """Per node: True if its replicas hold whole gradients and all values that they compute are bit-equal."""
    values = _equal_values(net, placements)
    agree = [False] * len(net.nodes)
    # In reverse, because ``_equal_sums`` reads ``agree`` of the readers of a node.
    for node in reversed(net.nodes):
        placement = placements[node.index]
        if not plan.full[node.index] or not all(values[s.node] for s in node.sources):
            continue
        demands = [[d for d in of_shard if d.gradient] for of_shard in merge_demands(answers.demands[node.index])]
        summed = placement.has_no_replicas or plan.reduced[node.index] or node.layer.is_loss
        agree[node.index] = summed or _equal_sums(placement, placements, demands, agree)
    return agree


def _equal_values(net: Net, placements: list[Placement]) -> list[bool]:
    """Per node: True if all shards that hold an element of the output hold the same bits of it."""
    equal: list[bool] = []
    for node in net.nodes:
        whole = node.layer.is_input or placements[node.index].exact
        equal.append(whole and all(equal[s.node] for s in node.sources))
    return equal


def _equal_sums(
    placement: Placement, placements: list[Placement], demands: list[list[Demand]], agree: list[bool]
) -> bool:
    """True if every replica of a class adds the same gradients in the same order, or at most two of them."""
    for members in (m for m in placement.classes.values() if len(m) > 1):
        met = [[(d.reader, d.k, reader_class(placements, d), d.box) for d in demands[i]] for i in members]
        local = all(
            placements[d.reader].shards[d.j].worker == placement.shards[i].worker for i in members for d in demands[i]
        )
        if not all(agree[d.reader] for i in members for d in demands[i]):
            return False
        # Floating-point addition is commutative but not associative: two addends give the same bits in either order,
        # three need not. Three or more must come from the same readers, all on the replica's own worker.
        if len(met[0]) > 2 and not (local and all(m == met[0] for m in met)):
            return False
    return True
