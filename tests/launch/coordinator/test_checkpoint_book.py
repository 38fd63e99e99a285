"""CheckpointBook: files appear whole or not at all; every element is written by one worker."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from math import inf, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from netpart.checkpoint import safetensors_file
from netpart.checkpoint.checksums import WrittenRange
from netpart.checkpoint.safetensors_file import join_checkpoint
from netpart.checkpoint.steps import list_checkpoints, parse_step
from netpart.errors import DataError, SignalInterrupt, TrainingDiverged
from netpart.graph.partition import Partition
from netpart.graph.saved_holdings import assign_checkpoint_writes
from netpart.launch.control.signals import SIGNAL_LISTENER, interrupt_on_signals
from netpart.launch.coordinator.checkpoint_book import CheckpointBook
from netpart.spec import extent, size
from tests.worker.jobs import LENET, partition

WORKERS = 3


@pytest.fixture(scope="module", params=["YES", "NO"])
def cut(request: pytest.FixtureRequest) -> Partition:
    return partition(LENET, WORKERS, f"shard_updates={request.param}")


def write_share(cut: Partition, path: Path, rank: int) -> None:
    with join_checkpoint(path) as file:
        for h in assign_checkpoint_writes(cut)[rank]:
            holding = cut.holdings[rank][h]
            values = np.full(extent(holding.home), 1.0 + rank, np.float32)
            file.write_region(holding.parameter.name, holding.home, values, holding.parameter.spec.shape)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_every_element_has_one_writer(cut: Partition) -> None:
    elements = {p.name: 0 for p in cut.parameters}
    for rank, mine in enumerate(assign_checkpoint_writes(cut)):
        for h in mine:
            elements[cut.holdings[rank][h].parameter.name] += size(cut.holdings[rank][h].home)
    assert elements == {p.name: prod(p.spec.shape) for p in cut.parameters}


def test_files_get_their_names_when_all_have_written(tmp_path: Path, cut: Partition) -> None:
    book = CheckpointBook(cut, tmp_path)
    for rank in range(WORKERS):
        path, beside = book.open(5)
        assert beside == path.with_suffix(".updater")
        write_share(cut, path, rank)
        assert names(tmp_path) == ["step00000005.safetensors.partial", "step00000005.updater.partial"]
        assert book.latest is None
        assert book.written(5, rank) == (path if rank == WORKERS - 1 else None)
    assert names(tmp_path) == ["step00000005.safetensors", "step00000005.updater"]
    assert book.latest == path
    assert all((values > 0).all() for values in load_file(path).values())


def test_what_is_unfinished_is_removed(tmp_path: Path, cut: Partition) -> None:
    book = CheckpointBook(cut, tmp_path)
    path, _ = book.open(5)
    write_share(cut, path, 0)
    book.written(5, 0)
    book.open(10)
    book.abandon()
    assert names(tmp_path) == []


def write_all(book: CheckpointBook) -> None:
    for rank in range(WORKERS):
        book.open(5)
        book.written(5, rank)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("moment", ["sealing", "making"])
def test_an_interrupt_between_two_files_leaves_neither_half_done(
    tmp_path: Path, cut: Partition, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """While the first of two is sealed, and right after the second has been made."""
    book = CheckpointBook(cut, tmp_path)
    if moment == "making":
        monkeypatch.setattr(safetensors_file, "CheckpointWriter", interrupt)
    else:
        book.open(5)
        monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_all(book)
    monkeypatch.undo()
    book.abandon()
    assert names(tmp_path) == []


def test_what_a_killed_run_left_half_done_is_replaced(tmp_path: Path, cut: Partition) -> None:
    (tmp_path / "step00000005.safetensors.partial").write_bytes(b"half")
    book = CheckpointBook(cut, tmp_path)
    for rank in range(WORKERS):
        path, _ = book.open(5)
        write_share(cut, path, rank)
        book.written(5, rank)
    assert len(load_file(path)) == len(cut.parameters)


def test_no_room_is_told(tmp_path: Path, cut: Partition) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        DataError, match=r"step00000005.safetensors: expected room for a checkpoint, got a file in place of a folder"
    ):
        CheckpointBook(cut, tmp_path / "file" / "checkpoint").open(5)


def save(book: CheckpointBook, cut: Partition, step: int) -> Path:
    """All workers write their shares; the file that is then in place."""
    for rank in range(WORKERS):
        path, _ = book.open(step)
        write_share(cut, path, rank)
        placed = book.written(step, rank)
    assert placed == path
    return path


@pytest.mark.parametrize(
    ("step", "updater", "name", "nbytes"),
    [(4, False, "conv1/w1", 4), (5, True, "conv1/w1", 4), (5, False, "conv1/w1.momentum", 4), (5, False, "?", 4)]
    + [(5, False, "conv1/w1", 1 << 40)],
)
def test_what_no_worker_can_have_written_is_refused(
    tmp_path: Path, cut: Partition, step: int, updater: bool, name: str, nbytes: int
) -> None:  # fmt: skip
    book = CheckpointBook(cut, tmp_path)
    book.open(5)
    with pytest.raises((LookupError, ValueError)):
        book.note_written(step, False, [(updater, name, WrittenRange(0, nbytes, 0, True))])
    book.abandon()


@pytest.mark.parametrize("call", ["replace", "unlink"])
def test_a_signal_while_files_are_put_in_place_waits_for_all_of_it(
    tmp_path: Path, cut: Partition, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Between the two files, and before the first: the checkpoint is this run's, and --resume takes it."""
    act = getattr(os, call)

    def interrupted(*paths: Any, **named: Any) -> None:
        act(*paths, **named)
        SIGNAL_LISTENER.heard = -inf
        signal.raise_signal(signal.SIGINT)

    (tmp_path / "step00000005.safetensors").write_bytes(b"of an earlier run")
    book = CheckpointBook(cut, tmp_path)
    monkeypatch.setattr(os, call, interrupted)
    with interrupt_on_signals(), pytest.raises(SignalInterrupt):
        save(book, cut, 5)
    monkeypatch.undo()
    book.abandon()
    path = tmp_path / "step00000005.safetensors"
    assert names(tmp_path) == ["step00000005.safetensors", "step00000005.updater"]
    assert book.left() == f"the latest checkpoint is {path}, --resume continues from it"
    assert len(load_file(path)) == len(cut.parameters)


