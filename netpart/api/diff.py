"""netpart.diff: two cuts compared."""

from __future__ import annotations

from netpart.graph.partition import Partition
from netpart.plan.text.diff import PartitionDifference, compare_partitions


def diff(before: Partition, after: Partition) -> PartitionDifference:
    """The layers that ``after`` cuts differently, and the figures of a training step of both, in bytes and FLOPs.

    ``before`` and ``after`` are results of ``partition``, of one job or of two.
    """
    return compare_partitions(before, after)
