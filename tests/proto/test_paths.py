"""Data that a job names relative to its folder is found from another folder as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.proto.paths import data_fields, rebase_paths
from netpart.proto.reader import read_job_text

JOB = """neuralnet {
  layer { name: "a" type: kRecordInput store_conf { path: "../data/x.bin" mean_file: "mean.bin" } }
  layer { name: "b" type: kShardData sharddata_conf { path: "%s" batchsize: 1 } }
}"""


def named(text: str, source: Path, target: Path) -> list[str]:
    job = read_job_text(text).proto
    rebase_paths(job, source, target)
    return [str(getattr(block, name)) for block, name in data_fields(job)]


def test_relative_paths_lead_to_the_same_files(tmp_path: Path) -> None:
    source, target = tmp_path / "jobs", tmp_path / "out" / "plans"
    assert named(JOB % "/abs/y.bin", source, target) == ["../../data/x.bin", "../../jobs/mean.bin", "/abs/y.bin"]
    assert named(JOB % "y", source, source) == ["../data/x.bin", "mean.bin", "y"]


def test_a_url_stays(tmp_path: Path) -> None:
    assert named(JOB % "s3://bucket/y.bin", tmp_path / "jobs", tmp_path / "out")[2] == "s3://bucket/y.bin"


def test_what_lies_in_the_working_directory_stays_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("y.bin").touch()
    assert named(JOB % "y.bin", tmp_path / "jobs", tmp_path / "out")[2] == "y.bin"
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "y.bin").touch()
    assert named(JOB % "y.bin", tmp_path / "jobs", tmp_path / "out")[2] == "../jobs/y.bin"
