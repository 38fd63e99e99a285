"""Device levels: the levels of links between some devices, and the runs of workers that may compute a stage there."""

from __future__ import annotations

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


def stage_runs(workers: int) -> list[range]:
    """The runs of ``workers`` workers that may compute a stage: as many as divide their number, or a power of two, from
    a multiple of that on; or all but as many, the first or the last ones."""
    counts = [n for n in range(1, workers) if workers % n == 0 or n & (n - 1) == 0]
    some = [range(a, a + n) for n in counts for a in range(0, workers - n + 1, n)]
    rest = [run for n in counts for run in (range(workers - n), range(n, workers))]
    return list(dict.fromkeys([*some, *rest]))
