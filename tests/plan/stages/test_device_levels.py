"""Device levels: hosts and racks of equal size as levels of links, and the runs of workers that a stage may have."""

from __future__ import annotations

import pytest

from netpart.plan.price.devices import Devices, devices_of_cluster, equal_devices
from netpart.plan.stages.device_levels import device_levels, stage_runs
from netpart.plan.stages.link_levels import LinkLevels
from netpart.proto.reader import read_job_text


def devices_of(workers: int, hosts: str) -> Devices:
    text = f"cluster {{ device {{ count: {workers} flops: 1e9 }} link {{ bandwidth: 8e9 }} {hosts} }}"
    return devices_of_cluster(read_job_text(text).proto.cluster)


def test_hosts_and_racks_are_levels() -> None:
    hosts = "host { count: 4 workers: 3 bandwidth: 1e9 }"
    racks = "host { level: 2 count: 2 workers: 6 bandwidth: 2e9 }"
    assert device_levels(devices_of(12, hosts)) == LinkLevels((3, 4), (8e9, 1e9))
    assert device_levels(devices_of(12, hosts + racks)) == LinkLevels((3, 2, 2), (8e9, 1e9, 2e9))


def test_without_hosts_of_equal_size_there_is_one_level() -> None:
    """Its link is the slowest of all: that through the ports, if there are any."""
    assert device_levels(equal_devices(3)) == LinkLevels((3,), (1e9,))
    assert device_levels(devices_of(4, "host { count: 2 workers: 3 bandwidth: 1e9 }")) == LinkLevels((4,), (1e9,))
    assert device_levels(devices_of(4, "host { workers: 3 bandwidth: 1e9 }")) == LinkLevels((4,), (1e9,))


@pytest.mark.parametrize("workers", range(1, 20))
def test_runs_fill_all_workers_in_many_ways(workers: int) -> None:
    runs = stage_runs(workers)
    assert len(set(runs)) == len(runs)
    assert all(0 < len(run) < workers for run in runs)
    ways = [1] + [0] * workers
    for end in range(1, workers + 1):
        ways[end] = sum(ways[run.start] for run in runs if run.stop == end)
    assert ways[workers] >= workers - 1


def test_a_byte_between_stages_takes_as_long_as_at_the_busiest_port() -> None:
    levels = LinkLevels((2, 2), (8.0, 1.0))
    assert levels.boundary_seconds(range(0, 2), range(2, 4)) == 1.0
    assert levels.boundary_seconds(range(0, 1), range(1, 2)) == 1 / 8
    assert levels.boundary_seconds(range(0, 3), range(3, 4)) == pytest.approx(2 / 3)
