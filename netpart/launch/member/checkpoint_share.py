"""The share of a checkpoint that one worker reads and writes: its regions of whole tensors.

    worker          copies its regions ── trains on ───────────────────────────────▶
      thread                  └── asks for the files ── writes ── confirms ──┐
    coordinator     opens the files, once announced                          └── seals and renames them after the last

A run that saves only at its end needs no copies: there the worker writes itself.
"""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from netpart.checkpoint.header import place_tensors
from netpart.graph.partition import Partition
from netpart.graph.saved_holdings import list_saved_tensors, saves_midway
from netpart.launch.control.written_ranges import pack_written
from netpart.launch.member.checkpoint_files import CheckpointFiles
from netpart.launch.member.control_client import ControlClient, ControlLink, ScribeLink, StopRequested
from netpart.launch.member.deadline_waiter import LOOK_UP_SECONDS, Overdue
from netpart.launch.member.failure_report import report_failure
from netpart.launch.member.staged_regions import StagedRegions
from netpart.proto.control_pb2 import CheckpointProto, ControlProto, WelcomeProto
from netpart.worker.initial_values import ArrayOf, fill_from_checkpoint
from netpart.worker.player import Player

SLOWEST = 1 << 20
"""Bytes a second below which the writing of a checkpoint counts as stuck."""
PARAMETERS, STATE = "parameters", "updater"
"""The two files of a checkpoint."""


