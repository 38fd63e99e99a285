"""Timing files: what was timed is found by the next process, and nothing of another host or of a damaged file is."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.plan.timings import timing_file
from netpart.plan.timings.timing_file import Timing, TimingFile


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_what_is_saved_is_known() -> None:
    first, beside = TimingFile(("onednn", "1")), TimingFile(("onednn", "1"))
    first.add("a", Timing(0.5, 1.0, 2.0))
    beside.add("b", Timing(0.25, 1.0, 2.0))
    first.save()
    beside.save()
    assert TimingFile(("onednn", "1")).known == {"a": Timing(0.5, 1.0, 2.0), "b": Timing(0.25, 1.0, 2.0)}
    assert TimingFile(("onednn", "2")).known == {}


def test_another_processor_has_a_file_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    here = TimingFile(())
    path = here.path
    monkeypatch.setattr(timing_file, "processor_name", lambda: "another")
    assert here.path != path


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": [0, 1, 2], "b": [1], "c": [1e999, 1, 1], "d": "x"}'])
def test_a_damaged_file_is_measured_again(text: str) -> None:
    file = TimingFile(())
    file.path.parent.mkdir(parents=True)
    file.path.write_text(text)
    assert TimingFile(()).known == {}
    file.add("a", Timing(1.0, 1.0, 1.0))
    file.save()
    assert list(TimingFile(()).known) == ["a"]


def test_a_folder_that_cannot_be_written_to_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    file = TimingFile(())
    file.add("a", Timing(1.0, 1.0, 1.0))
    file.save()
    assert TimingFile(()).known == {}
