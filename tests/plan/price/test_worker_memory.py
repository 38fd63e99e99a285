"""The forecast of a worker's memory is the one that `netpart check` shows; servers are counted too."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.graph.server_pieces import add_job_servers
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.worker_memory import forecast_memory
from netpart.plan.text.plan_table import tabulate_partition
from netpart.proto.reader import read_job
from tests.end2end.running import mlp


@pytest.mark.parametrize("workers", [1, 3])
def test_it_is_the_memory_of_the_table(tmp_path: Path, workers: int) -> None:
    job = read_job(mlp(tmp_path))
    cut = partition_by_scheme(job.proto, workers, job.folder)
    assert forecast_memory(cut) == [row.memory for row in tabulate_partition(cut).workers]


def test_every_rank_of_groups_and_servers_has_one(tmp_path: Path) -> None:
    cluster = "{ nworker_groups: 2 nworkers_per_group: 2 nserver_groups: 1 nservers_per_group: 1 }"
    job = read_job(mlp(tmp_path, cluster=cluster))
    cut = add_job_servers(partition_by_scheme(job.proto, 2, job.folder))
    found = forecast_memory(cut)
    assert len(found) == cut.cluster.size == 5
    assert found[:2] == found[2:4]
    assert found[4] > 0


def test_a_net_without_training_has_one(tmp_path: Path) -> None:
    job = read_job(mlp(tmp_path))
    cut = partition_by_scheme(job.proto, 3, job.folder, phases=("test",))
    assert all(0 < found < trained for found, trained in zip(forecast_memory(cut), _trained(tmp_path), strict=True))


def _trained(folder: Path) -> list[int]:
    job = read_job(folder / "mlp.conf")
    return forecast_memory(partition_by_scheme(job.proto, 3, job.folder))
