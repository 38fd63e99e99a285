"""Loop: what one worker does from its first step to its last. Every worker keeps the same order of events.

step:  meet? ─ validate? ─ test? ─ checkpoint? ─ train ─ report?        (the order of SINGA's Worker::Run)
end:   meet? ─ checkpoint ─ validate ─ test

Of several groups each trains in its own steps; group 0 validates, tests and reports, and the keepers of parameters
write checkpoints.

Where stages are delayed, several steps are under way at a time; before anything but training all of them are ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

import numpy as np

from netpart.errors import WorkerFailed
from netpart.graph.cluster import Cluster
from netpart.kernels.op import Array
from netpart.launch.control import Control
from netpart.launch.files import LOCAL, Files, Reader
from netpart.program.instructions import Way
from netpart.proto.control_pb2 import ControlProto, WelcomeProto
from netpart.spec import extent
from netpart.worker.player import Player
from netpart.worker.waiting import Waiting

if TYPE_CHECKING:
    from netpart.launch.averages import Averages
    from netpart.proto.job_pb2 import JobProto
    from netpart.transport.transport import Transport
    from netpart.worker.serving import Applied

ArrayOf = Callable[[int], Array]
"""Finds one array of a holding, or of its home: its values, or one state of its updater."""

LOOK_UP_SECONDS = 0.5
"""How often a waiting worker looks whether it should stop."""
TOLD_TOGETHER = 1000
"""Numbers of updates that are told in one message."""
BETWEEN_GROUPS = (Way.PUSH, Way.PULL, Way.AVERAGE)
"""A group may wait long for another, which tests or is slow: as long as anybody gets on, which the coordinator sees."""
LATEST_STEPS = 1000
"""Training steps whose times are kept."""


class Overdue(WorkerFailed):
    """A message that did not come by the deadline."""


def due(step: int, freq: int, after: int) -> bool:
    """True if something that happens every ``freq`` steps from step ``after`` on happens before ``step``."""
    return freq > 0 and step >= after and (step - after) % freq == 0


def meetings(job: JobProto, first: int, end: int) -> list[int]:
    """The steps before which something is saved, validated or tested, and ``end``, ascending."""
    events = (
        (job.validate_freq, job.validate_after),
        (job.test_freq, job.test_after),
        (job.checkpoint_freq, job.checkpoint_after),
    )
    found = {end}
    for freq, after in events:
        if freq > 0:
            found.update(range(max(after, first + (after - first) % freq), end, freq))
    return sorted(found)


class Loop:
    """Trains, evaluates and saves on one worker of ``cluster``. ``averages`` are of groups that keep their own
    parameters."""

    def __init__(
        self, player: Player, transport: Transport, control: Control, job: JobProto, welcome: WelcomeProto,
        files: Files = LOCAL, cluster: Cluster | None = None, averages: Averages | None = None,
    ) -> None:  # fmt: skip
        self.player, self.transport, self.control, self.job, self.welcome = player, transport, control, job, welcome
        self.files, self.averages = files, averages
        self.cluster = cluster or Cluster(player.program.workers)
        self.first, self.end = welcome.first_step, max(welcome.first_step, job.train_steps)
        self.applied: list[int] = []
        self.last: Waiting | None = None
        self.waited, self.train_seconds, self.batches = 0.0, 0.0, 0
        self.step_seconds: deque[float] = deque(maxlen=LATEST_STEPS)

    def fill(self) -> None:
        """Gives the parameters their first values: those of a checkpoint, or fresh ones."""
        if self.welcome.restore:
            self.player.doing = f"reading {self.welcome.restore}"
            self.restore(Path(self.welcome.restore))
        else:
            self.player.doing = "initialising parameters"
            self.player.parameters.initialise()

    def run(self) -> None:
        """Plays every step of the job. Raises Overdue when a message does not come by the deadline."""
        job, met = self.job, set(meetings(self.job, self.first, self.end) if self.averages else ())
        mine = self.cluster.steps(self.cluster.group(self.control.rank), self.first, self.end)
        for step in range(self.first, self.end):
            self.meet_if(step, step in met)
            self.evaluate_if(step, due(step, job.validate_freq, job.validate_after), "val", job.validate_steps)
            self.evaluate_if(step, due(step, job.test_freq, job.test_after), "test", job.test_steps)
            self.checkpoint_if(step, due(step, job.checkpoint_freq, job.checkpoint_after))
            if step in mine:
                self.train(step)
            self.report_if(step + 1)
        self.meet_if(self.end, True)
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
        if now and self.control.rank in self.cluster.keepers and not self.just_restored(step):
            self.checkpoint(step)

    def meet_if(self, step: int, now: bool) -> None:
        """Makes the parameters of all groups one, where each has its own."""
        if now and self.averages is not None:
            self.player.doing = "waiting for the other groups"
            for waiting in self.averages.meet(step):
                self.wait(waiting, step)

    def pauses(self, step: int) -> bool:
        """True if something is due before ``step`` that needs all steps before it to be over."""
        job, phases = self.job, self.player.program.phases
        return (
            step >= job.train_steps
            or ("val" in phases and due(step, job.validate_freq, job.validate_after))
            or ("test" in phases and due(step, job.test_freq, job.test_after))
            or due(step, job.checkpoint_freq, job.checkpoint_after)
        )

    def train(self, step: int) -> None:
        """Plays one training step, and whatever is due between groups after it."""
        started = perf_counter()
        self.drive("train", step, step, self.pauses(step + 1))
        if self.averages is not None:
            for waiting in self.averages.after(step):
                self.wait(waiting, step)
        if self.pauses(step + 1) or self.reports(step + 1):
            self.finish("train", step)  # so that what its device still does counts as training
        self.step_seconds.append(perf_counter() - started)
        self.train_seconds += self.step_seconds[-1]
        self.batches += 1

    def finish(self, phase: str, step: int) -> None:
        """Blocks until its device has done what it was told."""
        for waiting in self.player.finish(phase):
            self.wait(waiting, step)

    def reports(self, done: int) -> bool:
        """True if it is time to report the metrics, ``done`` steps in."""
        return done % self.welcome.report_every == 0 or done == self.job.train_steps

    def report_if(self, done: int) -> None:
        """Reports the metrics of group 0 when it is time, ``done`` steps in."""
        if self.reports(done) and self.batches and self.control.rank in self.cluster.shown:
            self.report("train", done, self.batches)
            self.batches = 0

    def evaluate_if(self, step: int, now: bool, phase: str, batches: int) -> None:
        """Runs a validation or test net over ``batches`` mini-batches, from its first record on."""
        if not now or phase not in self.player.program.phases or self.control.rank not in self.cluster.shown:
            return
        for batch in range(batches):
            self.drive(phase, batch, step)
        self.report(phase, step, batches)

    def drive(self, phase: str, batch: int, step: int, drain: bool = True) -> None:
        """Plays one mini-batch, blocking where the player must wait."""
        self.control.status.phase, self.control.status.step = phase, step
        for waiting in self.player.play(phase, batch, drain):
            self.wait(waiting, step)
        self.control.check()

    def wait(self, waiting: Waiting, step: int) -> None:
        """Blocks until something arrives. Time during which this process itself stood still is not held against it."""
        if waiting != self.last:
            self.waited, self.last = 0.0, waiting
        left = self.welcome.deadline - self.waited
        if waiting.channel.way in BETWEEN_GROUPS:
            left = LOOK_UP_SECONDS
        if left <= 0:
            peer = self.cluster.name(waiting.peer)
            raise Overdue(
                f"waited {self.waited:.1f} s for {waiting.name} (edge {waiting.channel.edge}) from {peer} in "
                f"{waiting.phase} step {step}; look at what worker {waiting.peer} does, or raise the "
                "deadline with --set deadline=SECONDS"
            )
        began = monotonic()
        if not self.transport.wait(min(LOOK_UP_SECONDS, left, waiting.look)):
            self.control.check()
        self.waited += min(monotonic() - began, 2 * LOOK_UP_SECONDS)

    def report(self, phase: str, step: int, batches: int) -> None:
        """Sends the metrics since the last report."""
        self.finish(phase, step)
        message = ControlProto()
        report = message.report
        report.rank, report.phase, report.step, report.batches = self.control.rank, phase, step, batches
        report.sum.extend(self.player.read_metrics(phase).tolist())
        self.control.send(message)

    def note(self, update: Applied) -> None:
        """Keeps an update for the coordinator, and now and then tells it."""
        self.applied += update
        if len(self.applied) >= TOLD_TOGETHER:
            self.tell_applied()

    def note_shown(self, update: Applied) -> None:
        """The same by one worker of each group."""
        if self.cluster.number(self.control.rank) == 0:
            self.note(update)

    def tell_applied(self) -> None:
        """Tells the coordinator of the updates since the last time."""
        if self.applied:
            message = ControlProto()
            message.updates.rank = self.control.rank
            message.updates.number.extend(self.applied)
            self.control.send(message)
        self.applied = []

    def checkpoint(self, step: int) -> None:
        """Writes this worker's share of the checkpoint of ``step``: its regions of whole tensors."""
        self.control.status.step, self.player.doing = step, "waiting to write a checkpoint"
        message = ControlProto()
        message.checkpoint_due.rank, message.checkpoint_due.step = self.control.rank, step
        self.control.send(message)
        opened = self.control.receive("checkpoint_open").checkpoint_open
        self.player.doing = f"writing {opened.path}"
        self.write(Path(opened.path), {"": self.player.parameters.at_home})
        if opened.updater_path:
            self.write(Path(opened.updater_path), self.states())
        message = ControlProto()
        message.checkpoint_written.rank, message.checkpoint_written.step = self.control.rank, step
        self.control.send(message)

    def states(self) -> dict[str, ArrayOf]:
        """How to find every state of the updater, by the suffix of its name in a checkpoint."""
        updater = self.player.machine.updater
        return {f".{slot}": self.state(slot) for slot in (updater.states if updater else ())}

    def state(self, slot: str) -> ArrayOf:
        """Finds updater state ``slot`` of a holding."""
        return lambda holding: self.player.machine.state[holding][slot]

    def write(self, path: Path, sources: dict[str, ArrayOf]) -> None:
        """Writes the homes that fall to this worker."""
        with self.files.join(path) as file:
            for h in self.welcome.writes:
                holding = self.player.program.holdings[h]
                for suffix, find in sources.items():
                    values = np.asarray(self.player.machine.to_host(find(h)))
                    file.write_region(
                        holding.parameter.name + suffix, holding.home, values, holding.parameter.spec.shape
                    )

    def restore(self, path: Path) -> None:
        """Reads this worker's regions of a checkpoint, and the updater's state where it lies beside."""
        self.read(path, {self.welcome.restore_suffix: self.player.parameters.values})
        self.player.parameters.begin_state()
        if self.states() and self.welcome.restore_updater:
            self.read(Path(self.welcome.restore_updater), self.states())

    def read(self, path: Path, targets: dict[str, ArrayOf]) -> None:
        """Fills every holding."""
        with self.files.open(path) as file:
            fill(self.player, file, targets)


def fill(player: Player, file: Reader, targets: dict[str, ArrayOf]) -> None:
    """Reads every holding of ``player`` from a checkpoint; on the CPU without a copy beside it.

    ``targets`` finds the arrays to fill, of a whole holding or of its home, by the suffix of their names in the
    checkpoint.
    """
    for h, holding in enumerate(player.program.holdings):
        for suffix, find in targets.items():
            target = find(h)
            box = holding.box if target.shape == extent(holding.box) else holding.home
            values = target if player.xp is np else np.empty(target.shape, target.dtype)
            file.read_region(holding.parameter.name + suffix, box, values, holding.parameter.spec.shape)
            if values is not target:
                target[...] = player.xp.asarray(values)


def updater_file(path: Path) -> Path:
    """Where the updater's state lies beside a checkpoint."""
    return path.with_suffix(".updater")
