"""Arrays on disk come back as they were put, as many as there is room for, and leave nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from netpart.data.scans.scratch_arrays import ScratchArrays
from netpart.errors import DataError

SHAPE = (3, 4)
ARRAYS = np.random.default_rng(1).random((5, *SHAPE)).astype(np.float32)


def test_arrays_come_back_as_long_as_there_was_room() -> None:
    scratch = ScratchArrays(5, SHAPE, room=3 * 48 + 47)
    assert scratch.nbytes == 3 * 48
    for number in (4, 2, 0):
        scratch.put(number, ARRAYS[number].T.copy().T)
    for number, there in enumerate((True, False, True, False, False)):
        found = scratch.get(number)
        assert there == (found is not None and np.array_equal(found, ARRAYS[number]))


def test_without_room_there_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere")
    scratch = ScratchArrays(5, SHAPE, room=47)
    scratch.put(0, ARRAYS[0])
    assert scratch.get(0) is None


def test_the_file_has_no_name_and_ends_with_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = len(os.listdir("/proc/self/fd"))
    scratch = ScratchArrays(5, SHAPE, room=1000)
    scratch.put(1, ARRAYS[1])
    assert not list(tmp_path.iterdir())
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del scratch
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_folder_or_disk_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere")
    with pytest.raises(DataError, match=r"/nowhere: expected room for 0\.0 MiB of scans, got nothing there"):
        ScratchArrays(5, SHAPE, room=1000)
    monkeypatch.delenv("TMPDIR")
    scratch = ScratchArrays(5, SHAPE, room=1000)
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(DataError, match="got no space left on device; set TMPDIR"):
        scratch.put(1, ARRAYS[1])


def full(*_: object) -> int:
    raise OSError(28, "No space left on device")
