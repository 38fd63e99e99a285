"""The use case: what is compared with what, which allocations are tried, and what follows from what was measured."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.accuracy import TASKS, School, Trained, as_json
from benchmarks.figures import BOUND, MEASURED, SIMULATED, Figures, Point, worst
from benchmarks.hybrid import comparisons, named, numbers, whole
from benchmarks.nets import RESATTNETS
from benchmarks.ways import WAYS, Hybrid, by_data, by_gabra, choices, uncut
from netpart.plan.partition import partition
from netpart.proto.neuron_pb2 import BMProto

NET = RESATTNETS["resattnet18"]
ROWS = "path,label\n" + "".join(f"{i}.nii.gz,{i % 2}\n" for i in range(21))


def found() -> dict[str, Any]:
    """Made-up results: two workers are measured, four simulated."""
    plan = {"groups": [[0], [1]], "partitions": 2, "allocation": [0, 1]}
    points = [
        Point(NET.name, "data", 1, 0.4, MEASURED, 0.42),
        Point(NET.name, "hybrid", 2, 0.25, MEASURED, 0.2, plan),
        Point(NET.name, "hybrid", 4, 0.16, SIMULATED),
        Point(NET.name, "ddp", 1, 0.6, MEASURED),
        Point(NET.name, "ddp", 2, 0.5, MEASURED),
        Point(NET.name, "ddp", 4, 0.2, BOUND),
    ]
    trained = [
        Trained(NET.name, "ad", "netpart", 1, 12, 0.95, 6.0),
        Trained(NET.name, "ad", "netpart", 2, 12, 0.925, 8.0),
        Trained(NET.name, "mci", "netpart", 1, 6, 0.8, None),
        Trained(NET.name, "mci", "netpart", 2, 6, 0.8, 3.0),
    ]
    about = {"batch": 8, "steps_per_epoch": 40, "micro_batches": 2, "reach": 0.9}
    return {
        "settings": about, "titles": {NET.name: NET.title}, "points": [asdict(p) for p in points],
        "accuracy": as_json(trained),
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


def test_equation_13_counts_the_epochs_to_an_accuracy() -> None:
    assert FIGURES.equation_13(NET.name, "ad", "hybrid", 2) == pytest.approx(0.4 / 0.25 * 6 / 8)
    assert FIGURES.equation_13(NET.name, "ad", "hybrid", 1) == 1
    assert FIGURES.equation_13(NET.name, "mci", "hybrid", 2) is None  # one worker did not get there


def test_the_error_of_the_simulator_is_that_of_measured_points() -> None:
    assert [(p.workers, round(p.error or 0, 2)) for p in FIGURES.errors()] == [(1, 0.05), (2, -0.2)]
    assert worst(FIGURES.points) == pytest.approx(0.2)


def test_only_what_was_measured_is_a_row() -> None:
    rows = list(comparisons(FIGURES, [NET]))
    assert [(row.against, round(row.ratio, 2)) for row in rows] == [("netpart, 1 worker", 1.6), ("PyTorch DDP", 2.0)]
    assert all("2 workers, GABRA + hybrid" in row.work for row in rows)


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
    cut = partition(job.proto, 3, job.folder, phases=("train",))
    assert len(cut.phases["train"]) == 2
    used = {tuple(sorted({shard.worker for shard in placement.shards})) for placement in cut.graph.placements}
    assert used == {(0, 1), (2,)}


@pytest.mark.parametrize("way", WAYS.values(), ids=str)
def test_ways_say_how_they_normalise(way: Any) -> None:
    norms = [layer.bm_conf for layer in uncut(NET, way.local).proto.neuralnet.layer if layer.HasField("bm_conf")]
    assert all((norm.bn_mode == BMProto.LOCAL) == way.local for norm in norms)
    assert bool(norms) == way.local


def test_data_parallelism_shares_the_rows_out_evenly() -> None:
    cut = partition(by_data(NET, True).proto, 3, None, phases=("train",))
    assert cut.job.neuralnet.layer[0].synthetic_conf.classes == 2
    rows = [shard.region[0] for shard in cut.graph.placements[1].shards]
    assert sorted(hi - lo for lo, hi in rows) == [5, 5, 6]


def test_a_training_is_a_job_of_its_own(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / f"smci-pmci-{split}.csv").write_text(ROWS)
    school = School(tmp_path, tmp_path, 0.9)
    proto = school.job(NET.name, TASKS["mci"], 2, "start.safetensors")
    assert (proto.train_steps, proto.test_freq, proto.test_steps) == (12, 2, 3)  # 21 scans in mini-batches of 16 and 10
    assert proto.updater.learning_rate.base_lr == pytest.approx(0.01)
    assert proto.updater.learning_rate.linear_conf.change_freq == 12
    assert list(proto.checkpoint_path) == ["start.safetensors"]
    assert proto.neuralnet.micro_batches == 2
    assert replace(school, epochs=1).job(NET.name, TASKS["mci"], 1, "").train_steps == 2


def test_parts_are_named() -> None:
    assert named(RESATTNETS, "resattnet18") == [NET]
    with pytest.raises(argparse.ArgumentTypeError, match="expected some of ad,mci, got x"):
        named(TASKS, "ad,x")
    assert numbers("4,2") == [1, 2, 4]


def test_a_part_is_not_the_whole() -> None:
    counts = numbers("2,4,8")
    everything = argparse.Namespace(nets=list(RESATTNETS), tasks=list(TASKS), workers=counts)
    vars(everything).update(quick=False, no_training=False, epochs=None)
    assert whole(everything)
    everything.workers = numbers("2")
    assert not whole(everything)
