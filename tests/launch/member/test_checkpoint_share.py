"""Checkpoints are written while training goes on: from copies, one at a time, and no failure is lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from threading import Event, Lock
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netpart.checkpoint import checksums, gathered_writes
from netpart.checkpoint.safetensors_file import CheckpointWriter, open_checkpoint
from netpart.checkpoint.tensor_file import TensorFile
from netpart.errors import RunBroken, StorageFailed
from netpart.launch.member import checkpoint_share
from netpart.launch.member.deadline_waiter import Overdue
from netpart.launch.report import events
from netpart.launch.run import run_job
from netpart.proto.reader import Job, read_job
from tests.end2end.running import mlp
from tests.launch.verdict_jobs import PLATEAU, judged_job

LONG = 30.0
WORKERS = 2


def small_job(folder: Path, *changes: str) -> Job:
    conf = mlp(folder, train_steps=12, test_freq=0, disp_freq=1, checkpoint_freq=4, checkpoint_after=4)
    return read_job(conf, list(changes))


def files(workspace: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((workspace / "checkpoint").iterdir())}


def test_steps_do_not_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is what there was at the checkpoint's step, though the parameters have moved on."""
    job, gate, write = small_job(tmp_path), Event(), CheckpointWriter.write_region

    def write_late(self: CheckpointWriter, *what: Any) -> None:
        assert gate.wait(LONG), "training waits for its checkpoint"
        write(self, *what)

    def hear(event: events.Event) -> None:
        if isinstance(event, events.Measured) and event.step == 7:
            gate.set()

    run_job(job, WORKERS, workspace=tmp_path / "plain", launcher="threads")
    monkeypatch.setattr(CheckpointWriter, "write_region", write_late)
    run_job(job, WORKERS, workspace=tmp_path / "late", launcher="threads", listener=hear)
    assert files(tmp_path / "late") == files(tmp_path / "plain")
    assert len(files(tmp_path / "late")) == 6


def test_checkpoints_never_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even those of the best validation, which have one name: with a worker that is slow, they are as without."""
    job = read_job(judged_job(tmp_path, 'validate_freq: 2 validate_steps: 1 checkpoint_best: "loss/loss"', PLATEAU))
    job.proto.train_steps, job.proto.checkpoint_freq = 12, 3
    write, seen, lock = CheckpointWriter.write_region, list[Path](), Lock()

    def write_slowly(self: CheckpointWriter, *what: Any) -> None:
        with lock:
            seen.append(self.path)
        if len(seen) % 3 == 0:
            Event().wait(0.02)
        write(self, *what)

    run_job(job, WORKERS, workspace=tmp_path / "plain", launcher="threads")
    monkeypatch.setattr(CheckpointWriter, "write_region", write_slowly)
    run_job(job, WORKERS, workspace=tmp_path / "slow", launcher="threads")
    assert files(tmp_path / "slow") == files(tmp_path / "plain")
    assert len({path.name for path in seen}) > 6


def test_a_disk_that_is_full_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*what: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(TensorFile, "transfer", refuse)
    where = r"worker \d: train step 4, writing a checkpoint: .*step00000004.safetensors: expected room for a checkpoint"
    with pytest.raises(StorageFailed, match=where):
        run_job(small_job(tmp_path), WORKERS, workspace=tmp_path / "run", launcher="threads")
    assert files(tmp_path / "run") == {}


def test_a_disk_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Event()

    def hang(*what: Any) -> None:
        gate.wait(LONG)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def hear(event: events.Event) -> None:
        if isinstance(event, events.Saved):
            raise AssertionError("nothing can have been saved")

    job = small_job(tmp_path, "deadline=1")
    monkeypatch.setattr(TensorFile, "transfer", hang)
    monkeypatch.setattr(checkpoint_share, "Overdue", released_by(gate))
    with pytest.raises(
        RunBroken, match=r"waited 1 s for its part of the checkpoint of step 4, \d+ bytes, to be written"
    ):
        run_job(job, WORKERS, workspace=tmp_path / "run", launcher="threads", listener=hear)


def released_by(gate: Event) -> Any:
    """The error of an overdue checkpoint, which ends the hanging of the disk: no thread outlives the test."""
    real = Overdue

    def overdue(text: str) -> Exception:
        gate.set()
        return real(text)

    return overdue


def test_a_job_that_saves_at_its_end_has_no_copies(tmp_path: Path) -> None:
    """Its memory is that before, and its file the same."""
    with_copies = run_job(small_job(tmp_path), WORKERS, workspace=tmp_path / "copies", launcher="threads")
    without = run_job(
        small_job(tmp_path, "checkpoint_freq=0"), WORKERS, workspace=tmp_path / "none", launcher="threads"
    )
    saved = sum(4 * count for count in (16 * 8, 16, 16 * 4, 4))
    assert sum(with_copies.memory_bytes) == sum(without.memory_bytes) + 2 * saved
    last = {name: data for name, data in files(tmp_path / "copies").items() if "00000012" in name}
    assert files(tmp_path / "none") == last


@pytest.mark.parametrize("shard", ["YES", "NO"])
def test_nothing_is_read_again_to_seal_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard: str
) -> None:  # fmt: skip
    """Each worker has scanned what it wrote; of the parameters, and of the updater's state."""
    with monkeypatch.context() as patch:
        patch.setattr(checksums, "scan_tensor", None)
        job = small_job(tmp_path, f"shard_updates={shard}")
        run_job(job, WORKERS, workspace=tmp_path / "run", launcher="threads")
    for path in sorted((tmp_path / "run" / "checkpoint").iterdir()):
        with open_checkpoint(path) as file:
            assert "crc32" in file.metadata
            file.verify({name: [tensor.shape] for name, tensor in file.tensors.items()})


def test_large_copies_are_written_from_where_they_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their pages as in those of the file, in all checkpoints."""
    lies, found = gathered_writes.lies_in_pages, list[bool]()

    def watched(part: NDArray[np.uint8], at: int) -> bool:
        found.append(lies(part, at))
        return found[-1]

    monkeypatch.setattr(gathered_writes, "lies_in_pages", watched)
    job = small_job(tmp_path)
    job.proto.neuralnet.layer[2].innerproduct_conf.num_output = gathered_writes.BLOCK // 8
    run_job(job, WORKERS, workspace=tmp_path / "run", launcher="threads")
    # The weight of the first layer has 4 BLOCK bytes, and so has its momentum.
    assert len(found) >= 3 * 2 * WORKERS
    assert all(found)
