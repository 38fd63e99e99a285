"""Notes: metrics.jsonl across runs, and one run to a workspace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netpart.errors import ConfigError, DataError
from netpart.launch.report.events import MEMORY, Event, Measured, Restarted, Saved, Staleness, Updated, WentOn
from netpart.launch.report.run_record import RunRecord
from netpart.worker.server_player import AppliedUpdate


def measured(step: int) -> Measured:
    return Measured("train", step, {"loss/loss": 1 / step}, 0.5, 10.0)


def noted(workspace: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (workspace / "metrics.jsonl").read_text().splitlines()]


def note(workspace: Path, steps: list[int], first_step: int = 0, resumed: bool = False) -> RunRecord:
    notes = RunRecord(workspace, None, first_step, resumed)
    for step in steps:
        notes.hear(measured(step))
    notes.close()
    return notes


def test_every_event_is_passed_on_and_measurements_are_noted(tmp_path: Path) -> None:
    heard: list[Event] = []
    notes = RunRecord(tmp_path / "new" / "folder", heard.append)
    events: list[Event] = [measured(1), Saved(1, Path("step1")), measured(2)]
    for event in events:
        notes.hear(event)
    notes.close()
    assert heard == events
    assert noted(tmp_path / "new" / "folder") == [1, 2]
    assert notes.latest == {"train": {"loss/loss": 0.5}}
    assert notes.checkpoint == "step1"


def test_a_run_that_goes_on_drops_what_it_does_again(tmp_path: Path) -> None:
    note(tmp_path, [1, 2, 3, 4])
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"phase": "tra')  # the run was killed while it wrote
    note(tmp_path, [3, 4, 5], first_step=2, resumed=True)
    assert noted(tmp_path) == [1, 2, 3, 4, 5]


def test_a_new_run_starts_anew(tmp_path: Path) -> None:
    note(tmp_path, [1, 2])
    note(tmp_path, [1])
    assert noted(tmp_path) == [1]


def test_a_workspace_has_one_run(tmp_path: Path) -> None:
    notes = RunRecord(tmp_path, None)
    notes.hear(measured(1))
    with pytest.raises(ConfigError, match="expected no other run in it, got one; wait for it, or name another one"):
        RunRecord(tmp_path, None)
    notes.close()
    assert noted(tmp_path) == [1]
    note(tmp_path, [2])


def test_a_workspace_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"workspace .*file: expected a folder to write to, got .*; name another"):
        RunRecord(tmp_path / "file", None)


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    notes = RunRecord(tmp_path, None)
    notes.file.close()
    notes.file = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115 - Notes closes it
    with pytest.raises(DataError, match=r"/dev/full: expected room for a line, got no space left on device; free some"):
        notes.hear(measured(1))
    notes.close()
    notes.updates = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115 - Notes closes it
    notes.hear(Updated(0, AppliedUpdate(0, 0, 0, 0)))
    with pytest.raises(DataError, match=r"/dev/full: expected room for a line, got no space left on device"):
        notes.close()


def test_updates_are_noted_and_counted_but_not_passed_on(tmp_path: Path) -> None:
    heard: list[Event] = []
    notes = RunRecord(tmp_path, heard.append)
    assert notes.staleness is None
    for version, read in enumerate([0, 0, 2, 1, 4]):
        notes.hear(Updated(3, AppliedUpdate(version % 2, version, read, version)))
    notes.close()
    assert heard == []
    lines = [json.loads(line) for line in (tmp_path / "updates.jsonl").read_text().splitlines()]
    assert lines[3] == {"rank": 3, "group": 1, "step": 3, "read": 1, "version": 3, "staleness": 2}
    assert notes.staleness == Staleness(5, 0.6, 2, {0: 3, 1: 1, 2: 1})


def test_a_restart_is_listed_and_an_evaluation_that_is_repeated_once(tmp_path: Path) -> None:
    notes = note(tmp_path, [1, 2, 3])
    again = Restarted(1, 3, 2, 2, "worker 1: died", "step2")
    test = Measured("test", 2, {"loss/loss": 0.25}, 0.5, 10.0)
    notes = RunRecord(tmp_path, None, 3, True)
    notes.hear(test)
    notes.close()
    notes = RunRecord(tmp_path, None, 2, True)
    notes.hear(again)
    notes.hear(measured(3))
    notes.hear(Measured("test", 2, {"loss/loss": 0.125}, 0.5, 10.0))
    notes.close()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line.get("phase") == "train"] == [1, 2, 3]
    assert [line["metrics"]["loss/loss"] for line in lines if line.get("phase") == "test"] == [0.125]
    listed = {"restart": 1, "limit": 3, "step": 2, "workers": 2, "reason": "worker 1: died", "checkpoint": "step2"}
    assert [line for line in lines if "restart" in line] == [listed] == notes.restarts
    notes = RunRecord(tmp_path, None, 0, True)
    notes.close()
    assert notes.restarts == [listed]


def test_changes_of_workers_are_kept_when_the_run_starts_again(tmp_path: Path) -> None:
    note(tmp_path, [1, 2])
    notes = RunRecord(tmp_path, None, 2, True)
    notes.hear(WentOn(4, 2, 0.5, 1, MEMORY, ("worker 1: died",)))
    notes.close()
    again = note(tmp_path, [3, 4], first_step=2, resumed=True)
    assert [(change["change"], change["step"], change["workers"]) for change in again.changes] == [("lost", 4, 2)]
    assert note(tmp_path, [1]).changes == []
