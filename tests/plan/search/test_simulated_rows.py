"""Simulated rows: the fastest are simulated, each placement once, and the row optimal is the best of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netpart.graph.partition import Partition
from netpart.measure.model_simulation import simulated_step_seconds
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import equal_devices
from netpart.plan.search import simulated_rows
from netpart.plan.search.portfolio import Portfolio
from netpart.plan.search.proposal import Proposal, ProposalRow
from netpart.plan.search.simulated_rows import MARGIN, count_parts, simulate_fastest
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from tests.plan.search.test_portfolio import job_of, task_of


@pytest.fixture(scope="module")
def proposals() -> list[Proposal]:
    """Three cuts of a net that are predicted to take 1, 1.2 and 2 s; the last one twice."""
    job = read_job(zoo_folder() / "mlp/column-row.conf")
    for layer in job.proto.neuralnet.layer:
        layer.ClearField("partition_dim")
        layer.ClearField("cut")
    seconds = {"COLUMN_ROW": 1.0, "GATHER_SCATTER": 1.2, "DATA": 2.0}
    cuts = {name: partition_by_scheme(job.proto, 2, job.folder, name, ("train",)) for name in seconds}
    rows = [Proposal(ProposalRow(n, seconds=s, gap=0.5), job, cuts[n]) for n, s in seconds.items()]
    return [*rows, replace(rows[-1], row=replace(rows[-1].row, name="again"))]


class Stopwatch:
    """A simulator that takes ``ratio`` times what is predicted, and counts its calls."""

    def __init__(self, proposals: list[Proposal], *ratios: float) -> None:
        self.told = {id(p.partition): p.row.seconds * r for p, r in zip(proposals, ratios, strict=False)}
        self.calls = 0

    def __call__(self, partition: Partition) -> float:
        self.calls += 1
        return self.told[id(partition)]


def test_rows_that_may_be_the_fastest_are_simulated(proposals: list[Proposal]) -> None:
    found = [p.row for p in simulate_fastest(proposals, Stopwatch(proposals, 1.1, 0.5, 1.0))]
    assert [row.seconds for row in found] == pytest.approx([1.1, 0.6, 2.0, 2.0])
    assert [row.predicted for row in found] == [1.0, 1.2, None, None]
    assert found[0].gap == pytest.approx(1.5 * 1.1 - 1)


def test_equal_placements_are_simulated_once(proposals: list[Proposal]) -> None:
    clock = Stopwatch(proposals, 3.0, 3.0, 0.1)
    found = [p.row for p in simulate_fastest(proposals, clock)]
    assert [row.seconds for row in found] == pytest.approx([3.0, 3.6, 0.2, 0.2])
    assert clock.calls == 3


def test_what_cannot_be_simulated_is_as_predicted(proposals: list[Proposal]) -> None:
    assert simulate_fastest(proposals, lambda partition: None) == proposals


def test_large_graphs_are_left_out(proposals: list[Proposal], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [count_parts(p.partition) for p in proposals if p.partition]
    monkeypatch.setattr(simulated_rows, "MOST_PARTS", sizes[0])
    found = simulate_fastest(proposals, Stopwatch(proposals, MARGIN, 1.0, 1.0))
    assert [p.row.predicted for p in found] == [1.0, None, None, None]


def test_optimal_is_the_best_row_by_simulation() -> None:
    job, devices = job_of("mlp/column-row"), equal_devices(2, 2e9)
    found = Portfolio(
        job, task_of(job, devices), simulate=lambda cut: simulated_step_seconds(cut, devices.network, devices.speeds)
    )
    own = found.find_proposal("optimal")
    assert own.partition is not None
    assert own.row.predicted is not None
    assert own.row.seconds == simulated_step_seconds(own.partition, devices.network, devices.speeds)
    assert own.row.seconds == min(row.seconds for row in found.rows if not row.refused)
    assert found.best().row is own.row
