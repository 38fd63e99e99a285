"""Servers: every element of every parameter has one keeper, and no keeper has much more than the others."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.graph.partition import Partition, partition_job
from netpart.graph.partition_codec import decode_partition, encode_partition
from netpart.graph.server_pieces import add_job_servers, add_servers
from netpart.proto.reader import read_job, read_job_text
from netpart.resources import zoo_folder
from netpart.spec import contains, relative_slices, size, whole_region
from tests.worker.jobs import LENET


def cut(workers: int, *overrides: str) -> Partition:
    return partition_job(read_job_text(LENET, overrides=overrides).proto, workers)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("servers", [1, 2, 3, 5])
def test_pieces_tile_the_parameters_evenly(workers: int, servers: int) -> None:
    partition = cut(workers)
    found = add_servers(partition, servers)
    for parameter in partition.parameters:
        seen = np.zeros(parameter.spec.shape, int)
        for piece in found.pieces:
            if piece.parameter.name == parameter.name:
                seen[relative_slices(piece.box, whole_region(parameter.spec.shape))] += 1
        assert (seen == 1).all()
    loads = [sum(size(h.box) for h in found.holdings[workers + s]) for s in range(servers)]
    assert sum(loads) == sum(size(whole_region(p.spec.shape)) for p in partition.parameters)
    assert max(loads) <= 1.5 * sum(loads) / servers
    assert found.workers == workers + servers


@pytest.mark.parametrize("workers", [2, 3])
def test_who_holds_a_piece_pulls_it_and_they_take_turns_in_pushing(workers: int) -> None:
    found = add_servers(cut(workers), 4)
    for piece in found.pieces:
        holders = [
            w
            for w in range(workers)
            if any(h.parameter.name == piece.parameter.name and contains(h.box, piece.box) for h in found.holdings[w])
        ]
        assert list(piece.pullers) == holders
        assert piece.pusher in holders
    assert {piece.pusher for piece in found.pieces} == set(range(workers))


def test_only_a_job_that_asks_for_servers_gets_them() -> None:
    assert add_job_servers(cut(2)).pieces == []
    assert add_job_servers(cut(2, "cluster.nworker_groups=2", "cluster.nserver_groups=0")).servers == 0
    found = add_job_servers(cut(2, "cluster.nworker_groups=2", "cluster.nservers_per_group=3"))
    assert (found.servers, found.workers, found.cluster.size) == (3, 5, 7)


def test_a_plan_carries_the_pieces_that_concern_its_worker() -> None:
    job = read_job(
        zoo_folder() / "mlp" / "column-row.conf", ["cluster.nworker_groups=2", "cluster.nservers_per_group=2"]
    )
    partition = add_job_servers(partition_job(job.proto, 2, job.folder))
    for worker in range(partition.workers):
        found, number = decode_partition(encode_partition(partition, worker), job.folder)
        assert (number, found.servers, found.cluster) == (worker, 2, partition.cluster)
        concerned = [p for p in partition.pieces if worker in (p.server, p.pusher, *p.pullers)]
        assert [(p.parameter.name, p.box, p.number, p.server, p.pusher, p.pullers) for p in found.pieces] == [
            (p.parameter.name, p.box, p.number, p.server, p.pusher, p.pullers) for p in concerned
        ]
        assert [(h.parameter.name, h.box) for h in found.holdings[worker]] == [
            (h.parameter.name, h.box) for h in partition.holdings[worker]
        ]