class CheckpointShare:
    """The checkpoint share of ``player``. ``welcome`` defines it; ``control`` requests the files for it."""

    def __init__(self, player: Player, control: ControlClient, welcome: WelcomeProto, files: CheckpointFiles) -> None:
        self.player = player
        self.control = control
        self.welcome = welcome
        self.files = files
        self.log: TextIO = sys.stderr
        self.staged: StagedRegions | None = None
        self.thread: Thread | None = None
        self.step = 0

    def begin(self) -> None:
        """Give the parameters their first values: those of a checkpoint, or initial ones."""
        if self.welcome.restore:
            self.player.doing = "reading a checkpoint"
            self.restore(Path(self.welcome.restore))
        else:
            self.player.doing = "initialising parameters"
            self.player.parameters.initialise()

    def stage(self, partition: Partition) -> None:
        """Allocate the copies from which checkpoints are written, if the job saves while it trains."""
        if self.welcome.writes and not self.welcome.trace and saves_midway(partition.job):
            parameters: dict[str, ArrayOf] = {"": self.player.parameters.at_home}
            sources = {PARAMETERS: parameters, STATE: self.states()}
            saved = list_saved_tensors(partition, (suffix.removeprefix(".") for suffix in sources[STATE]))
            places = place_tensors(saved[0]) | place_tensors(saved[1])
            self.staged = StagedRegions(self.player, self.welcome.writes, sources, places)

    def save(self, step: int, best: bool = False) -> None:
        """Write this worker's share of the checkpoint of ``step``, or of the ``best`` one: its regions of whole
        tensors.

        With copies this only begins, once the last checkpoint is written; ``finish`` waits for the end.
        """
        self.finish()
        self.control.status.step = self.step = step
        checkpoint = CheckpointProto(rank=self.control.rank, step=step, best=best)
        link = self.control.scribe_link()
        if self.staged is None:
            link.look = self.control.check
            self.write_files(link, checkpoint)
            return
        self.player.doing = "copying parameters for a checkpoint"
        self.staged.refresh()
        # Through this worker's main socket, before any later report: the coordinator notes what it knows at this step.
        announced = CheckpointProto(announced=True)
        announced.MergeFrom(checkpoint)
        self.control.send(ControlProto(checkpoint_due=announced))
        self.thread = Thread(target=self.write_apart, args=(link, checkpoint), name="netpart-scribe", daemon=True)
        self.thread.start()

    def finish(self) -> None:
        """Wait until the last checkpoint is written and confirmed. Raises Overdue if that takes too long."""
        if self.thread is None:
            return
        nbytes = self.staged.nbytes if self.staged else 0
        seconds = self.welcome.deadline + nbytes / SLOWEST
        self.player.doing = f"waiting for its part of the checkpoint of step {self.step} to be written"
        end = monotonic() + seconds
        while self.thread.is_alive():
            self.thread.join(LOOK_UP_SECONDS)
            # After an error of the thread, this is where the coordinator's answer ends this worker.
            self.control.check()
            if monotonic() > end:
                raise Overdue(
                    f"waited {seconds:.0f} s for its part of the checkpoint of step {self.step}, {nbytes} bytes, to be"
                    " written; check the disk, or raise the deadline with --set deadline=SECONDS"
                )
        self.thread = None

    def write_apart(self, link: ScribeLink, checkpoint: CheckpointProto) -> None:
        """Write the copies, in a thread of its own. An error goes to the coordinator, which ends the run."""
        link.status.phase, link.status.step = "train", checkpoint.step
        with link.busy:
            try:
                self.write_files(link, checkpoint)
            except StopRequested:
                pass
            except Exception as error:
                report_failure(link, error, self.log)
                link.await_stop()

    def write_files(self, link: ScribeLink, checkpoint: CheckpointProto) -> None:
        """Write this worker's regions into the files of ``checkpoint``, and confirm it."""
        self.note(link, "waiting to write a checkpoint")
        link.send(ControlProto(checkpoint_due=checkpoint))
        # The coordinator creates the files before it answers, so every worker writes into existing files of full size.
        opened = link.receive("checkpoint_open").checkpoint_open
        self.note(link, "writing a checkpoint")
        written = CheckpointProto()
        written.CopyFrom(checkpoint)
        self.write(link, PARAMETERS, Path(opened.path), {"": self.player.parameters.at_home}, written)
        if opened.updater_path:
            self.write(link, STATE, Path(opened.updater_path), self.states(), written)
        link.send(ControlProto(checkpoint_written=written))
        # Without this answer, the end of this worker could overtake the confirmation, which has a socket of its own.
        link.receive("checkpoint_written")

    def note(self, link: ScribeLink, doing: str) -> None:
        """Say what is done, for a report of a failure; without copies, it is what this worker does."""
        link.status.doing = lambda: doing
        if self.staged is None:
            self.player.doing = doing

    def states(self) -> dict[str, ArrayOf]:
        """For each state of the updater, a function that finds its array, by the suffix of its name in a checkpoint."""
        updater = self.player.machine.updater
        return {f".{slot}": self.state(slot) for slot in (updater.states if updater else ())}

    def state(self, slot: str) -> ArrayOf:
        """A function that finds the updater state ``slot`` of a holding."""
        return lambda holding: self.player.machine.state[holding][slot]

    def write(
        self, link: ControlLink, which: str, path: Path, sources: dict[str, ArrayOf], written: CheckpointProto
    ) -> None:  # fmt: skip
        """Write the home regions that are assigned to this worker into the file ``which``; note that in ``written``."""
        holdings = self.player.program.holdings
        regions = [
            (holdings[h].parameter.name + suffix, holdings[h].home, suffix, h)
            for h in self.welcome.writes
            for suffix in sources
        ]
        with self.files.join(path, link) as file:
            # In their order in the file, so that small ones can be written together.
            for name, home, suffix, h in sorted(regions):
                values, shape = self.values(which, suffix, h, sources), holdings[h].parameter.spec.shape
                file.write_region(name, home, values, shape)
        pack_written(written, file.written, which == STATE)

    def values(self, which: str, suffix: str, h: int, sources: dict[str, ArrayOf]) -> NDArray[np.floating]:
        """The values of one region on the host: the copy, or those of this moment."""
        if self.staged is not None:
            return self.staged.find(which, suffix, h)
        return np.asarray(self.player.machine.to_host(sources[suffix](h)))

    def restore(self, path: Path) -> None:
        """Read this worker's regions of a checkpoint, and the updater's state if it lies next to the checkpoint."""
        updater_path = self.welcome.restore_updater if self.states() else ""
        if updater_path:
            self.read(Path(updater_path), self.states())
        # Parameters are read last. The average of a running statistic shares the statistic's memory, and older
        # checkpoints store a different value for that average: the parameter must overwrite it.
        self.read(path, {self.welcome.restore_suffix: self.player.parameters.values})
        if not updater_path:
            self.player.parameters.begin_state()

    def read(self, path: Path, targets: dict[str, ArrayOf]) -> None:
        """Fill the arrays of every holding from the file ``path``."""
        with self.files.open(path) as file:
            fill_from_checkpoint(self.player, file, targets)