@pytest.mark.parametrize("which", [0, 1])
def test_a_checkpoint_with_nan_is_not_put_in_place(tmp_path: Path, cut: Partition, which: int) -> None:
    """In the parameters, or in the state of the updater."""
    book = CheckpointBook(cut, tmp_path)
    good = save(book, cut, 5)
    path = book.open(10)[which]
    assert path is not None
    with join_checkpoint(path) as file:
        name = f"conv1/w1{'.momentum' if which else ''}"
        file.write_region(name, ((7, 8), (24, 25)), np.full((1, 1), np.inf, np.float32))
    book.written(10, 0)
    book.written(10, 1)
    with pytest.raises(
        TrainingDiverged, match=f"^checkpoint of step 10: expected finite numbers, got nan or infinity in {name}:"
    ):
        book.written(10, 2)
    book.abandon()
    assert names(tmp_path) == [good.name, "step00000005.updater"]
    assert book.left() == f"the latest checkpoint is {good}, --resume continues from it"


def test_what_is_left_of_a_run_is_told(tmp_path: Path, cut: Partition) -> None:
    assert CheckpointBook(cut, tmp_path).left() == "no checkpoint was saved"
    began = tmp_path / "other"
    assert CheckpointBook(cut, tmp_path, [], began).left() == f"no checkpoint was saved; the run began with {began}"
    book = CheckpointBook(cut, tmp_path / "gone")
    path = save(book, cut, 5)
    later = path.with_name("step00000007.safetensors")
    later.touch()
    assert book.left().endswith(f"--resume takes {later}, of an earlier run: remove that first")
    shutil.rmtree(path.parent)
    assert book.left() == f"the latest checkpoint was {path}, which is no longer there"


def steps(folder: Path) -> list[int]:
    """The steps of all checkpoints, each of which has its updater."""
    found = list_checkpoints(folder)
    assert [path.with_suffix(".updater") for path in found] == sorted(folder.glob("*.updater"))
    return [parse_step(path) for path in found]


@pytest.mark.parametrize(("keep", "left"), [(0, [1, 2, 3, 4]), (1, [4]), (3, [2, 3, 4]), (9, [1, 2, 3, 4])])
def test_only_the_newest_checkpoints_of_a_run_stay(tmp_path: Path, keep: int, left: list[int]) -> None:
    cut = partition(LENET, WORKERS, f"checkpoint_keep={keep}")
    for step in (2, 7):
        other = CheckpointBook(cut, tmp_path)
        save(other, cut, step)
    book = CheckpointBook(cut, tmp_path)
    for step in (1, 2, 3, 4):
        save(book, cut, step)
        assert step in steps(tmp_path)
    assert steps(tmp_path) == [*left, 7]


def test_an_older_checkpoint_goes_only_when_the_newer_one_is_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = partition(LENET, WORKERS, "checkpoint_keep=1")
    book = CheckpointBook(cut, tmp_path)
    save(book, cut, 1)

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DataError, match="got input/output error"):
        save(book, cut, 2)
    monkeypatch.undo()
    book.abandon()
    assert steps(tmp_path) == [1]


def test_a_run_that_goes_on_keeps_no_more_either(tmp_path: Path) -> None:
    """The checkpoints before it are its own, also the one that it began with, which may be saved again."""
    cut = partition(LENET, WORKERS, "checkpoint_keep=1")
    all_of_them = CheckpointBook(partition(LENET, WORKERS), tmp_path)
    for step in (1, 2, 3):
        save(all_of_them, cut, step)
    book = CheckpointBook(cut, tmp_path, list_checkpoints(tmp_path), tmp_path / "step00000003.safetensors")
    for step in (3, 4, 5):
        save(book, cut, step)
        assert steps(tmp_path) == [step]


def test_the_best_checkpoint_is_replaced_as_a_whole(
    tmp_path: Path, cut: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a crash comes between two files: the parameters are the old or the new ones, and a state fits them."""
    book = CheckpointBook(cut, tmp_path, notes=lambda best: {"best_value": "0.5"} if best else {})

    def write(step: int) -> None:
        for rank in range(WORKERS):
            path, _ = book.open(step, best=True)
            write_share(cut, path, rank)
            book.written(step, rank, best=True)

    def steps() -> list[str]:
        found = []
        for name in ("best.safetensors", "best.updater"):
            if (tmp_path / name).exists():
                with safe_open(tmp_path / name, "np") as file:
                    found.append(file.metadata()["step"])
        return found

    write(5)
    assert names(tmp_path) == ["best.safetensors", "best.updater"]
    assert (book.latest, book.kept) == (None, [])
    replace = os.replace
    for crash in (0, 1):
        done = 0

        def crashing(source: Path, target: Path, crash: int = crash) -> None:
            nonlocal done
            if done == crash:
                raise KeyboardInterrupt
            done += 1
            replace(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", crashing)
            with pytest.raises(KeyboardInterrupt):
                write(7)
        assert steps() == (["7"] if crash else ["5"])
        book.abandon()
        write(5)
        assert steps() == ["5", "5"]
    assert list_checkpoints(tmp_path) == []
