"""Predicted traffic between worker groups, and between groups and their servers, in bytes per step."""

from __future__ import annotations

from dataclasses import dataclass

from netpart.graph.partition import Partition
from netpart.plan.price.ledger import average_entries, pull_entries, push_entries
from netpart.proto.element import float_size
from netpart.units import bytes_text


@dataclass(frozen=True)
class GroupTraffic:
    """Traffic of worker groups. ``cluster`` describes the groups and servers.

    ``pushed`` and ``pulled`` are bytes of one step of one group, to and from all servers. ``averaged`` are the bytes of
    one average over all groups, which happens every ``sync`` steps of each group.
    """

    cluster: str
    pushed: int
    pulled: int
    averaged: int
    sync: int

    def __str__(self) -> str:
        if self.averaged:
            steps = f"every {self.sync} of their steps" if self.sync > 1 else "after each of their steps"
            return f"{self.cluster}: {steps} they average their parameters, which moves {bytes_text(self.averaged)}"
        traffic = f"pushes {bytes_text(self.pushed)} of gradients and pulls {bytes_text(self.pulled)} of parameters"
        return f"{self.cluster}: in each of its steps a group {traffic}"


def predict_group_traffic(partition: Partition) -> GroupTraffic | None:
    """The traffic between the groups and servers of ``partition``; None for one group that sums gradients itself."""
    cluster = partition.cluster
    width = float_size(partition.job)
    if cluster.size == cluster.workers:
        return None
    pushed = sum(entry.nbytes for entry in push_entries(partition, 0, width))
    pulled = sum(entry.nbytes for entry in pull_entries(partition, 0, width))
    averaged = sum(
        entry.nbytes for number in range(cluster.workers) for entry in average_entries(partition, number, width)
    )
    return GroupTraffic(str(cluster), pushed, pulled, averaged, cluster.sync)
