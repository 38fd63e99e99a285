"""Portfolio: every planner in one table; what is taken fits, and is not slower than one worker or data parallelism."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from netpart.errors import MemoryRefused
from netpart.families import PLANNERS
from netpart.graph.build import build_net
from netpart.graph.partition import Partition
from netpart.plan.partition import partition_by_callable, partition_by_scheme
from netpart.plan.price.devices import Devices, DeviceSpec, equal_devices
from netpart.plan.price.layer_loads import profile_net
from netpart.plan.price.predict import predict_memory, predict_step
from netpart.plan.schemes.placing import Scheme
from netpart.plan.search import planning_time
from netpart.plan.search import portfolio as portfolio_module
from netpart.plan.search.planned_job import with_micro_batches
from netpart.plan.search.portfolio import AS_WRITTEN, Portfolio
from netpart.plan.search.proposal import Proposal, placement_key
from netpart.plan.search.proposal_prices import ProposalPrices
from netpart.plan.search.task import PlanningTask
from netpart.plan.text.plan_table import tabulate_partition
from netpart.plan.text.write_plan import write_plan
from netpart.proto.reader import Job, read_job
from netpart.proto.reader import read_job_text as read
from netpart.resources import zoo_folder


def job_of(name: str) -> Job:
    return read_job(zoo_folder() / f"{name}.conf")


def task_of(job: Job, devices: Devices) -> PlanningTask:
    return PlanningTask(profile_net(build_net(job.proto, "train", job.folder), 4), devices, limit=0.5)


@pytest.fixture(scope="module")
def portfolio() -> Portfolio:
    job = job_of("alexnet/alexnet-small")
    return Portfolio(job, task_of(job, equal_devices(3, 2e9)))


def test_every_planner_has_its_row(portfolio: Portfolio) -> None:
    names = [name for row in portfolio.rows for name in row.name.split(", ")]
    assert sorted(names) == sorted(PLANNERS.names())
    assert [row.seconds for row in portfolio.rows] == sorted(row.seconds for row in portfolio.rows)
    assert all(row.gap >= 0 for row in portfolio.rows)


class CountedWays(ProposalPrices):
    """Prices that count the ways that are rewritten for each planner."""

    def laid_out(self, name: str, scheme: Scheme, micro_batches: int) -> Proposal:
        ways[name] += 1
        return super().laid_out(name, scheme, micro_batches)


ways = Counter[str]()


def test_without_time_each_planner_tries_one_way() -> None:
    """And with enough of it all of them."""
    job = job_of("alexnet/alexnet-small")
    hybrid, counts = "data then column-row", []
    for limit in (0.0, 100.0):
        ways.clear()
        with patch.object(portfolio_module, "ProposalPrices", CountedWays):
            found = Portfolio(job, replace(task_of(job, equal_devices(2, 2e9)), limit=limit))
        assert sorted(name for row in found.rows for name in row.name.split(", ")) == sorted(PLANNERS.names())
        counts.append(ways[hybrid])
    assert counts[0] == 1 < counts[1]


def test_what_is_taken_is_not_slower_than_the_plain_ways(portfolio: Portfolio) -> None:
    seconds = {name: row.seconds for row in portfolio.rows for name in row.name.split(", ")}
    for objective in ("seconds", "makespan", "profit"):
        taken = portfolio.best(objective).row
        assert taken.seconds <= min(seconds["one worker"], seconds["data"])


def test_exact_is_at_least_as_good_as_any_heuristic(portfolio: Portfolio) -> None:
    rows = {name: row for row in portfolio.rows for name in row.name.split(", ")}
    exact = {objective: rows[f"exact {objective}"] for objective in ("profit", "makespan")}
    for name in ("greedy", "gabra"):
        profit, makespan = rows[f"{name} profit"].profit, rows[f"{name} makespan"].makespan
        best = exact["profit"].profit, exact["makespan"].makespan
        assert profit
        assert makespan
        assert best[0]
        assert best[1]
        assert best[0][0] >= profit[0] - 1e-9
        assert best[1][0] <= makespan[0] * (1 + 1e-9)


def test_a_plan_is_what_its_row_says(portfolio: Portfolio) -> None:
    best = portfolio.best()
    assert best.partition
    table = tabulate_partition(best.partition)
    assert table.moved == best.row.moved
    assert tuple(worker.memory for worker in table.workers) == best.row.memory


def kinds(*devices: DeviceSpec) -> Devices:
    return Devices(devices)


def test_a_device_that_holds_the_net_alone_is_tried() -> None:
    """The fastest has no room for any part of it."""
    job = job_of("mlp/column-row")
    devices = kinds(DeviceSpec("fast", 10e9, 20e3), DeviceSpec("big", 9e9, 8e9))
    found = Portfolio(job, task_of(job, devices)).best().row
    assert "one worker" in found.name
    assert found.workers == (1,)
    assert found.memory[0] == 0


def test_what_a_device_has_no_room_for_is_planned_for_the_others() -> None:
    job = job_of("mlp/column-row")
    small, large = DeviceSpec("small", 4e9, 20e3), DeviceSpec("large", 2e9, 8e9)
    found = Portfolio(job, task_of(job, kinds(large, small, large)))
    rows = {name: row for row in found.rows for name in row.name.split(", ")}
    assert rows["one worker"].workers == (0,)
    assert rows["data"].workers == rows["data by speed"].workers == (0, 2)
    assert all(row.memory[1] <= 20e3 for row in rows.values() if not row.refused)
    assert {worker for workers in found.allocated("makespan") or () for worker in workers} == {0, 2}
    planned = read(write_plan(found.find_proposal("data").job, cut(found, "data"), "a test", job.folder))
    assert {w for layer in planned.proto.neuralnet.layer for w in layer.location} <= {0, 2}


def cut(portfolio: Portfolio, name: str) -> Partition:
    found = portfolio.find_proposal(name).partition
    assert found is not None
    return found


@pytest.mark.thorough
def test_what_does_not_fit_is_not_taken(portfolio: Portfolio) -> None:
    least = min(max(row.memory) for row in portfolio.rows)
    tight = Devices(tuple(DeviceSpec("small", 2e9, least) for _ in range(3)))
    found = Portfolio(portfolio.written, replace(portfolio.task, devices=tight))
    assert max(found.best().row.memory) <= least
    assert any("needs" in row.refused and "on worker" in row.refused for row in found.rows)
    none = Devices(tuple(DeviceSpec("tiny", 2e9, 1000.0) for _ in range(3)))
    with pytest.raises(MemoryRefused, match="expected a plan that the devices can carry out, found none"):
        Portfolio(portfolio.written, replace(portfolio.task, devices=none)).best()


def test_activations_are_computed_again_where_there_is_no_room_for_them() -> None:
    job = read(DEEP, "deep")
    one = equal_devices(1, 2e9)
    held, again = (
        max(predict_memory(partition_by_scheme(with_micro_batches(job, 1, more).proto, 1))) for more in (False, True)
    )
    assert again < 0.8 * held
    room = Portfolio(job, task_of(job, Devices((DeviceSpec("enough", 2e9, held),), one.link)), micro_batches=1).best()
    tight = Portfolio(job, task_of(job, Devices((DeviceSpec("tight", 2e9, again),), one.link)), micro_batches=1).best()
    assert not room.row.recompute
    assert tight.row.recompute
    assert any(layer.recompute for layer in tight.job.proto.neuralnet.layer)
    assert max(tight.row.memory) <= again
    switch = predict_step(partition_by_scheme(with_micro_batches(job, 1, True).proto, 1), one).seconds
    assert room.row.seconds < tight.row.seconds <= switch
    written = write_plan(tight.job, tight.partition, "netpart plan", Path()) if tight.partition else ""
    assert "recompute: true" in written


def test_layers_that_are_recomputed_are_another_plan() -> None:
    job, other = read(DEEP, "deep"), read(DEEP, "deep")
    other.proto.neuralnet.layer[3].recompute = True
    plain, again = (partition_by_scheme(each.proto, 1) for each in (job, other))
    assert placement_key(plain) != placement_key(again)
    found = Portfolio(other, task_of(other, equal_devices(1, 2e9)), micro_batches=1).best()
    assert found.row.recompute
    assert found.partition is not None
    assert "recompute: true" in write_plan(found.job, found.partition, "netpart plan", Path())


DEEP = """
name: "deep" train_steps: 1
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { shape: 8 batchsize: 256 } synthetic_conf { classes: 4 } }
LAYERS
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc15" srclayers: "data" }
}
""".replace(
    "LAYERS",
    "".join(
        f'''
  layer {{
    name: "fc{i}" type: kInnerProduct srclayers: "{f"act{i - 1}" if i else "data"}"
    innerproduct_conf {{ num_output: 8 }} param {{ init {{ type: kGaussian }} }} param {{ init {{ type: kGaussian }} }}
  }}
  layer {{ name: "act{i}" type: kSigmoid srclayers: "fc{i}" }}'''
        for i in range(16)
    ),
)


NORMALISED = """
name: "normalised" train_steps: 1
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { shape: [2, 4, 4] batchsize: 16 }
    synthetic_conf { classes: 4 } }
  layer { name: "norm" type: kBM srclayers: "data"
    param { init { type: kConstant value: 1 } } param { init { type: kConstant } } }
  layer { name: "fc" type: kInnerProduct srclayers: "norm" innerproduct_conf { num_output: 4 }
    param { init { type: kGaussian } } param { init { type: kConstant } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""


def test_a_slow_second_worker_is_better_left_alone() -> None:
    job = job_of("alexnet/alexnet-small")
    devices = Devices((DeviceSpec("fast", 100e9), DeviceSpec("slow", 1e6)))
    assert "one worker" in Portfolio(job, task_of(job, devices)).best().row.name


def test_what_is_written_is_a_proposal_and_no_fetter() -> None:
    job = job_of("mnist/conv")
    names = {name for row in Portfolio(job, task_of(job, equal_devices(3, 2e9))).rows for name in row.name.split(", ")}
    assert AS_WRITTEN in names
    assert "data" in names


def test_batch_norm_keeps_its_micro_batches() -> None:
    job = read(NORMALISED, "normalised")
    task = task_of(job, equal_devices(2, 2e9))
    assert {row.micro_batches for row in Portfolio(job, task).rows} == {1}
    asked = Portfolio(job, task, micro_batches=4)
    assert {row.micro_batches for row in asked.rows if "gabra profit" in row.name} == {4}


def test_blocks_are_placed_on_groups_of_devices() -> None:
    """Five devices in groups of two: the last group is one of them, and has half the room of the others."""
    job = job_of("alexnet/alexnet-small")
    task = replace(task_of(job, equal_devices(5, 2e9)), group=2)
    assert task.groups == [(0, 1), (2, 3), (4,)]
    assert task.speeds == [4e9, 4e9, 2e9]
    layout = PLANNERS.get("gabra profit")(task)
    cut = partition_by_callable(layout.scheme, job.proto, 5, job.folder)
    used = {tuple(sorted({shard.worker for shard in placement.shards})) for placement in cut.graph.placements}
    assert used == set(task.groups)


def test_after_the_limit_only_rows_that_may_be_the_fastest_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning_time, "TABLE", 0.0)
    job = job_of("mlp/column-row")
    found = Portfolio(job, replace(task_of(job, equal_devices(2, 2e9)), limit=0.0))
    best = found.best().row
    floors = [row for row in found.rows if row.is_floor]
    assert floors
    assert all(row.seconds >= best.seconds for row in floors)
    assert found.find_proposal(floors[0].name.split(", ")[0]).row.usable
