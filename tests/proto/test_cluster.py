"""Clusters: what SINGA's fields mean, who has which rank, and what does not fit together."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.proto.cluster import Cluster, cluster_of, single_group_job
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text

FRAMEWORKS = [
    ("", Cluster(3)),
    ("nservers_per_group: 3", Cluster(3)),  # AllReduce: every worker serves its share
    ("nservers_per_group: 2 server_worker_separate: true", Cluster(3, 1, 2)),  # Sandblaster
    ("nworker_groups: 2 nservers_per_group: 2 server_worker_separate: true", Cluster(3, 2, 2)),  # Downpour
    ("nworker_groups: 2 nworkers_per_procs: 2", Cluster(3, 2, 1)),  # the same in memory
    ("nworker_groups: 3 nserver_groups: 3 sync_freq: 5", Cluster(3, 3, 0, 5, 5)),  # Distributed Hogwild
    ("nworker_groups: 4 nserver_groups: 0", Cluster(3, 4, 0, 1, 1)),
    ("nworker_groups: 4 nserver_groups: 0 sync_freq: 3 staleness: 0", Cluster(3, 4, 0, 3, 0)),
    ("nworker_groups: 2 staleness: 7 in_turns: true", Cluster(3, 2, 1, 1, 7, True)),
]


def job(cluster: str, rest: str = "") -> JobProto:
    return read_job_text(f"cluster {{ {cluster} }} {rest}").proto


@pytest.mark.parametrize(("text", "cluster"), FRAMEWORKS)
def test_the_frameworks_of_singa(text: str, cluster: Cluster) -> None:
    assert cluster_of(job(text), 3) == cluster


@pytest.mark.parametrize(
    ("text", "rest", "message"),
    [
        ("nserver_groups: 3", "", "cluster.nserver_groups: expected 0 or 1, got 3"),
        ("nworker_groups: 4 nserver_groups: 2", "", "nserver_groups: expected 0, 1, or 4 with server_worker_separate"),
        ("nworker_groups: 2 nserver_groups: 2 server_worker_separate: true", "", "nserver_groups: expected 0, 1, or 2"),
        ("nworker_groups: 2 nserver_groups: 0 staleness: 2", "", "staleness: expected at most sync_freq, 1, got 2"),
        ("nworker_groups: 2 nserver_groups: 0 in_turns: true", "", "in_turns: expected false, without servers"),
        (
            "nworker_groups: 2",
            "updater { type: kSGD ema_decay: 0.9 ema_eval: true }",
            "updater.ema_eval: expected false",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(text: str, rest: str, message: str) -> None:
    loaded = read_job_text(f"cluster {{ {text} }}\n{rest}")
    with pytest.raises(ConfigError, match=message) as caught:
        cluster_of(loaded.proto, 1)
    assert loaded.explain(caught.value).position is not None


def test_ranks_and_numbers() -> None:
    cluster = Cluster(3, 2, 2)
    assert cluster.size == 8
    assert [cluster.ranks(group) for group in range(2)] == [(0, 1, 2, 6, 7), (3, 4, 5, 6, 7)]
    for group in range(2):
        for number, rank in enumerate(cluster.ranks(group)):
            assert cluster.number_in_group(rank) == number
            assert cluster.is_server(rank) == (number >= 3)
            assert cluster.is_server(rank) or cluster.group(rank) == group
    assert cluster.replicas(4) == (1, 4)
    assert (list(cluster.reporting_ranks), list(cluster.checkpoint_ranks)) == ([0, 1, 2], [6, 7])
    assert [cluster.name(rank) for rank in (1, 5, 7)] == [
        "worker 1 (of group 0)", "worker 5 (of group 1)", "server 1 (rank 7)",
    ]  # fmt: skip
    assert (str(cluster), str(Cluster(1))) == ("2 groups of 3 workers, 2 servers", "1 worker")


def test_groups_share_out_the_steps_wherever_a_run_begins() -> None:
    for first in range(5):
        shares = [list(Cluster(1, 3).steps(group, first, 11)) for group in range(3)]
        assert sorted(step for steps in shares for step in steps) == list(range(first, 11))
        assert all(step % 3 == group for group, steps in enumerate(shares) for step in steps)


def test_a_job_alone_has_one_group() -> None:
    proto = job("nworker_groups: 2 nworkers_per_group: 3 staleness: 1")
    assert cluster_of(single_group_job(proto), 3) == Cluster(3)
    assert single_group_job(proto).cluster.nworkers_per_group == 3
    assert proto.cluster.nworker_groups == 2
