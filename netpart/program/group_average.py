"""Averages of parameters over groups: one all-reduce over the workers with the same number in all groups."""

from __future__ import annotations

from netpart.choices import RING, TREE
from netpart.collectives.kinds import ALL_REDUCE
from netpart.program.exchange import Exchange, plan_exchange
from netpart.program.instructions import PHASE_CODES, Channel, Way
from netpart.proto.cluster import Cluster

AVERAGE = Channel(PHASE_CODES["train"], Way.AVERAGE, 0, 0)
"""The channel on which parameters are averaged."""


def averaging_exchange(cluster: Cluster, rank: int, elements: int, itemsize: int) -> Exchange:
    """The all-reduce of ``elements`` parameters of ``rank`` over the groups: a ring, or a tree.

    A ring of three or more members adds each block in a different order. Workers of a group may hold copies of a
    parameter whose blocks are cut differently. With a ring such copies would differ in their last bits, so there a tree
    is used.
    """
    algorithm = RING if cluster.workers == 1 or cluster.groups == 2 else TREE
    return plan_exchange(ALL_REDUCE, cluster.replicas(rank), ((0, elements),), (), algorithm, itemsize)
