"""The listener "events": a line of JSON for each event of a real run, and a full disk in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from netpart.errors import ConfigError, DataError
from netpart.graph.partition import Partition
from netpart.launch.report.event_lines import event_lines
from netpart.launch.report.events import Event, Noticed
from netpart.launch.report.run_description import RunDescription
from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from tests.end2end.running import mlp


def test_a_run_writes_every_event(tmp_path: Path) -> None:
    heard: list[Event] = []
    job = read_job(mlp(tmp_path))
    summary = run_job(
        job, 2, launcher="threads", workspace=tmp_path / "run", listener=heard.append, listeners=["events"]
    )
    lines = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text().splitlines()]
    assert lines[-1]["event"] == "Ended"
    assert lines[-1]["summary"]["bytes_counted"] == summary.bytes_counted > 0
    assert [line["event"] for line in lines] == [type(event).__name__ for event in heard]
    metrics = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    measured = [line for line in lines if line.pop("event") == "Measured"]
    assert measured == metrics != []


def test_a_listener_that_is_none_is_named_before_anything_is_written(tmp_path: Path) -> None:
    job = read_job(mlp(tmp_path))
    with pytest.raises(ConfigError, match="--listener: expected a known listener, got 'event'; did you mean events"):
        run_job(job, 2, launcher="threads", workspace=tmp_path / "run", listeners=["event"])
    assert not (tmp_path / "run").exists()


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").symlink_to("/dev/full")
    with (
        pytest.raises(DataError, match=r"events\.jsonl: expected room for a line, got no space left on device"),
        event_lines(RunDescription(cast(Partition, None), tmp_path)) as write_line,
    ):
        write_line(Noticed("something"))
