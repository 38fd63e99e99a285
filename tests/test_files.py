"""Only a regular file is opened; whatever else a path leads to is told at once, in words."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from netpart.errors import os_error_text
from netpart.files import WHOLE, file_size, open_file, read_file
from netpart.units import bytes_text


def refusal(path: Path, most: int = WHOLE) -> str:
    """Why ``path`` is not read."""
    with pytest.raises(OSError) as raised:  # noqa: PT011 - its words are what is asked for
        read_file(path, most)
    return os_error_text(raised.value)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "a pipe; save what it brings in a file"


def test_devices_folders_and_sockets_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        assert refusal(Path("socket")) == "a socket"
    assert refusal(Path("/dev/zero")) == "a device"
    assert refusal(tmp_path) == "a folder"
    assert refusal(tmp_path / "absent") == "nothing there"
    assert refusal(Path("a\0b")) == "a name that no file has"


def test_a_file_of_the_kernel_is_empty_as_it_says() -> None:
    assert read_file(Path("/proc/self/mem")) == read_file(Path("/proc/kmsg")) == b""


def test_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "hole"
    path.touch()
    os.truncate(path, 1 << 40)
    assert file_size(path) == 1 << 40
    assert refusal(path, 1 << 10) == f"more than {bytes_text(1 << 10)}"
    path.write_bytes(b"12")
    assert read_file(path, 2) == b"12"


def test_nothing_stays_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    refusal(tmp_path)
    refusal(Path("/dev/zero"))
    (tmp_path / "a").write_bytes(b"a")
    with open_file(tmp_path / "a") as file:
        assert file.read() == b"a"
    assert os.listdir("/proc/self/fd") == before
