"""Profile of a job: play some of its training steps on real workers and collect their traces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from netpart.graph.partition import Partition
from netpart.graph.ready import check_ready
from netpart.launch.report.run_record import RunRecord
from netpart.launch.run import LaunchChoice, lead_workers, settle_choices
from netpart.launch.run_options import make_run_options
from netpart.measure.data_waits import mark_reads
from netpart.measure.step_profile import StepProfile, StepProfiler
from netpart.measure.timeline import Timeline
from netpart.measure.traces import decode_memory_plan, decode_trace
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.proto.cluster import single_group_job
from netpart.worker.initial_values import restored_names

if TYPE_CHECKING:
    from netpart.proto.reader import Job

WARM_UP = 3
"""Number of first steps that do not count."""


@dataclass(frozen=True)
class ProfiledRun:
    """The figures of a run of ``cut``, and the ``timeline`` of its steps from which they are computed."""

    profile: StepProfile
    timeline: Timeline
    cut: Partition

    @property
    def median_step(self) -> int:
        """The step that took the median time."""
        return sorted(self.timeline.steps, key=self.timeline.seconds)[len(self.timeline.steps) // 2]

    def to_chrome_trace(self) -> str:
        """All steps as JSON, for ui.perfetto.dev."""
        from netpart.measure.chrome_trace import to_chrome_trace

        sizes = {(entry.source, *map(int, entry.channel)): entry.nbytes for entry in compute_ledger(self.cut).entries}
        return to_chrome_trace(self.timeline, sizes, {each.worker: each.load for each in self.profile.memory})

    def _repr_svg_(self) -> str:
        """The median step as a Gantt chart, which a notebook shows and the command line writes."""
        from netpart.measure.gantt import draw_gantt
        from netpart.units import seconds_text

        step = self.median_step
        profile = self.profile
        which = f"the median of {profile.steps} steps" if profile.steps > 1 else "the step"
        takes = f"of {profile.rows} rows takes {seconds_text(self.timeline.seconds(step))}"
        return draw_gantt(self.timeline.of_step(step), f"{profile.name}: {which} {takes}")


def profile_job(
    job: Job, workers: int | None = None, steps: int = 10, *, launcher: str = "local", transport: str = "auto"
) -> ProfiledRun:
    """Train ``job`` for WARM_UP and then ``steps`` steps, without tests and checkpoints, and report on the latter.

    With several groups it profiles one, which sums its gradients itself. ``launcher`` and ``transport`` are those of
    ``run_job``, on this host. Raises what ``run_job`` raises.
    """
    with TemporaryDirectory() as folder:
        options = replace(make_run_options(job, Path(folder)), trace=True)
        proto = single_group_job(job.proto)
        proto.train_steps = options.first_step + WARM_UP + steps
        cut = partition_by_scheme(
            proto, job.worker_count if workers is None else workers, job.folder, phases=("train",)
        )
        check_ready(cut, restored_names(options.restore))
        options = settle_choices(cut, options, launcher, transport)
        record = RunRecord(options.workspace, None)
        try:
            members = lead_workers(cut, options, LaunchChoice(launcher), record).members
        finally:
            record.close()
    events = (event for m in members for event in decode_trace(m.trace) if event.step >= WARM_UP)
    counted = (event._replace(step=event.step - WARM_UP) for event in events)
    timeline = Timeline(cut.workers, tuple(mark_reads(cut, counted)))
    return ProfiledRun(StepProfiler(cut, timeline).profile(decode_memory_plan(m.trace) for m in members), timeline, cut)
