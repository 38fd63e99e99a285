"""What checkpoints of earlier runs mean for the next one is said before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.checkpoint.steps import step_file
from netpart.launch.report.earlier_runs import earlier_run_notices
from netpart.proto.job_pb2 import JobProto


@pytest.mark.parametrize(
    ("job", "found", "said"),
    [
        (JobProto(train_steps=100), [], ""),
        (JobProto(train_steps=100), [50, 100], ""),
        (JobProto(train_steps=100), [50, 200], "00200.safetensors is of an earlier run that went further; --resume"),
        (JobProto(train_steps=100, resume=True), [50], ""),
        (JobProto(train_steps=100, resume=True), [], "--resume: FOLDER has no checkpoint; the run begins with step 0"),
        (JobProto(train_steps=9, resume=True, checkpoint_path=["a"]), [], "has no checkpoint; the run begins with a"),
        (JobProto(train_steps=100, resume=True), [100], "has all 100 steps, so none is left to train; use --steps"),
        (JobProto(train_steps=0, resume=True), [100], ""),
        (JobProto(train_steps=100, resume=True), [200], ""),
    ],
)  # fmt: skip
def test_earlier_checkpoints(job: JobProto, found: list[int], said: str, tmp_path: Path) -> None:
    for step in found:
        step_file(tmp_path, step).touch()
    lines = list(earlier_run_notices(job, tmp_path))
    assert len(lines) == bool(said)
    assert said.replace("FOLDER", str(tmp_path)) in "".join(lines)
