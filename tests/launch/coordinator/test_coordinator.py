"""The coordinator ends a run in which groups wait for each other for ever, and only such a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
import zmq

from netpart.checkpoint.steps import step_file
from netpart.errors import WorkerFailed
from netpart.graph.partition import partition_job
from netpart.graph.server_pieces import add_job_servers
from netpart.launch.coordinator.conversation import RunOptions
from netpart.launch.coordinator.coordinator import Coordinator
from netpart.proto.control_pb2 import BeatProto
from netpart.proto.reader import read_job_text
from tests.worker.jobs import LENET


@pytest.fixture
def context() -> Iterator[zmq.Context[zmq.Socket[bytes]]]:
    with zmq.Context() as made:
        yield made


def coordinator(context: zmq.Context[zmq.Socket[bytes]], folder: Path, *overrides: str) -> Coordinator:
    cut = add_job_servers(partition_job(read_job_text(LENET, overrides=overrides).proto, 1))
    options = RunOptions(folder, folder, 1, "cpu", 5.0, 1)
    made = Coordinator(cut, options, context, lambda event: None)
    made.socket.close()
    return made


def beat(of: Coordinator, context: zmq.Context[zmq.Socket[bytes]], rank: int, step: int) -> None:
    of.members[rank].heard = monotonic()
    message = BeatProto(rank=rank, phase="train", step=step, doing="waiting for gradients")
    of.talk.on_beat(of.members[rank], message)


def test_groups_that_stand_still_end_the_run(context: zmq.Context[zmq.Socket[bytes]], tmp_path: Path) -> None:
    found = coordinator(context, tmp_path, "cluster.nworker_groups=2")
    for rank in range(3):
        beat(found, context, rank, 4)
    found.look_for_movement()
    found.talk.moved -= 6
    with pytest.raises(
        WorkerFailed, match=r"no worker has made progress for [6-9]\.\d s; .*deadline=SECONDS\nworker 0 \(of group 0\)"
    ):
        found.look_for_movement()
    beat(found, context, 1, 4)
    with pytest.raises(WorkerFailed, match=r"server 0 \(rank 2\) is in train step 4, waiting for gradients"):
        found.look_for_movement()
    beat(found, context, 1, 5)
    found.look_for_movement()


def test_one_group_has_deadlines_of_its_own(context: zmq.Context[zmq.Socket[bytes]], tmp_path: Path) -> None:
    found = coordinator(context, tmp_path)
    beat(found, context, 0, 4)
    found.talk.moved -= 60
    found.look_for_movement()


def test_who_interrupts_is_told_what_resume_takes(context: zmq.Context[zmq.Socket[bytes]], tmp_path: Path) -> None:
    found = coordinator(context, tmp_path)
    assert found.interrupted().endswith("; no checkpoint was saved")
    found.talk.saving.latest = step_file(tmp_path, 20)
    found.talk.saving.latest.touch()
    assert found.interrupted().endswith("step00000020.safetensors, --resume continues from it")
    step_file(tmp_path, 90).touch()
    assert f"--resume takes {step_file(tmp_path, 90)}, of an earlier run: remove that first" in found.interrupted()
