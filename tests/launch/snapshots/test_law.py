"""The law of snapshots: what is read from them under another cut is what a checkpoint has, bit for bit."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from google.protobuf.text_format import Parse
from hypothesis import given, settings

from netpart.errors import NetpartError
from netpart.graph.partition import Partition, partition_job
from netpart.launch.snapshots.forecast import forecast_snapshots
from netpart.launch.snapshots.reader import SnapshotLost
from netpart.launch.snapshots.regions import Generation
from netpart.proto.job_pb2 import JobProto, KernelSet, Products
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.worker.ensemble import Ensemble
from tests.graph.jobs import data, job, layer, product
from tests.launch.snapshots.teams import (
    SnapshotTeam,
    memory_of,
    reader_of,
    restore_from_file,
    restore_player,
    save_checkpoint,
    services_of,
)
from tests.laws.nets import Example, examples
from tests.laws.workers import reference
from tests.thorough import example_count

STEP = Generation(0, 10)
KINDS = ("float32", "float64", "bfloat16")
ADAM = "type: kAdam learning_rate { type: kFixed base_lr: 0.01 } ema_decay: 0.9"


def job_of_kind(conf: JobProto, kind: str) -> JobProto:
    """``conf`` with elements of ``kind`` and an updater with much state: Adam, and averages of parameters."""
    found = JobProto()
    found.CopyFrom(conf)
    found.dtype = JobProto.FLOAT64 if kind == "float64" else JobProto.FLOAT32
    found.device, found.kernels = JobProto.CPU, KernelSet.REFERENCE
    if kind == "bfloat16":
        found.precision = Products.BFLOAT16
    found.updater.CopyFrom(Parse(ADAM, UpdaterProto()))
    return found


def other_cuts(conf: JobProto, workers: int) -> list[Partition]:
    """The uncut net, the same cut, and the cuts for one worker more and one less that ``conf`` allows."""
    found = [reference(conf), partition_job(conf, workers)]
    for count in (workers + 1, workers - 1):
        try:
            found.append(partition_job(conf, count))
        except NetpartError:
            continue
    return found


@pytest.mark.parametrize("kind", KINDS)
@given(example=examples())
@settings(max_examples=example_count(24))
def test_a_snapshot_restores_what_a_checkpoint_does(kind: str, example: Example) -> None:
    conf = job_of_kind(example.job, kind)
    whole = Ensemble(partition_job(conf, example.workers))
    whole.initialise()
    whole.step("train", 0)
    cuts = other_cuts(conf, example.workers)
    count = max(cut.workers for cut in cuts)
    with TemporaryDirectory() as folder, services_of(count) as services:
        path = Path(folder) / "step.safetensors"
        save_checkpoint(whole, path)
        team = SnapshotTeam(whole, services)
        team.take(STEP.step)
        assert team.book.committed == STEP.step
        for row in forecast_snapshots(whole.partition, team.duties):
            assert services[row.worker].store.nbytes == row.kept
        for cut in cuts:
            found, expected = Ensemble(cut), Ensemble(cut)
            for rank, player in enumerate(found.players):
                restore_player(player, reader_of(services[rank], STEP, services[: example.workers]))
                restore_from_file(expected.players[rank], path)
            assert memory_of(found) == memory_of(expected)


@given(example=examples())
@settings(max_examples=example_count(24))
def test_any_one_worker_may_be_lost(example: Example) -> None:
    """Each region has two copies, so the others have all of them; after the loss of a single worker nothing is left."""
    conf = job_of_kind(example.job, "float64")
    whole = Ensemble(partition_job(conf, example.workers))
    whole.initialise()
    with services_of(example.workers) as services:
        SnapshotTeam(whole, services).take(STEP.step)
        for lost in range(example.workers):
            left = [service for rank, service in enumerate(services) if rank != lost]
            again = Ensemble(whole.partition)
            if not left:
                return
            for player in again.players:
                restore_player(player, reader_of(left[0], STEP, left))
            assert memory_of(again) == memory_of(whole)


def test_a_snapshot_that_is_dropped_early_does_not_prevent_later_ones() -> None:
    """A worker that is a step ahead skips one, and the decision comes before the other worker has reached its step."""
    cut = partition_job(job(data(), product("fc", "data", 4), layer("loss", "kSoftmaxLoss", "fc", "data")), 2)
    whole = Ensemble(cut)
    whole.initialise()
    with services_of(2) as services:
        team = SnapshotTeam(whole, services)
        team.schedules[0].take(10)
        team.schedules[0].take(20)
        team.decide()
        for step in (10, 20, 30):
            team.take(step)
        assert team.book.committed == 30


def test_without_both_copies_the_snapshot_is_lost() -> None:
    cut = partition_job(job(data(), product("fc", "data", 4), layer("loss", "kSoftmaxLoss", "fc", "data")), 2)
    whole = Ensemble(cut)
    whole.initialise()
    with services_of(2) as services:
        SnapshotTeam(whole, services).take(STEP.step)
        services[0].store.adopt(None)
        reader = reader_of(services[0], STEP, [])
        with pytest.raises(SnapshotLost, match="expected a worker that has it"):
            restore_player(whole.players[0], reader)
