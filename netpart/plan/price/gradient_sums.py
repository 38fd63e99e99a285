"""Gradient sums: the seconds by which the sums of gradients outlast the backward pass.

A bucket is summed as soon as the last micro-batch has made all its gradients, after the buckets before it of the same
workers. Buckets of one chain are under way at the same time: all together they take what their messages take if they
are sent at once. A worker that sends or takes a message computes nothing meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netpart.graph.partition import Partition
from netpart.plan.price.devices import Devices
from netpart.plan.price.ledger import LedgerFlow
from netpart.plan.price.transfers import connected_by_flows, flow_arrivals, flow_calls
from netpart.program.instructions import Way

SUM_WAYS = (Way.BUCKET, Way.VALUES, Way.NORM)
"""Messages that carry gradients of parameters, updated values, or the gradient norm."""


class BucketSum(NamedTuple):
    """The sum of a bucket: the instant at which its gradients are there, its messages, and its seconds by itself."""

    ready: float
    flows: list[LedgerFlow]
    seconds: float


def unhidden_seconds(
    partition: Partition, sums: Sequence[LedgerFlow], ends: Mapping[int, float], devices: Devices
) -> float:
    """Seconds that ``sums`` continue after backward. ``ends`` has by node when its backward pass is done."""
    # The norm is summed when all gradients are.
    norm = max(flow_arrivals([flow for flow in sums if flow.channel.way == Way.NORM], devices), default=0.0)
    found = [flow for flow in sums if flow.channel.way != Way.NORM]
    chains = _bucket_chains(partition, found, ends, devices)
    taken = max(flow_arrivals(found, devices), default=0.0)
    outlasting = [_chain_end(chain, taken) - max(ends.values(), default=0.0) for chain in chains]
    return max([0.0, _calling_seconds(chains, devices), *outlasting]) + norm


def _bucket_chains(
    partition: Partition, flows: Sequence[LedgerFlow], ends: Mapping[int, float], devices: Devices
) -> list[list[BucketSum]]:
    """The sums of each group of connected workers, in the order in which their gradients are there."""
    of_bucket: dict[int, list[LedgerFlow]] = defaultdict(list)
    for flow in flows:
        of_bucket[flow.channel.edge].append(flow)
    groups = connected_by_flows(flows)
    chains: dict[int, list[BucketSum]] = defaultdict(list)
    for number, own in of_bucket.items():
        seconds = max(flow_arrivals(own, devices))
        found = BucketSum(_ready_instant(partition, number, ends), own, seconds)
        chains[min(groups[next(iter(own[0].sent))])].append(found)
    return [sorted(chain, key=lambda each: each.ready) for chain in chains.values()]


def _ready_instant(partition: Partition, bucket: int, ends: Mapping[int, float]) -> float:
    """The instant at which the last gradient of a bucket is there: that of all layers that use its parameters."""
    parameters = {cell.parameter for cell in partition.buckets[bucket].cells}
    users = (node.index for node in partition.graph.net.nodes if not parameters.isdisjoint(node.params))
    return max((ends.get(node, 0.0) for node in users), default=0.0)


def _chain_end(chain: Sequence[BucketSum], taken: float) -> float:
    """The instant at which the last sum of ``chain`` is done, if all sums at once would take ``taken`` seconds."""
    pace = min(1.0, taken / sum(each.seconds for each in chain))
    now = 0.0
    for each in chain:
        now = max(now, each.ready) + pace * each.seconds
    return now


def _calling_seconds(chains: Sequence[Sequence[BucketSum]], devices: Devices) -> float:
    """The seconds by which messages lengthen the work of some worker. The last sums of all chains begin after it."""
    ends = [flow for chain in chains for flow in chain[-1].flows]
    earlier = [flow for chain in chains for each in chain[:-1] for flow in each.flows]
    waiting = max(flow_calls(earlier, devices)) + max(flow_arrivals(ends, devices))
    return max(waiting, *flow_calls([*ends, *earlier], devices))
