"""How groups average their parameters: one all-reduce over the same worker of all groups."""

from __future__ import annotations

from netpart.choices import RING, TREE
from netpart.collectives.kinds import ALL_REDUCE
from netpart.program.exchange import Exchange, plan_exchange
from netpart.program.instructions import PHASE_CODES, Channel, Way
from netpart.proto.cluster import Cluster

AVERAGE = Channel(PHASE_CODES["train"], Way.AVERAGE, 0, 0)
"""On which parameters are averaged."""


def averaging_exchange(cluster: Cluster, rank: int, elements: int, itemsize: int) -> Exchange:
    """The all-reduce of ``elements`` parameters of ``rank``, around a ring of the groups.

    A ring of three or more adds each block in an order of its own. Workers that hold copies of a parameter, in blocks
    that are cut differently, would get copies that differ in their last bits: there it is a tree.
    """
    algorithm = RING if cluster.workers == 1 or cluster.groups == 2 else TREE
    return plan_exchange(ALL_REDUCE, cluster.replicas(rank), ((0, elements),), (), algorithm, itemsize)
