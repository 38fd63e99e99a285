"""The collectives by name, and the algorithms that implement each of them."""

from __future__ import annotations

from functools import cache

from netpart.choices import DIRECT, DOUBLING, HIERARCHICAL, NCCL, RING, TREE
from netpart.collectives import direct, doubling, hierarchical, ring, tree
from netpart.collectives.network import HostPath
from netpart.collectives.schedule import BlockMessages, Schedule, reverse_schedule
from netpart.spec import Region, extent

ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE = "all-gather", "reduce-scatter", "all-reduce"
BROADCAST, REDUCE, ALL_TO_ALL = "broadcast", "reduce", "all-to-all"
KINDS = (ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, BROADCAST, REDUCE, ALL_TO_ALL)

SUMMING = (REDUCE_SCATTER, ALL_REDUCE, REDUCE)
"""The collectives that add blocks."""

SWAP = "swap"
"""An all-reduce of two in one round. Two messages of a channel may be in flight: a member that has finished cannot know
whether the other has."""

GRADIENT = {
    ALL_GATHER: REDUCE_SCATTER, REDUCE_SCATTER: ALL_GATHER, ALL_REDUCE: ALL_REDUCE,
    BROADCAST: REDUCE, REDUCE: BROADCAST, ALL_TO_ALL: ALL_TO_ALL,
}  # fmt: skip
"""The collective that computes the gradient of each collective: the same blocks travel in the opposite direction."""

_GATHER = {
    RING: ring.ring_all_gather,
    DOUBLING: doubling.doubling_all_gather,
    TREE: tree.tree_all_gather,
    DIRECT: direct.direct_all_gather,
    NCCL: direct.direct_all_gather,  # NCCL chooses its messages itself: this only states which members exchange blocks
}
_SPREAD = {
    RING: ring.ring_broadcast, DOUBLING: tree.tree_broadcast, TREE: tree.tree_broadcast,
    DIRECT: direct.direct_broadcast,
    NCCL: direct.direct_broadcast,
}  # fmt: skip
"""The algorithms of a broadcast. Recursive doubling that starts from a single place is the binomial tree."""


@cache
def collective_schedule(kind: str, algorithm: str, n: int, paths: tuple[HostPath, ...] = ()) -> Schedule:
    """The messages of a collective of ``n`` members, which are numbered by their places 0 to n - 1.

    All-gather and reduce-scatter have n blocks; block i belongs to place i. A broadcast starts and a reduce ends at
    place 0. These two and the all-reduce have ``count_blocks`` blocks. Block i·n + j of an all-to-all goes from i to j,
    always directly. A swap is an all-reduce of two. ``paths`` are the hosts of each member, for HIERARCHICAL. Raises
    KeyError for another kind or algorithm.
    """
    return Schedule(_collective_messages(kind, algorithm, n, paths))


def _collective_messages(kind: str, algorithm: str, n: int, paths: tuple[HostPath, ...]) -> BlockMessages:
    """The messages of ``collective_schedule``."""
    if algorithm == SWAP:
        return direct.swap_all_reduce()
    if kind == ALL_TO_ALL:
        return direct.direct_all_to_all(n)
    if kind in (BROADCAST, REDUCE):
        spread = _SPREAD[algorithm](n) if algorithm != HIERARCHICAL else hierarchical.hierarchical_broadcast(n, paths)
        return spread if kind == BROADCAST else reverse_schedule(spread)
    if kind == ALL_REDUCE and algorithm == TREE:
        return collective_schedule(REDUCE, TREE, n, paths) + collective_schedule(BROADCAST, TREE, n, paths)
    if kind == ALL_GATHER:
        return _GATHER[algorithm](n) if algorithm != HIERARCHICAL else hierarchical.hierarchical_all_gather(n, paths)
    gather = collective_schedule(ALL_GATHER, algorithm, n, paths)
    if kind == REDUCE_SCATTER:
        return reverse_schedule(gather)
    if kind == ALL_REDUCE:
        return collective_schedule(REDUCE_SCATTER, algorithm, n, paths) + gather
    raise KeyError(kind)


def count_blocks(kind: str, algorithm: str, n: int) -> int:
    """The number of blocks that the tensor of a collective is cut into."""
    if kind in (BROADCAST, REDUCE):
        return n if algorithm == RING else 1
    if kind == ALL_REDUCE:
        return 1 if algorithm in (TREE, SWAP) else n
    return n * n if kind == ALL_TO_ALL else n


def cut_into_blocks(region: Region, parts: int) -> tuple[Region, ...]:
    """``region`` cut into ``parts`` boxes along one axis: the first that is long enough, or else the longest.

    Some boxes are empty if no axis has ``parts`` elements.
    """
    if parts == 1:
        return (region,)
    extents = extent(region)
    # The earlier the axis, the fewer contiguous runs a block has in row-major memory: one on axis 0.
    axis = next((a for a, n in enumerate(extents) if n >= parts), extents.index(max(extents)))
    lo, n = region[axis][0], extents[axis]
    cuts = [(lo + n * i // parts, lo + n * (i + 1) // parts) for i in range(parts)]
    return tuple((*region[:axis], cut, *region[axis + 1 :]) for cut in cuts)
