"""The source of Python's standard library as one text."""

from __future__ import annotations

import sysconfig
import this
from pathlib import Path

import pytest

from netpart.data.make.python_source import make_python_source
from netpart.errors import DataError


def test_the_library_is_there_and_what_was_added_to_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b.py", "a/c.py", "a/c.txt", "site-packages/d.py"):
        (tmp_path / "lib" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lib" / name).write_text(name)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: tmp_path / "lib")
    path = tmp_path / "data" / "python.txt"
    assert make_python_source(path) == len("a/c.pyb.py")
    assert path.read_text() == "a/c.pyb.py"
    assert make_python_source(path) == 0
    path.unlink()
    monkeypatch.setattr(sysconfig, "get_path", lambda name: tmp_path / "data")
    with pytest.raises(DataError, match="expected the source of Python's library"):
        make_python_source(path)


def test_this_python_has_its_source(tmp_path: Path) -> None:
    path = tmp_path / "python.txt"
    assert make_python_source(path) == path.stat().st_size > 5_000_000
    assert Path(this.__file__).read_bytes() in path.read_bytes()
