"""Loop: what one worker does from its first step to its last. Every worker keeps the same order of events.

step:  meet? ─ validate? ─ test? ─ checkpoint? ─ train ─ report?        (the order of SINGA's Worker::Run)
end:   meet? ─ checkpoint ─ validate ─ test

Of several groups each trains in its own steps; group 0 validates, tests and reports, and the keepers of parameters
write checkpoints.

Where stages are delayed, several steps are under way at a time; before anything but training all of them are ended.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING

from netpart.launch.control.due_steps import barrier_steps, is_due, must_drain
from netpart.launch.member.checkpoint_files import LOCAL, CheckpointFiles
from netpart.launch.member.checkpoint_share import CheckpointShare
from netpart.launch.member.control_client import ControlClient
from netpart.launch.member.patience import LOOK_UP_SECONDS, DeadlineWaiter
from netpart.proto.cluster import Cluster
from netpart.proto.control_pb2 import ControlProto, WelcomeProto
from netpart.worker.player import Player

if TYPE_CHECKING:
    from netpart.launch.member.group_averages import AverageSchedule
    from netpart.proto.job_pb2 import JobProto
    from netpart.transport.transport import Transport
    from netpart.worker.server_player import AppliedUpdate

TOLD_TOGETHER = 1000
"""Numbers of updates that are told in one message."""
LATEST_STEPS = 1000
"""Training steps whose times are kept."""


class WorkerLoop:
    """Trains, evaluates and saves on one worker of ``cluster``. ``averages`` are of groups that keep their own
    parameters."""

    def __init__(
        self, player: Player, transport: Transport, control: ControlClient, job: JobProto, welcome: WelcomeProto,
        files: CheckpointFiles = LOCAL, cluster: Cluster | None = None, averages: AverageSchedule | None = None,
    ) -> None:  # fmt: skip
        self.player = player
        self.transport = transport
        self.control = control
        self.job = job
        self.welcome = welcome
        self.averages = averages
        self.cluster = cluster or Cluster(player.program.workers)
        self.patience = DeadlineWaiter(transport, control, self.cluster, welcome.deadline)
        self.share = CheckpointShare(player, control, welcome, files)
        self.first = welcome.first_step
        self.end = max(welcome.first_step, job.train_steps)
        self.applied: list[int] = []
        self.train_seconds = 0.0
        self.batches = 0
        self.step_seconds: deque[float] = deque(maxlen=LATEST_STEPS)

    def run(self) -> None:
        """Plays every step of the job. Raises Overdue when a message does not come by the deadline."""
        job = self.job
        met = set(barrier_steps(self.job, self.first, self.end) if self.averages else ())
        mine = self.cluster.steps(self.cluster.group(self.control.rank), self.first, self.end)
        for step in range(self.first, self.end):
            self.equalise_if(step, step in met)
            self.evaluate_if(step, is_due(step, job.validate_freq, job.validate_after), "val", job.validate_steps)
            self.evaluate_if(step, is_due(step, job.test_freq, job.test_after), "test", job.test_steps)
            self.checkpoint_if(step, is_due(step, job.checkpoint_freq, job.checkpoint_after))
            if step in mine:
                self.train(step)
            self.report_if(step + 1)
        self.equalise_if(self.end, True)
        self.checkpoint_if(self.end, True)
        self.evaluate_if(self.end, True, "val", job.validate_steps)
        self.evaluate_if(self.end, True, "test", job.test_steps)
        self.tell_applied()
        self.flush()

    def flush(self) -> None:
        """Waits until all that was sent leaves by itself: from here on this worker listens to the coordinator alone."""
        self.player.doing = "waiting for its last messages to leave"
        while not self.transport.flush(LOOK_UP_SECONDS):
            self.control.check()

    def just_restored(self, step: int) -> bool:
        """True if what a checkpoint of ``step`` would hold has just been read from one."""
        return bool(self.job.resume and self.welcome.restore) and step == self.welcome.first_step

    def checkpoint_if(self, step: int, now: bool) -> None:
        """Writes a checkpoint if this worker keeps parameters, and they were not read from just that one."""
        if now and self.control.rank in self.cluster.checkpoint_ranks and not self.just_restored(step):
            self.share.save(step)

    def equalise_if(self, step: int, now: bool) -> None:
        """Makes the parameters of all groups one, where each has its own."""
        if now and self.averages is not None:
            self.player.doing = "waiting for the other groups"
            for waiting in self.averages.equalise_groups(step):
                self.patience.wait(waiting, step)

    def train(self, step: int) -> None:
        """Plays one training step, and whatever is due between groups after it."""
        started = perf_counter()
        pausing = must_drain(self.job, self.player.program.phases, step + 1)
        self.drive("train", step, step, pausing)
        if self.averages is not None:
            for waiting in self.averages.run_due(step):
                self.patience.wait(waiting, step)
        if pausing or self.reports(step + 1):
            self.finish("train", step)  # so that what its device still does counts as training
        self.step_seconds.append(perf_counter() - started)
        self.train_seconds += self.step_seconds[-1]
        self.batches += 1

    def finish(self, phase: str, step: int) -> None:
        """Blocks until its device has done what it was told."""
        for waiting in self.player.finish(phase):
            self.patience.wait(waiting, step)

    def reports(self, done: int) -> bool:
        """True if it is time to report the metrics, ``done`` steps in."""
        return done % self.welcome.report_every == 0 or done == self.job.train_steps

    def report_if(self, done: int) -> None:
        """Reports the metrics of group 0 when it is time, ``done`` steps in."""
        if self.reports(done) and self.batches and self.control.rank in self.cluster.reporting_ranks:
            self.report("train", done, self.batches)
            self.batches = 0

    def evaluate_if(self, step: int, now: bool, phase: str, batches: int) -> None:
        """Runs a validation or test net over ``batches`` mini-batches, from its first record on."""
        if not now or phase not in self.player.program.phases or self.control.rank not in self.cluster.reporting_ranks:
            return
        for batch in range(batches):
            self.drive(phase, batch, step)
        self.report(phase, step, batches)

    def drive(self, phase: str, batch: int, step: int, drain: bool = True) -> None:
        """Plays one mini-batch, blocking where the player must wait."""
        self.control.status.phase = phase
        self.control.status.step = step
        for waiting in self.player.play(phase, batch, drain):
            self.patience.wait(waiting, step)
        self.control.check()

    def report(self, phase: str, step: int, batches: int) -> None:
        """Sends the metrics since the last report."""
        self.finish(phase, step)
        message = ControlProto()
        report = message.report
        report.rank = self.control.rank
        report.phase = phase
        report.step = step
        report.batches = batches
        report.sum.extend(self.player.read_metrics(phase).tolist())
        self.control.send(message)

    def keep_update(self, update: AppliedUpdate) -> None:
        """Keeps an update for the coordinator, and now and then tells it."""
        self.applied += update
        if len(self.applied) >= TOLD_TOGETHER:
            self.tell_applied()

    def note_shown(self, update: AppliedUpdate) -> None:
        """The same by one worker of each group."""
        if self.cluster.number_in_group(self.control.rank) == 0:
            self.keep_update(update)

    def tell_applied(self) -> None:
        """Tells the coordinator of the updates since the last time."""
        if self.applied:
            message = ControlProto()
            message.updates.rank = self.control.rank
            message.updates.number.extend(self.applied)
            self.control.send(message)
        self.applied = []
