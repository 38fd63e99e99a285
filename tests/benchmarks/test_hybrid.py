"""The use case: what is compared with what, which allocations are tried, and what follows from what was measured."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.accuracy import TASKS, School
from benchmarks.figures import BOUND, MEASURED, NETPART, PYTORCH, SIMULATED, Figures, Point, Trained, worst
from benchmarks.hybrid import COUNTS, comparisons, named, numbers
from benchmarks.nets import RESATTNETS
from benchmarks.steps import keys
from benchmarks.use_case import lessons
from benchmarks.ways import WAYS, Hybrid, by_data, by_gabra, choices, uncut
from netpart.plan.partition import partition_by_scheme
from netpart.proto.neuron_pb2 import BMProto

NET = RESATTNETS["resattnet18"]
ABOUT = {"date": "2026-01-02", "machine": {"processor": "P", "cores": 2}, "versions": {"python": "3", "system": "L"}}
ROWS = "path,label\n" + "".join(f"{i}.nii.gz,{i % 2}\n" for i in range(21))


def found() -> dict[str, Any]:
    """Made-up results: two workers are measured, four simulated."""
    plan = {"groups": [[0], [1]], "partitions": 2, "allocation": [0, 1]}
    pipeline = {"idle": 0.4, "busiest": 1.25, "bytes": 2048, "messages": 18}
    rows = {"idle": 0.0, "busiest": 1.0, "bytes": 4096, "messages": 1090}
    points = [
        Point(NET.name, "data", 1, 0.4, MEASURED, 0.42, load=0.02),
        Point(NET.name, "hybrid", 2, 0.25, MEASURED, 0.2, plan, pipeline, load=0.31),
        Point(NET.name, "data", 2, 0.2, MEASURED, 0.2, counts=rows),
        Point(NET.name, "hybrid", 4, 0.16, SIMULATED),
        Point(NET.name, "ddp", 1, 0.6, MEASURED),
        Point(NET.name, "ddp", 2, 0.5, MEASURED),
        Point(NET.name, "ddp", 4, 0.2, BOUND),
    ]
    trained = [
        Trained(NET.name, "ad", NETPART, 8, [0.5] * 5 + [0.92] + [0.95] * 6),
        Trained(NET.name, "ad", NETPART, 4, [0.6] * 7 + [0.92] * 5),
        Trained(NET.name, "ad", PYTORCH, 8, [0.5] * 9 + [0.91, 0.5, 0.7]),
        Trained(NET.name, "mci", NETPART, 8, [0.5, 0.5, 0.8]),
    ]
    about = {"batch": 8, "steps_per_epoch": 40, "micro_batches": 2, "steps": 6}
    return {
        "settings": about, "titles": {NET.name: NET.title}, "points": [asdict(p) for p in points],
        "trainings": [asdict(t) for t in trained], "trained": ABOUT,
    }  # fmt: skip


FIGURES = Figures(found())


def test_an_epoch_is_its_steps() -> None:
    assert FIGURES.epoch(NET.name, "hybrid", 2) == pytest.approx(10)
    assert FIGURES.epoch(NET.name, "data", 4) is None


def test_every_way_is_compared_with_one_worker_of_its_own() -> None:
    assert FIGURES.speedup(NET.name, "hybrid", 4) == pytest.approx(2.5)
    assert FIGURES.speedup(NET.name, "hybrid", 1) == 1
    assert FIGURES.speedup(NET.name, "ddp", 2) == pytest.approx(1.2)
    assert FIGURES.speedup(NET.name, "dp", 2) is None


def test_an_accuracy_is_reached_when_it_is_kept() -> None:
    trained = Trained(NET.name, "ad", NETPART, 8, [0.9, 0.5, 0.8, 0.9])
    assert [trained.epochs_to(goal) for goal in (0.5, 0.8, 0.9, 0.95)] == [1, 3, 4, None]


def test_equation_13_counts_the_epochs_to_an_accuracy() -> None:
    assert FIGURES.total(NET.name, "ad", "hybrid", 2) == pytest.approx(0.25 * 40 * 8)
    assert FIGURES.equation_13(NET.name, "ad", "hybrid", 2) == pytest.approx(0.4 / 0.25 * 6 / 8)
    assert FIGURES.equation_13(NET.name, "ad", "hybrid", 1) == 1
    assert FIGURES.equation_13(NET.name, "mci", "hybrid", 2) is None  # its micro-batches were not trained
    assert FIGURES.reached(NET.name, "ad", "hybrid", 2)


def test_what_does_not_reach_the_accuracy_takes_more_than_all_its_epochs() -> None:
    assert not FIGURES.reached(NET.name, "ad", "ddp", 1)
    assert FIGURES.total(NET.name, "ad", "ddp", 1) == pytest.approx(0.6 * 40 * 12)


def test_epochs_do_not_depend_on_the_number_of_workers() -> None:
    assert FIGURES.equation_13(NET.name, "ad", "data", 2) == pytest.approx(0.4 / 0.2)
    assert {FIGURES.epochs(NET.name, "ad", "data", workers) for workers in (1, 2, 4, 8, 64)} == {6}


def test_rows_that_are_normalised_together() -> None:
    assert FIGURES.rows(NET.name, "data", 8) == FIGURES.rows(NET.name, "hybrid-local", 1) == 8
    assert FIGURES.rows(NET.name, "hybrid", 4) == 4
    assert [FIGURES.rows(NET.name, way, 4) for way in ("data-local", "ddp", "dp")] == [2, 2, 2]
    assert FIGURES.rows(NET.name, "ddp", 3) is None  # 3, 3 and 2


def test_the_error_of_the_simulator_is_that_of_measured_points() -> None:
    assert [(p.workers, round(p.error or 0, 2)) for p in FIGURES.errors()] == [(1, 0.05), (2, -0.2), (2, 0)]
    assert worst(FIGURES.points) == pytest.approx(0.2)


def test_only_what_was_measured_is_a_row() -> None:
    rows = list(comparisons(FIGURES))
    of_gabra = [(row.against, round(row.ratio, 2)) for row in rows if "2 workers, GABRA + hybrid" in row.work]
    assert of_gabra == [("netpart, 1 worker", 1.6), ("PyTorch DDP", 2.0)]
    assert len(rows) == 4


@pytest.mark.parametrize("workers", range(2, 9))
def test_each_worker_of_a_group_has_a_row_of_each_micro_batch(workers: int) -> None:
    tried = list(choices(NET, workers, 2))
    assert tried
    assert all(c.group < workers and c.group * c.micro_batches <= NET.batch for c in tried)
    assert all(c.partitions is None or c.partitions * c.group >= workers for c in tried)


def test_gabra_places_the_net_on_groups_of_workers() -> None:
    job, task, plan = by_gabra(NET, 3, Hybrid(2, 2, 2), local=True)
    assert task.groups == [(0, 1), (2,)]
    assert sorted(set(plan)) == [0, 1]
    cut = partition_by_scheme(job.proto, 3, job.folder, phases=("train",))
    assert len(cut.phases["train"]) == 2
    used = {tuple(sorted({shard.worker for shard in placement.shards})) for placement in cut.graph.placements}
    assert used == {(0, 1), (2,)}


@pytest.mark.parametrize("way", WAYS.values(), ids=str)
def test_ways_say_how_they_normalise(way: Any) -> None:
    norms = [layer.bm_conf for layer in uncut(NET, way.local).proto.neuralnet.layer if layer.HasField("bm_conf")]
    assert all((norm.bn_mode == BMProto.LOCAL) == way.local for norm in norms)
    assert bool(norms) == way.local


def test_data_parallelism_shares_the_rows_out_evenly() -> None:
    cut = partition_by_scheme(by_data(NET, True).proto, 3, None, phases=("train",))
    assert cut.job.neuralnet.layer[0].synthetic_conf.classes == 2
    rows = [shard.region[0] for shard in cut.graph.placements[1].shards]
    assert sorted(hi - lo for lo, hi in rows) == [5, 5, 6]


def test_a_training_is_a_job_of_its_own(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / f"smci-pmci-{split}.csv").write_text(ROWS)
    school = School(tmp_path, tmp_path)
    proto = school.job(NET, TASKS["mci"], 8, "start.safetensors")
    assert (proto.train_steps, proto.test_freq, proto.test_steps) == (12, 2, 3)  # 21 scans in mini-batches of 16 and 10
    assert proto.updater.learning_rate.base_lr == pytest.approx(0.01)
    assert proto.updater.learning_rate.linear_conf.change_freq == 12
    assert list(proto.checkpoint_path) == ["start.safetensors"]
    assert proto.neuralnet.micro_batches == 2
    assert replace(school, epochs=1).job(NET, TASKS["mci"], 16, "").train_steps == 2


def test_parts_are_named() -> None:
    assert named(RESATTNETS, "resattnet18") == [NET]
    with pytest.raises(argparse.ArgumentTypeError, match="expected some of ad,mci, got x"):
        named(TASKS, "ad,x")
    assert numbers("4,2") == [1, 2, 4]


def test_every_way_has_a_training_that_computes_the_same() -> None:
    args = argparse.Namespace(nets=[NET], workers=list(COUNTS), micro_batches=2)
    trained = {(who, rows) for _, who, rows in lessons(args)}
    assert trained == {(who, rows) for who in (NETPART, PYTORCH) for rows in (16, 8, 4, 2)}
    groups = [[[0], [1]], [[0, 1], [2, 3]], [[0, 1, 2, 3], [4, 5, 6, 7]]]
    plans = {sum(map(len, each)): {"groups": each} for each in groups}
    points = [
        Point(net, way, workers, 1.0, SIMULATED, plan=plans.get(workers) if "hybrid" in way else None)
        for count in COUNTS for key in keys(NET, count) for net, way, workers in key
    ]  # fmt: skip
    figures = Figures({"settings": {"batch": 16, "micro_batches": 2}, "points": [asdict(point) for point in points]})
    for point in points:
        who = NETPART if point.way in WAYS else PYTORCH
        assert (who, figures.rows(*point.key)) in trained
