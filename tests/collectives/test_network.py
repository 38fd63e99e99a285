"""Networks: the way of a message, the ports that it shares, and the hosts that a cluster describes."""

from __future__ import annotations

import pytest

from netpart.collectives.cluster_network import network_of_hosts
from netpart.collectives.network import LinkCost, Network, one_link_network
from netpart.collectives.price import PricedMessage, arrival_times
from netpart.errors import ConfigError
from netpart.graph.partition import partition_job
from netpart.proto.reader import read_job_text
from tests.graph.jobs import HEAD, data, layer

LINK = LinkCost(latency=1.0, overhead=0.5, bandwidth=100.0)
CARD = LinkCost(latency=2.0, overhead=0.25, bandwidth=10.0)
RACKS = """cluster {
  link { latency: 1 overhead: 0.5 bandwidth: 100 }
  host { count: 4 workers: 2 latency: 2 overhead: 0.25 bandwidth: 10 }
  host { level: 2 count: 2 workers: 4 overhead: 1 bandwidth: 5 }
}"""


def network_of(text: str, workers: int) -> Network:
    found = network_of_hosts(read_job_text(text).proto.cluster, workers)
    assert found is not None
    return found


def two_hosts(*sizes: int) -> Network:
    paths = tuple((host,) for host, size in enumerate(sizes) for _ in range(size))
    return Network(("gpu",) * sum(sizes), LINK, (), paths, (CARD,) * len(sizes))


def test_a_message_crosses_what_is_between_its_ends() -> None:
    racks = network_of(RACKS, 8)
    # The racks are numbered first: 0 and 1, then the hosts 2 to 5.
    assert racks.paths == ((0, 2), (0, 2), (0, 3), (0, 3), (1, 4), (1, 4), (1, 5), (1, 5))
    assert racks.route(0, 1) == (LINK, (), 0)
    assert racks.route(0, 2) == (LinkCost(5.0, 0.5, 100.0), (2 * 2, 2 * 3 + 1), -1)
    assert racks.route(0, 7) == (LinkCost(5.0, 1.0, 100.0), (2 * 2, 0, 2 * 1 + 1, 2 * 5 + 1), -1)
    assert racks.among(range(8)) == LinkCost(5.0, 1.0, 5.0)
    assert racks.among((2, 3)) == LINK


def test_workers_beyond_the_hosts_are_in_none() -> None:
    found = network_of("cluster { host { workers: 2 bandwidth: 10 } }", 3)
    assert found.paths == ((0,), (0,), ())
    assert found.route(0, 2).ports == (0,)
    assert found.route(2, 0).ports == (1,)


def test_without_hosts_there_is_no_network() -> None:
    assert network_of_hosts(read_job_text("cluster { link { bandwidth: 10 } }").proto.cluster, 2) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("host { bandwidth: 1 }", "host: expected workers above 0, got 0; write for example workers: 4"),
        ('host { name: "a" workers: 2 bandwidth: 0 }', "a: expected bandwidth above 0, got 0"),
        (
            "host { count: 2 workers: 2 } host { level: 2 workers: 3 }",
            "host of level 1: expected workers of one host of each higher level, got workers 2 to 3",
        ),
    ],
)
def test_hosts_that_are_none_are_refused(text: str, told: str) -> None:
    job = read_job_text(f"cluster {{ {text} }}")
    with pytest.raises(ConfigError, match=told) as raised, job.explaining():
        network_of_hosts(job.proto.cluster, 4)
    assert "<text>:1:" in str(raised.value)


def test_a_job_with_such_hosts_is_refused_when_it_is_cut() -> None:
    net = f"{HEAD}{data()}{layer('loss', 'kSoftmaxLoss', 'data', 'data')}}}"
    job = read_job_text(f"{net}\ncluster {{ host {{ workers: 2 bandwidth: -1 }} }}")
    with pytest.raises(ConfigError, match="<text>:9:29: host: expected bandwidth above 0, got -1"), job.explaining():
        partition_job(job.proto, 2)


def message(source: int, target: int, nbytes: int) -> PricedMessage:
    return PricedMessage(source, target, nbytes)


def test_a_lone_message_between_hosts_takes_the_time_of_the_slowest_port() -> None:
    """0.5 at the sender, 1 + 2 + 2 in flight, 100 bytes at 10 a second, 0.5 at the receiver."""
    assert arrival_times([message(0, 2, 100)], two_hosts(2, 2))[2] == pytest.approx(0.5 + 5 + 10 + 0.5)
    assert arrival_times([message(0, 1, 100)], two_hosts(2, 2))[1] == pytest.approx(0.5 + 1 + 1 + 0.5)


def test_messages_that_leave_a_host_share_its_card_and_those_that_enter_it_too() -> None:
    network = two_hosts(4, 4)
    alone = max(arrival_times([message(0, 4, 100)], network))
    leaving = [message(worker, 4 + worker, 100) for worker in range(4)]
    # All start at once: the card sends them one after another.
    assert max(arrival_times(leaving, network)) == pytest.approx(alone + 3 * 10)
    both = [*leaving, *(message(4 + worker, worker, 100) for worker in range(4))]
    # A card sends and receives at the same time.
    assert max(arrival_times(both, network)) == pytest.approx(alone + 3 * 10)
    three = two_hosts(1, 1, 2)
    entering = [message(0, 2, 100), message(1, 3, 100)]
    assert max(arrival_times(entering, three)) == pytest.approx(max(arrival_times(entering[:1], three)) + 10)


def test_messages_inside_a_host_do_not_wait_for_its_card() -> None:
    network = two_hosts(2, 2)
    crossing = [message(0, 2, 1000), message(3, 2, 100)]
    assert arrival_times(crossing, network)[2] > 100
    # The one of 3 to 2 has arrived long before; a block that it brings goes on at once.
    onward = [*crossing, PricedMessage(3, 2, 100, (0,)), PricedMessage(2, 3, 100, (0,))]
    assert arrival_times(onward, network)[3] < 12


def test_ports_serve_what_comes_first_and_not_what_is_listed_first() -> None:
    """Worker 0 has much to send to its neighbour before; what worker 1 sends does not wait for that."""
    network = two_hosts(2, 2)
    late = [message(0, 1, 10_000), message(0, 2, 100), message(1, 3, 100)]
    assert arrival_times(late, network)[3] == pytest.approx(arrival_times(late[2:], network)[3])


def test_one_link_is_as_before() -> None:
    network = one_link_network(3, LINK)
    assert network.route(0, 2) == (LINK, (), 0)
    assert network.among((0,)) == LINK
    # Received one after another.
    assert arrival_times([message(0, 2, 100), message(1, 2, 100)], network)[2] == pytest.approx(0.5 + 1 + 2 * 1.5)
