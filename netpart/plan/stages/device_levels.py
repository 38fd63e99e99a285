"""Device levels: the levels of links between some devices, and the runs of workers that may compute a stage there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from netpart.plan.price.devices import Devices
from netpart.plan.stages.link_levels import LinkLevels, flat_levels


def device_levels(devices: Devices) -> LinkLevels:
    """The levels of links of ``devices``, with the slowest link of each level for all of it.

    If hosts differ in the number of their members, all workers count as equally far from each other.
    """
    paths = devices.network.paths
    depths = {len(path) for path in paths}
    if depths in (set(), {0}) or len(depths) > 1:
        return _one_level(devices)
    found = [_level_members(devices, depth) for depth in range(depths.pop(), -1, -1)]
    if any(len(set(members)) > 1 for members, _ in found):
        return _one_level(devices)
    return LinkLevels(tuple(members[0] for members, _ in found), tuple(bandwidth for _, bandwidth in found))


def _one_level(devices: Devices) -> LinkLevels:
    """All devices in one host."""
    return flat_levels(len(devices), devices.between(range(len(devices))).bandwidth)


def _level_members(devices: Devices, depth: int) -> tuple[list[int], float]:
    """The members of each group of workers that share their ``depth`` outermost hosts, and the least bandwidth of a
    member's port."""
    paths = devices.network.paths
    groups = [list(group) for _, group in groupby(range(len(paths)), key=lambda worker: paths[worker][:depth])]
    if depth == len(paths[0]):
        return [len(group) for group in groups], min(devices.between(group).bandwidth for group in groups)
    members = [len({paths[worker][: depth + 1] for worker in group}) for group in groups]
    return members, min(devices.hosts[path[depth]].bandwidth for path in paths)


def stage_runs(levels: LinkLevels) -> list[range]:
    """The runs of workers that may compute a stage: neighbours in one host, or whole hosts that are neighbours in one
    rack, and so on; a power of two of these, or all but as many."""
    found: dict[range, None] = {}
    for count, size in zip(levels.counts, levels.sizes, strict=False):
        for first in range(0, levels.workers, count * size):
            for a, b in _member_runs(count):
                found[range(first + a * size, first + b * size)] = None
    return list(found)


def _member_runs(count: int) -> Iterator[tuple[int, int]]:
    """The runs of some of ``count`` neighbours."""
    powers = {1 << k for k in range(count.bit_length())}
    for members in range(1, count + 1):
        if {members, count - members} & powers or members == count:
            yield from ((a, a + members) for a in range(count - members + 1))
