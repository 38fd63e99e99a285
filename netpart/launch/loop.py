"""Loop: what one worker does from its first step to its last. Every worker keeps the same order of events.

    step:  validate? ─ test? ─ checkpoint? ─ train ─ report?        (SINGA's order; facts of Worker::Run)
    end:   checkpoint ─ validate ─ test
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

import numpy as np

from netpart.checkpoint.safetensors_file import join, open_checkpoint
from netpart.errors import WorkerFailed
from netpart.kernels.op import Array
from netpart.launch.control import Control
from netpart.proto.control_pb2 import ControlProto, WelcomeProto
from netpart.worker.player import Player, Waiting

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto
    from netpart.transport.transport import Transport

ArrayOf = Callable[[int], Array]
"""Finds one array of a holding: its values, or one state of its updater."""

CONTROL_SECONDS = 60.0
LOOK_UP_SECONDS = 0.5
"""How often a waiting worker looks whether it should stop."""


def due(step: int, freq: int, after: int) -> bool:
    """True if something that happens every ``freq`` steps from step ``after`` on happens before ``step``."""
    return freq > 0 and step >= after and (step - after) % freq == 0


class Loop:
    """Trains, evaluates and saves on one worker."""

    def __init__(self, player: Player, transport: Transport, control: Control, job: JobProto, welcome: WelcomeProto) -> None:
        self.player, self.transport, self.control, self.job, self.welcome = player, transport, control, job, welcome
        self.since, self.last = monotonic(), Waiting("", -1, "", -1)
        self.train_seconds, self.batches = 0.0, 0

    def run(self) -> None:
        """Plays every step of the job. Raises WorkerFailed when a message does not come by the deadline."""
        first, job = self.welcome.first_step, self.job
        for step in range(first, job.train_steps):
            self.evaluate_if(step, due(step, job.validate_freq, job.validate_after), "val", job.validate_steps)
            self.evaluate_if(step, due(step, job.test_freq, job.test_after), "test", job.test_steps)
            if due(step, job.checkpoint_freq, job.checkpoint_after):
                self.checkpoint(step)
            self.train(step)
        self.checkpoint(job.train_steps)
        self.evaluate_if(job.train_steps, True, "val", job.validate_steps)
        self.evaluate_if(job.train_steps, True, "test", job.test_steps)

    def train(self, step: int) -> None:
        started = perf_counter()
        self.drive("train", step, step)
        self.train_seconds += perf_counter() - started
        self.batches += 1
        last = step + 1 == self.job.train_steps
        if (step + 1) % self.welcome.report_every == 0 or last:
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
        for waiting in self.watched(self.player.play(phase, batch)):
            self.wait(waiting, step)
        self.control.check()

    def watched(self, play: Iterator[Waiting]) -> Iterable[Waiting]:
        """Keeps the heartbeat's words up to date while something is waited for."""
        for waiting in play:
            self.control.status.doing = f"waiting for {waiting.name}"
            yield waiting
        self.control.status.doing = "computing"

    def wait(self, waiting: Waiting, step: int) -> None:
        if waiting != self.last:
            self.since, self.last = monotonic(), waiting
        silent = monotonic() - self.since
        if silent > self.welcome.deadline:
            raise WorkerFailed(
                f"waited {silent:.0f} s for {waiting.name} from worker {waiting.peer} in {waiting.phase} step {step}; "
                f"look at what worker {waiting.peer} does, or raise the deadline with --set deadline=SECONDS"
            )
        self.transport.wait(min(LOOK_UP_SECONDS, self.welcome.deadline - silent + 0.01))
        self.control.check()

    def report(self, phase: str, step: int, batches: int) -> None:
        """Sends the metrics since the last report."""
        message = ControlProto()
        report = message.report
        report.rank, report.phase, report.step, report.batches = self.control.rank, phase, step, batches
        report.sum.extend(self.player.read_metrics(phase).tolist())
        self.control.send(message)

    def checkpoint(self, step: int) -> None:
        """Writes this worker's share of the checkpoint of ``step``: its regions of whole tensors."""
        message = ControlProto()
        message.checkpoint_due.rank, message.checkpoint_due.step = self.control.rank, step
        self.control.send(message)
        opened = self.control.receive(CONTROL_SECONDS, "checkpoint_open").checkpoint_open
        self.write(Path(opened.path), {"": self.player.parameter})
        if opened.updater_path:
            slots = self.player.machine.updater.slots if self.player.machine.updater else ()
            self.write(Path(opened.updater_path), {f".{s}": self.slot(s) for s in slots})
        message = ControlProto()
        message.checkpoint_written.rank, message.checkpoint_written.step = self.control.rank, step
        self.control.send(message)

    def slot(self, name: str) -> ArrayOf:
        """Reads updater state ``name`` of a holding."""
        return lambda holding: self.player.machine.state[holding][name]

    def write(self, path: Path, sources: dict[str, ArrayOf]) -> None:
        with join(path) as file:
            for h in self.welcome.writes:
                holding = self.player.program.holdings[h]
                for suffix, read in sources.items():
                    values = np.asarray(self.player.to_host(read(h)))
                    file.write_region(holding.parameter.name + suffix, holding.box, values, holding.parameter.spec.shape)

    def restore(self, path: Path) -> None:
        """Reads this worker's regions of a checkpoint, and the updater's state where it lies beside."""
        slots = self.player.machine.updater.slots if self.player.machine.updater else ()
        beside = updater_file(path)
        self.read(path, {"": self.player.parameter})
        if slots and beside.exists():
            self.read(beside, {f".{s}": self.slot(s) for s in slots})

    def read(self, path: Path, targets: dict[str, ArrayOf]) -> None:
        file = open_checkpoint(path)
        for h, holding in enumerate(self.player.program.holdings):
            for suffix, find in targets.items():
                target = find(h)
                values = np.empty(target.shape, self.player.machine.dtype)
                file.read_region(holding.parameter.name + suffix, holding.box, values, holding.parameter.spec.shape)
                target[...] = self.player.xp.asarray(values)
        file.close()


def updater_file(path: Path) -> Path:
    """Where the updater's state lies beside a checkpoint."""
    return path.with_suffix(".updater")
