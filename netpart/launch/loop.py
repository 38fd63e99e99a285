"""Loop: what one worker does from its first step to its last. Every worker keeps the same order of events.

step:  validate? ─ test? ─ checkpoint? ─ train ─ report?        (the order of SINGA's Worker::Run)
end:   checkpoint ─ validate ─ test
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

import numpy as np

from netpart.errors import WorkerFailed
from netpart.kernels.op import Array
from netpart.launch.control import Control
from netpart.launch.files import LOCAL, Files, Reader
from netpart.proto.control_pb2 import ControlProto, WelcomeProto
from netpart.spec import extent
from netpart.worker.player import Player, Waiting

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto
    from netpart.transport.transport import Transport

ArrayOf = Callable[[int], Array]
"""Finds one array of a holding, or of its home: its values, or one state of its updater."""

LOOK_UP_SECONDS = 0.5
"""How often a waiting worker looks whether it should stop."""
LATEST_STEPS = 1000
"""Training steps whose times are kept."""


class Overdue(WorkerFailed):
    """A message that did not come by the deadline."""


def due(step: int, freq: int, after: int) -> bool:
    """True if something that happens every ``freq`` steps from step ``after`` on happens before ``step``."""
    return freq > 0 and step >= after and (step - after) % freq == 0


class Loop:
    """Trains, evaluates and saves on one worker."""

    def __init__(
        self, player: Player, transport: Transport, control: Control, job: JobProto, welcome: WelcomeProto,
        files: Files = LOCAL,
    ) -> None:  # fmt: skip
        self.player, self.transport, self.control, self.job, self.welcome = player, transport, control, job, welcome
        self.files = files
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
            self.player.initialise()

    def run(self) -> None:
        """Plays every step of the job. Raises Overdue when a message does not come by the deadline."""
        first, job = self.welcome.first_step, self.job
        end = max(first, job.train_steps)
        for step in range(first, end):
            self.evaluate_if(step, due(step, job.validate_freq, job.validate_after), "val", job.validate_steps)
            self.evaluate_if(step, due(step, job.test_freq, job.test_after), "test", job.test_steps)
            if due(step, job.checkpoint_freq, job.checkpoint_after) and not self.just_restored(step):
                self.checkpoint(step)
            self.train(step)
        if not self.just_restored(end):
            self.checkpoint(end)
        self.evaluate_if(end, True, "val", job.validate_steps)
        self.evaluate_if(end, True, "test", job.test_steps)
        self.flush()

    def flush(self) -> None:
        """Waits until all that was sent leaves by itself: from here on this worker listens to the coordinator alone."""
        self.player.doing = "waiting for its last messages to leave"
        while not self.transport.flush(LOOK_UP_SECONDS):
            self.control.check()

    def just_restored(self, step: int) -> bool:
        """True if what a checkpoint of ``step`` would hold has just been read from one."""
        return bool(self.job.resume and self.welcome.restore) and step == self.welcome.first_step

    def train(self, step: int) -> None:
        """Plays one training step, and reports the metrics when it is time."""
        started = perf_counter()
        self.drive("train", step, step)
        self.step_seconds.append(perf_counter() - started)
        self.train_seconds += self.step_seconds[-1]
        self.batches += 1
        if (step + 1) % self.welcome.report_every == 0 or step + 1 == self.job.train_steps:
            self.report("train", step + 1, self.batches)
            self.batches = 0

    def evaluate_if(self, step: int, now: bool, phase: str, batches: int) -> None:
        """Runs a validation or test net over ``batches`` mini-batches, from its first record on."""
        if not now or phase not in self.player.program.phases:
            return
        for batch in range(batches):
            self.drive(phase, batch, step)
        self.report(phase, step, batches)

    def drive(self, phase: str, batch: int, step: int) -> None:
        """Plays one mini-batch, blocking where the player must wait."""
        self.control.status.phase, self.control.status.step = phase, step
        for waiting in self.player.play(phase, batch):
            self.wait(waiting, step)
        self.control.check()

    def wait(self, waiting: Waiting, step: int) -> None:
        """Blocks until something arrives. Time during which this process itself stood still is not held against it."""
        if waiting != self.last:
            self.waited, self.last = 0.0, waiting
        left = self.welcome.deadline - self.waited
        if left <= 0:
            raise Overdue(
                f"waited {self.waited:.1f} s for {waiting.name} (edge {waiting.channel.edge}) from worker "
                f"{waiting.peer} in {waiting.phase} step {step}; look at what worker {waiting.peer} does, or raise the "
                "deadline with --set deadline=SECONDS"
            )
        began = monotonic()
        if not self.transport.wait(min(LOOK_UP_SECONDS, left)):
            self.control.check()
        self.waited += min(monotonic() - began, 2 * LOOK_UP_SECONDS)

    def report(self, phase: str, step: int, batches: int) -> None:
        """Sends the metrics since the last report."""
        message = ControlProto()
        report = message.report
        report.rank, report.phase, report.step, report.batches = self.control.rank, phase, step, batches
        report.sum.extend(self.player.read_metrics(phase).tolist())
        self.control.send(message)

    def checkpoint(self, step: int) -> None:
        """Writes this worker's share of the checkpoint of ``step``: its regions of whole tensors."""
        self.control.status.step, self.player.doing = step, "waiting to write a checkpoint"
        message = ControlProto()
        message.checkpoint_due.rank, message.checkpoint_due.step = self.control.rank, step
        self.control.send(message)
        opened = self.control.receive("checkpoint_open").checkpoint_open
        self.player.doing = f"writing {opened.path}"
        self.write(Path(opened.path), {"": self.player.updated})
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
                    values = np.asarray(self.player.to_host(find(h)))
                    file.write_region(
                        holding.parameter.name + suffix, holding.home, values, holding.parameter.spec.shape
                    )

    def restore(self, path: Path) -> None:
        """Reads this worker's regions of a checkpoint, and the updater's state where it lies beside."""
        self.read(path, {self.welcome.restore_suffix: self.player.parameter})
        self.player.machine.begin_state()
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
