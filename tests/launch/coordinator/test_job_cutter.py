"""JobCutter: cuts for as many workers as there are, plans that name workers, and cuts that have no memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.graph.partition import Partition
from netpart.launch.coordinator.job_cutter import JobCutter, describe_cut
from netpart.proto.reader import read_job_text
from tests.worker.jobs import LENET


def cutter(*changes: str, least: int = 1, most: int = 4) -> tuple[JobCutter, list[Partition]]:
    """A cutter of LeNet, and the cuts that it has settled."""
    job = read_job_text(LENET, overrides=changes)
    job.proto.elastic.min_workers, job.proto.elastic.max_workers = least, most
    settled: list[Partition] = []
    return JobCutter(job.proto, 3, Path(), settled.append), settled


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_layers_cut_on_an_axis_are_cut_anew(workers: int) -> None:
    made, settled = cutter()
    cut = made.cut_for(workers)
    assert cut is not None
    assert cut.workers == workers
    assert settled == [cut]
    assert made.cut_for(workers) is cut
    assert settled == [cut]


def test_more_workers_than_the_most_wait() -> None:
    made, _ = cutter(most=3)
    cut = made.cut_for(7)
    assert cut is not None
    assert cut.workers == 3


def test_a_scheme_is_applied_anew() -> None:
    made, _ = cutter("neuralnet.scheme=COLUMN_ROW")
    cut = made.cut_for(3)
    assert cut is not None
    assert describe_cut(cut) == "column row"


def test_a_plan_that_names_workers_is_replaced() -> None:
    made, _ = cutter("conv1.location=2", "conv1.partition_dim=-1")
    whole, smaller = made.cut_for(3), made.cut_for(2)
    assert whole is not None
    assert describe_cut(whole) == "as written"
    assert smaller is not None
    assert smaller.workers == 2
    assert describe_cut(smaller) in ("data", "column row", "one weird trick")


def test_a_cut_without_memory_is_not_tried_again() -> None:
    made, _ = cutter(least=2)
    assert made.cut_for(2) is not None
    made.refuse(2, "worker 1: expected 3 GiB")
    assert made.cut_for(2) is None
    assert made.refusal == "worker 1: expected 3 GiB"
    larger = made.cut_for(3)
    assert larger is not None
    assert larger.workers == 3


def test_fewer_workers_take_longer() -> None:
    made, _ = cutter("neuralnet.scheme=DATA")
    cuts = [made.cut_for(workers) for workers in (1, 4)]
    seconds = [made.predict(cut) for cut in cuts if cut is not None]
    assert seconds[0] > seconds[1] > 0
