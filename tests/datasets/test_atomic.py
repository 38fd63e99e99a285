"""A file is there as a whole or not at all, and who cannot write it names it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from netpart.data.atomic import atomic_file


def test_it_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with atomic_file(path) as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    with pytest.raises(TypeError), atomic_file(path) as file:
        file.writelines([b"half", "text"])  # type: ignore[list-item]
    assert [(p.name, p.read_bytes()) for p in path.parent.iterdir()] == [("file", b"whole")]


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
