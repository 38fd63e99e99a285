"""WorkerLoop: what one worker does from its first step to its last. Every worker has the same order of events.

    step:  meet? ─ halt? ─ validate? ─ test? ─ checkpoint? ─ train ─ report?        (the order of SINGA's Worker::Run)
                      └─ verdict?
    end:   meet? ─ checkpoint ─ validate ─ test

With several groups, each group trains in its own steps. Group 0 validates, tests and reports. The workers in
``Cluster.checkpoint_ranks`` write checkpoints. All workers wait for the verdict after a phase that is judged.

If pipeline stages are delayed, several steps are in flight at a time. All of them are completed before anything other
than training.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING

from netpart.choices import MEMORY, TRAIN
from netpart.errors import NetpartError
from netpart.launch.control.due_steps import barrier_steps, evaluation_times, is_due, must_drain
from netpart.launch.member.checkpoint_files import LOCAL, CheckpointFiles
from netpart.launch.member.checkpoint_share import CheckpointShare
from netpart.launch.member.control_client import ControlClient
from netpart.launch.member.deadline_waiter import ELASTIC_LOOK_UP_SECONDS, LOOK_UP_SECONDS, DeadlineWaiter
from netpart.launch.member.halt_agreement import HaltAgreement
from netpart.launch.member.step_sampler import StepSampler
from netpart.proto.cluster import Cluster
from netpart.proto.control_pb2 import ControlProto, WelcomeProto
from netpart.worker.memory_limit import return_free_memory
from netpart.worker.player import Player

if TYPE_CHECKING:
    from netpart.launch.member.average_schedule import AverageSchedule
    from netpart.launch.snapshots.schedule import SnapshotSchedule
    from netpart.proto.job_pb2 import JobProto
    from netpart.transport.transport import Transport
    from netpart.worker.server_player import AppliedUpdate

TOLD_TOGETHER = 1000
"""How many numbers of updates are collected before they are sent in one message."""
LATEST_STEPS = 1000
"""Number of latest training steps whose times are kept."""


class WorkerLoop:
    """Train, evaluate and save on one worker of ``cluster``. ``averages`` belong to groups that keep their own
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
        self.snapshots: SnapshotSchedule | None = None
        self.cluster = cluster or Cluster(player.program.workers)
        look_up = ELASTIC_LOOK_UP_SECONDS if welcome.region_secret else LOOK_UP_SECONDS
        self.patience = DeadlineWaiter(transport, control, self.cluster, welcome.deadline, look_up)
        self.share = CheckpointShare(player, control, welcome, files)
        self.first = welcome.first_step
        self.end = max(welcome.first_step, job.train_steps)
        self.played: set[str] = set()
        self.halting = HaltAgreement(control, self.flush_to_halt)
        self.sampler = StepSampler(control, player, transport.counts, welcome.transport == MEMORY)
        self.applied: list[int] = []
        self.train_seconds = 0.0
        self.batches = 0
        self.step_seconds: deque[float] = deque(maxlen=LATEST_STEPS)

    def run(self) -> None:
        """Play every step of the job. Raises Overdue when a message does not arrive by the deadline."""
        job = self.job
        halted = False
        if self.welcome.watched:
            self.sampler.start()
        met = set(barrier_steps(self.job, self.first, self.end) if self.averages else ())
        mine = self.cluster.steps(self.cluster.group(self.control.rank), self.first, self.end)
        for step in range(self.first, self.end):
            # Every worker must follow this order: an evaluation or checkpoint exchanges messages that all workers
            # expect at the same point between two training steps.
            self.equalise_if(step, step in met)
            halted = self.halting.ends_before(step)
            self.snapshot_if(step, not halted)
            if halted or self.evaluate_due(step):
                self.end = step
                self.report_rest(step)
                break
            self.checkpoint_if(step, is_due(step, job.checkpoint_freq, job.checkpoint_after))
            if step in mine:
                self.train(step)
            self.report_if(step + 1)
            self.played = set()
        self.equalise_if(self.end, True)
        self.checkpoint_if(self.end, True)
        if not halted:
            self.evaluate_last()
        self.share.finish()
        self.halting.reached = self.end + 1
        self.tell_applied()
        self.flush()

    def evaluate_due(self, step: int) -> bool:
        """Run the validation and test that are due before ``step``; return whether the run stops there."""
        self.played = set()
        for phase, freq, after, batches in evaluation_times(self.job):
            if is_due(step, freq, after):
                self.evaluate_if(step, True, phase, batches)
                self.played.add(phase)
                if self.judge_if(step, phase):
                    return True
        return False

    def evaluate_last(self) -> None:
        """Run the validation and test at the end, without those of the same step that a stop follows."""
        for phase, _, _, batches in evaluation_times(self.job):
            if phase not in self.played:
                self.evaluate_if(self.end, True, phase, batches)
                self.judge_if(self.end, phase)

    def judge_if(self, step: int, phase: str) -> bool:
        """Wait for the verdict if ``phase`` is judged, and follow it; return whether the run stops."""
        if phase not in self.welcome.judged:
            return False
        # Other workers may need what this one has sent to finish the phase.
        self.flush()
        self.player.doing = f"waiting for the verdict about {phase}"
        verdict = self.control.receive("verdict").verdict
        if (verdict.step, verdict.phase) != (step, phase):
            got = f"{verdict.phase} at step {verdict.step}"
            raise NetpartError(
                f"worker {self.control.rank}: expected a verdict about {phase} at step {step}, got {got}"
            )
        if verdict.HasField("base_lr") and self.player.machine.updater is not None:
            self.player.machine.updater.change_base_lr(verdict.base_lr)
        if verdict.best and self.control.rank in self.cluster.checkpoint_ranks:
            self.share.save(step, best=True)
        return verdict.stop

    def report_rest(self, step: int) -> None:
        """Report the metrics of the steps since the last report, of a run that stops early."""
        if self.batches and self.control.rank in self.cluster.reporting_ranks:
            self.report("train", step, self.batches)
            self.batches = 0

    def flush(self) -> None:
        """Wait until everything that was sent leaves without further calls. After this, the worker only listens to the
        coordinator."""
        self.player.doing = "waiting for its last messages to leave"
        while not self.transport.flush(LOOK_UP_SECONDS):
            self.control.check()

    def flush_to_halt(self) -> None:
        """Flush before this worker waits for the decision to stop: others may need what it has sent to answer."""
        self.flush()
        self.player.doing = "waiting for the decision of all workers to stop"

    def just_restored(self, step: int) -> bool:
        """True if the parameters were just read from the checkpoint of ``step``, so that saving it again would change
        nothing."""
        from_file = self.welcome.restore and not self.welcome.HasField("regions")
        return bool(self.job.resume and from_file) and step == self.welcome.first_step

    @property
    def trains(self) -> bool:
        """True if parameters change in this run: an evaluation only reads them."""
        return TRAIN in self.player.program.phases

    def checkpoint_if(self, step: int, now: bool) -> None:
        """Write a checkpoint, if this worker keeps and trains parameters, and has not just read them from that one."""
        if now and self.trains and self.control.rank in self.cluster.checkpoint_ranks and not self.just_restored(step):
            self.share.save(step)

    def snapshot_if(self, step: int, now: bool) -> None:
        """Take the snapshot of ``step`` in an elastic run if it is due: before the events of this step, as a run that
        goes back to it repeats them."""
        if now and self.snapshots is not None:
            self.snapshots.look(step)

    def training_sums(self) -> tuple[int, list[float]]:
        """Mini-batches since the last report of training, and the sums of their metrics on this worker."""
        if self.control.rank not in self.cluster.reporting_ranks:
            return 0, []
        return self.batches, self.player.peek_metrics(TRAIN).tolist()

    def equalise_if(self, step: int, now: bool) -> None:
        """Make the parameters of all groups equal, if each group has its own."""
        if now and self.averages is not None:
            self.player.doing = "waiting for the other groups"
            for waiting in self.averages.equalise_groups(step):
                self.patience.wait(waiting, step)

    def train(self, step: int) -> None:
        """Play one training step, and the averages between groups that are due after it."""
        ends = self.halting.begin(step)
        started = perf_counter()
        self.sampler.begin(step)
        # Delayed stages may stay in flight only until the next event that reads or changes the parameters.
        pausing = ends or must_drain(self.job, self.player.program.phases, step + 1)
        self.drive("train", step, step, pausing)
        if self.averages is not None:
            for waiting in self.averages.run_due(step):
                self.patience.wait(waiting, step)
        if pausing or self.reports(step + 1):
            self.finish("train", step)  # so that work still queued on the device counts as training time
        self.sampler.end(step)
        self.step_seconds.append(perf_counter() - started)
        if step == self.first:
            return_free_memory()  # of what is done once, such as drawing patterns
        self.train_seconds += self.step_seconds[-1]
        self.batches += 1

    def finish(self, phase: str, step: int) -> None:
        """Block until the device has done all enqueued work."""
        for waiting in self.player.finish(phase):
            self.patience.wait(waiting, step)

    def reports(self, done: int) -> bool:
        """True if the metrics are to be reported after ``done`` steps."""
        return done % self.welcome.report_every == 0 or done == self.job.train_steps

    def report_if(self, done: int) -> None:
        """Report the metrics of group 0 if they are due after ``done`` steps."""
        if self.reports(done) and self.batches and self.control.rank in self.cluster.reporting_ranks:
            self.report("train", done, self.batches)
            self.batches = 0

    def evaluate_if(self, step: int, now: bool, phase: str, batches: int) -> None:
        """Run a validation or test net over ``batches`` mini-batches, from its first record on."""
        if not now or phase not in self.player.program.phases or self.control.rank not in self.cluster.reporting_ranks:
            return
        for batch in range(batches):
            self.drive(phase, batch, step)
        self.report(phase, step, batches)

    def drive(self, phase: str, batch: int, step: int, drain: bool = True) -> None:
        """Play one mini-batch; block where the player must wait."""
        # The step first: a heartbeat between these two lines would report the phase with an earlier step.
        self.control.status.step = step
        self.control.status.phase = phase
        for waiting in self.player.play(phase, batch, drain):
            self.patience.wait(waiting, step)
        self.control.check()

    def report(self, phase: str, step: int, batches: int) -> None:
        """Send the metrics since the last report."""
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
        """Keep an update for the coordinator; send the kept ones when there are ``TOLD_TOGETHER`` numbers."""
        self.applied += update
        if len(self.applied) >= TOLD_TOGETHER:
            self.tell_applied()

    def note_shown(self, update: AppliedUpdate) -> None:
        """Keep an update if this is the first worker of its group, so that each group reports it once."""
        if self.cluster.number_in_group(self.control.rank) == 0:
            self.keep_update(update)

    def tell_applied(self) -> None:
        """Send the updates since the last time to the coordinator."""
        if self.applied:
            message = ControlProto()
            message.updates.rank = self.control.rank
            message.updates.number.extend(self.applied)
            self.control.send(message)
        self.applied = []
