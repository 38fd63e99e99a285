"""What groups and servers tell each other is foretold: every parameter up and down, or around."""

from __future__ import annotations

import pytest

from netpart.graph.partition import Partition, partition_job
from netpart.graph.server_pieces import add_job_servers
from netpart.plan.price.group_traffic import predict_group_traffic
from netpart.plan.price.ledger import compute_ledger
from netpart.program.instructions import Way
from netpart.proto.reader import read_job_text
from netpart.spec import size, whole_region
from tests.worker.jobs import LENET


def cut(workers: int, *overrides: str) -> Partition:
    return add_job_servers(partition_job(read_job_text(LENET, overrides=overrides).proto, workers))


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_every_gradient_goes_up_once_and_every_holder_gets_the_values(workers: int, servers: int) -> None:
    found = cut(workers, "cluster.nworker_groups=2", f"cluster.nservers_per_group={servers}")
    groups, width = predict_group_traffic(found), 4
    assert groups is not None
    assert groups.pushed == width * sum(size(whole_region(p.spec.shape)) for p in found.parameters)
    assert groups.pulled == width * sum(size(h.box) for of in found.holdings[:workers] for h in of)
    assert groups.averaged == 0
    entries = compute_ledger(found, "train", 1).entries
    assert sum(e.nbytes for e in entries if e.channel.way == Way.PUSH) == groups.pushed
    assert sum(e.nbytes for e in entries if e.channel.way == Way.PULL) == groups.pulled
    assert "2 groups of " in str(groups)


def test_an_average_moves_twice_the_parameters_for_each_group_but_one() -> None:
    found = cut(1, "cluster.nworker_groups=3", "cluster.nserver_groups=3", "cluster.sync_freq=5")
    groups = predict_group_traffic(found)
    assert groups is not None
    assert groups.averaged == 2 * (3 - 1) * 4 * sum(size(whole_region(p.spec.shape)) for p in found.parameters)
    assert str(groups).startswith("3 groups of 1 worker: every 5 of their steps they average")


def test_one_group_has_nobody_to_tell() -> None:
    assert predict_group_traffic(cut(2)) is None
