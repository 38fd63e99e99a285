"""CheckpointBook: files appear whole or not at all; every element is written by one worker."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from netpart.checkpoint import safetensors_file
from netpart.checkpoint.safetensors_file import join
from netpart.errors import DataError
from netpart.graph.partition import Partition
from netpart.launch.saving import CheckpointBook, writers
from netpart.spec import extent, size
from tests.worker.jobs import LENET, partition

WORKERS = 3


@pytest.fixture(scope="module", params=["YES", "NO"])
def cut(request: pytest.FixtureRequest) -> Partition:
    return partition(LENET, WORKERS, f"shard_updates={request.param}")


def write_share(cut: Partition, path: Path, rank: int) -> None:
    with join(path) as file:
        for h in writers(cut)[rank]:
            holding = cut.holdings[rank][h]
            values = np.full(extent(holding.home), 1.0 + rank, np.float32)
            file.write_region(holding.parameter.name, holding.home, values, holding.parameter.spec.shape)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_every_element_has_one_writer(cut: Partition) -> None:
    elements = {p.name: 0 for p in cut.parameters}
    for rank, mine in enumerate(writers(cut)):
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


@pytest.mark.parametrize("moment", ["placing", "making"])
def test_an_interrupt_between_two_files_leaves_neither_half_done(
    tmp_path: Path, cut: Partition, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """While the first of two is put in place, and right after the second has been made."""
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
