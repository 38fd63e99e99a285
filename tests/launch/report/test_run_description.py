"""What a listener is told of a run: the settings by their paths, and the job as it is run."""

from __future__ import annotations

from pathlib import Path

from netpart.launch.report.run_description import RunDescription
from netpart.plan.partition import partition_by_scheme
from netpart.proto.reader import read_job, read_job_text
from tests.house.tree import ROOT


def test_settings_are_named_as_set_names_them() -> None:
    changes = ["updater.learning_rate.base_lr=0.25", "updater.type=kAdam", "train_steps=7"]
    job = read_job(ROOT / "graphs/mlp/column-row.conf", changes)
    run = RunDescription(partition_by_scheme(job.proto, 2, job.folder), Path("out/a"))
    wanted = {
        "workers": 2, "workspace": "out/a", "updater.learning_rate.base_lr": 0.25, "updater.type": "kAdam",
        "train_steps": 7, "name": "column-row",
    }  # fmt: skip
    assert wanted.items() <= run.settings.items()
    assert all(isinstance(value, str | int | float | bool) for value in run.settings.values())
    assert not [name for name in run.settings if name.startswith("neuralnet")]
    assert run.name == "column-row"
    assert read_job_text(run.job_text).proto.updater == job.proto.updater
