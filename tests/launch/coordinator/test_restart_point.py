"""RestartPoint: what a run that was cut anew goes on with."""

from __future__ import annotations

from pathlib import Path

from netpart.launch.coordinator.restart_point import resumed_cut
from netpart.plan.partition import partition_by_scheme
from tests.launch.elastic.losses import elastic_job


def test_a_cut_that_is_kept_for_later_teams_is_not_changed() -> None:
    cut = partition_by_scheme(elastic_job().proto, 2, Path())
    resumed = resumed_cut(cut)
    assert (cut.job.resume, resumed.job.resume) == (False, True)
    assert resumed.workers == cut.workers
    resumed.job.ClearField("resume")
    assert resumed.job == cut.job
