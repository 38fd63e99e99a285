"""The share of a checkpoint that one worker reads and writes: its regions of whole tensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netpart.launch.member.checkpoint_files import CheckpointFiles
from netpart.launch.member.control_client import ControlClient
from netpart.proto.control_pb2 import ControlProto, WelcomeProto
from netpart.worker.initial_values import ArrayOf, fill_from_checkpoint
from netpart.worker.player import Player


class CheckpointShare:
    """The checkpoint share of ``player``. ``welcome`` defines it; ``control`` requests the files for it."""

    def __init__(self, player: Player, control: ControlClient, welcome: WelcomeProto, files: CheckpointFiles) -> None:
        self.player = player
        self.control = control
        self.welcome = welcome
        self.files = files

    def begin(self) -> None:
        """Give the parameters their first values: those of a checkpoint, or initial ones."""
        if self.welcome.restore:
            self.player.doing = "reading a checkpoint"
            self.restore(Path(self.welcome.restore))
        else:
            self.player.doing = "initialising parameters"
            self.player.parameters.initialise()

    def save(self, step: int, best: bool = False) -> None:
        """Write this worker's share of the checkpoint of ``step``, or of the ``best`` one: its regions of whole
        tensors."""
        self.control.status.step = step
        self.player.doing = "waiting to write a checkpoint"
        message = ControlProto()
        message.checkpoint_due.rank = self.control.rank
        message.checkpoint_due.step = step
        message.checkpoint_due.best = best
        self.control.send(message)
        # The coordinator creates the files before it answers, so every worker writes into existing files of full size.
        opened = self.control.receive("checkpoint_open").checkpoint_open
        self.player.doing = "writing a checkpoint"
        self.write(Path(opened.path), {"": self.player.parameters.at_home})
        if opened.updater_path:
            self.write(Path(opened.updater_path), self.states())
        message = ControlProto()
        message.checkpoint_written.rank = self.control.rank
        message.checkpoint_written.step = step
        message.checkpoint_written.best = best
        self.control.send(message)

    def states(self) -> dict[str, ArrayOf]:
        """For each state of the updater, a function that finds its array, by the suffix of its name in a checkpoint."""
        updater = self.player.machine.updater
        return {f".{slot}": self.state(slot) for slot in (updater.states if updater else ())}

    def state(self, slot: str) -> ArrayOf:
        """A function that finds the updater state ``slot`` of a holding."""
        return lambda holding: self.player.machine.state[holding][slot]

    def write(self, path: Path, sources: dict[str, ArrayOf]) -> None:
        """Write the home regions that are assigned to this worker."""
        with self.files.join(path) as file:
            for h in self.welcome.writes:
                holding = self.player.program.holdings[h]
                for suffix, find in sources.items():
                    values = np.asarray(self.player.machine.to_host(find(h)))
                    file.write_region(
                        holding.parameter.name + suffix, holding.home, values, holding.parameter.spec.shape
                    )

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
