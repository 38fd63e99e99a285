"""Transfers: each message over the link of its own two ends, with the ports of hosts shared."""

from __future__ import annotations

import pytest

from netpart.collectives.price import LinkCost, schedule_seconds
from netpart.collectives.schedule import BlockMessage, Schedule
from netpart.plan.price.devices import Devices, devices_of_cluster, equal_devices
from netpart.plan.price.transfers import connected_workers, handling_seconds, port_seconds, transfer_seconds
from netpart.proto.reader import read_job_text

NAMED = """cluster {
  device { name: "a" count: 2 flops: 1e9 }
  device { name: "b" count: 2 flops: 1e9 }
  link { between: "a" latency: 1e-6 overhead: 1e-6 bandwidth: 1e9 }
  link { latency: 1e-3 overhead: 1e-4 bandwidth: 1e6 }
}"""
HOSTS = """cluster {
  device { name: "a" count: 4 flops: 1e9 }
  link { latency: 1e-6 overhead: 1e-6 bandwidth: 1e9 }
  host { count: 2 workers: 2 bandwidth: 1e6 }
}"""


def devices_of(text: str) -> Devices:
    return devices_of_cluster(read_job_text(text).proto.cluster)


def test_a_slow_link_slows_down_its_own_messages_only() -> None:
    devices = devices_of(NAMED)
    fast, slow = (0, 1, 10**6), (1, 2, 10**4)
    assert transfer_seconds([fast], devices) == pytest.approx(1e-3, rel=0.01)
    alone = transfer_seconds([slow], devices)
    assert alone == pytest.approx(1e-2 + 1e-3 + 2e-4)
    # Not the 1 second that a megabyte takes over the slow link.
    assert transfer_seconds([fast, slow], devices) == pytest.approx(alone, rel=0.01)


@pytest.mark.parametrize("messages", [[(0, 1, 5000)], [(0, 1, 10**6), (0, 2, 10**6), (2, 1, 10), (1, 0, 7)]])
def test_equal_links_are_priced_as_a_schedule(messages: list[tuple[int, int, int]]) -> None:
    link = LinkCost(1e-3, 1e-4, 1e7)
    schedule = Schedule(BlockMessage(source, target, (i,)) for i, (source, target, _) in enumerate(messages))
    expected = schedule_seconds(schedule, [nbytes for _, _, nbytes in messages], 3, link)
    assert transfer_seconds(messages, equal_devices(3, link=link)) == expected


def test_all_that_leaves_a_host_shares_its_port() -> None:
    devices = devices_of(HOSTS)
    messages = [(0, 2, 10**6), (1, 3, 10**6)]
    assert transfer_seconds(messages[:1], devices) == pytest.approx(1.0, rel=0.01)
    assert transfer_seconds(messages, devices) == pytest.approx(2.0, rel=0.01)
    assert port_seconds(messages, devices) == pytest.approx(2.0)
    assert port_seconds([(0, 1, 10**6)], devices) == port_seconds(messages, devices_of(NAMED)) == 0
    # The port is busy, and not those that have handed their bytes over to it.
    assert max(handling_seconds(messages, devices)) == pytest.approx(1e-3, rel=0.01)


def test_a_part_of_the_devices_keeps_their_hosts() -> None:
    devices = devices_of(HOSTS)
    assert devices.of((0, 3)).network.route(0, 1).ports == devices.network.route(0, 3).ports != ()
    assert devices.first(2).network.route(0, 1).ports == ()
    assert devices.between(range(4)).bandwidth == 1e6
    assert devices.between((2, 3)).bandwidth == 1e9


def test_workers_are_connected_over_any_number_of_messages() -> None:
    found = connected_workers([(0, 1, 1), (2, 3, 1), (5, 4, 1), (3, 4, 1)])
    assert [found[w] for w in range(6)] == [{0, 1}, {0, 1}, *[{2, 3, 4, 5}] * 4]
