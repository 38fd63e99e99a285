"""A file is there as a whole or not at all, and who cannot write it names it."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from netpart.data.atomic_file import atomic_file


def test_it_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with atomic_file(path) as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    with pytest.raises(TypeError), atomic_file(path) as file:
        file.writelines([b"half", "text"])  # type: ignore[list-item]
    assert [(p.name, p.read_bytes()) for p in path.parent.iterdir()] == [("file", b"whole")]


def test_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Nor does whoever sweeps between a temporary's making and its lock."""
    path, failed = tmp_path / "file", list[Exception]()

    def write() -> None:
        try:
            for _ in range(200):
                with atomic_file(path) as file:
                    file.write(b"whole")
        except OSError as error:
            failed.append(error)

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failed == []
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"whole")]


def test_a_temporary_that_a_sweeper_holds_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, sweepers = fcntl.flock, [True]

    def beaten(file: BinaryIO, how: int) -> None:
        if sweepers.pop() if sweepers else False:
            (left,) = tmp_path.iterdir()
            left.unlink()
            raise BlockingIOError
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", beaten)
    with atomic_file(tmp_path / "file") as file:
        file.write(b"whole")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"whole")]


def test_a_full_disk_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught, atomic_file(tmp_path / "file"):
        pass
    assert caught.value.filename == str(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_file(tmp_path / "file"):
        (tmp_path / "absent").read_bytes()
    assert caught.value.filename == str(tmp_path / "absent")


def write(path: Path, data: bytes) -> None:
    with atomic_file(path) as file:
        file.write(data)


def test_what_a_killed_writer_left_is_removed_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    (tmp_path / ".file.1-1.partial").write_bytes(b"left")
    (tmp_path / ".other.1-1.partial").write_bytes(b"of another file")
    with atomic_file(tmp_path / "file") as file:
        file.write(b"slow")
        thread = threading.Thread(target=write, args=(tmp_path / "file", b"quick"))
        thread.start()
        thread.join()
    assert (tmp_path / "file").read_bytes() == b"slow"
    assert not (tmp_path / ".file.1-1.partial").exists()
    assert (tmp_path / ".other.1-1.partial").exists()
