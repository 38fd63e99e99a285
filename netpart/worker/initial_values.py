"""Initial values of parameters: from the checkpoint that a job starts from, or from their initialisers.

A checkpoint may come from an unknown source, so it is checked before it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import numpy as np

from netpart.checkpoint.regions import BatchReader, RegionReader
from netpart.checkpoint.safetensors_file import Checkpoint, open_checkpoint
from netpart.checkpoint.steps import updater_file
from netpart.errors import DataError
from netpart.graph.holdings import Holding
from netpart.graph.partition import Partition
from netpart.kernels.op import Array
from netpart.proto.job_pb2 import JobProto
from netpart.spec import Shape, extent
from netpart.updaters import AVERAGE, build_updater
from netpart.worker.player import Player


def named_checkpoint(job: JobProto) -> Path | None:
    """The last of the checkpoints that ``job`` names; it has precedence."""
    return Path(job.checkpoint_path[-1]) if job.checkpoint_path else None


def open_named_checkpoint(job: JobProto, path: Path) -> Checkpoint:
    """Open ``path``, which ``job`` names last. Raises DataError with the place in the job."""
    try:
        return open_checkpoint(path)
    except DataError as error:
        error.at = ("checkpoint_path", len(job.checkpoint_path) - 1)
        raise


def restored_names(restore: Path | None) -> Collection[str]:
    """The parameters whose first values are in the checkpoint ``restore``. Raises DataError for an invalid
    checkpoint."""
    if restore is None:
        return ()
    with open_checkpoint(restore) as saved:
        return frozenset(saved.tensors)


def job_restored_names(job: JobProto) -> Collection[str]:
    """``restored_names`` of the checkpoint that ``job`` names."""
    path = named_checkpoint(job)
    if path is None:
        return ()
    with open_named_checkpoint(job, path):
        return restored_names(path)


def checkpoint_shapes(holdings: Iterable[Holding], suffix: str = "") -> dict[str, set[Shape]]:
    """The tensors of a checkpoint from which ``holdings`` take their values, and the shapes that each may have."""
    specs = {holding.parameter.name: holding.parameter.spec for holding in holdings}
    return {name + suffix: {spec.shape, spec.saved or spec.shape} for name, spec in specs.items()}


def check_start(cut: Partition, restore: Path | None, averages: bool) -> None:
    """Read once what the workers will read of the checkpoint ``restore`` and of its updater's state.

    With ``averages`` they read only those. Raises DataError for a tensor that is missing, damaged, of another shape or
    not finite, and for a state of another step.
    """
    if restore is None:
        return
    holdings = [h for mine in cut.holdings for h in mine]
    state_file = updater_file(restore)
    if averages:
        with open_checkpoint(state_file) as state:
            return state.verify(checkpoint_shapes(holdings, f".{AVERAGE}"))
    with open_checkpoint(restore) as saved:
        saved.verify(checkpoint_shapes(holdings))
    slots = build_updater(cut.job.updater).states
    if slots and os.path.exists(state_file):
        with open_checkpoint(state_file) as state:
            _check_state_step(saved, state)
            for slot in slots:
                state.verify(checkpoint_shapes(holdings, f".{slot}"))


def _check_state_step(saved: Checkpoint, state: Checkpoint) -> None:
    """Raise DataError if ``state`` is of another step than the parameters. Files of other tools may have no step."""
    step = saved.metadata.get("step")
    other = state.metadata.get("step")
    if None not in (step, other) and step != other:
        got = f"that of {other!r:.40}"
        hint = "use another checkpoint, or remove this file to start with a new state"
        raise DataError(f"{state.path}: expected the updater's state of step {step!r:.40}, got {got}; {hint}")


def initialise_players(players: Sequence[Player], job: JobProto) -> None:
    """Give the parameters of ``players`` the values of the checkpoint that ``job`` names, or initial ones.

    Raises DataError for a checkpoint that lacks one of them.
    """
    path = named_checkpoint(job)
    if path is None:
        for player in players:
            player.parameters.initialise()
        return
    with open_named_checkpoint(job, path) as saved:
        saved.verify(checkpoint_shapes(holding for player in players for holding in player.program.holdings))
        for player in players:
            fill_from_checkpoint(player, saved, {"": player.parameters.values})
            player.parameters.begin_state()


ArrayOf = Callable[[int], Array]
"""Finds one array of a holding, or of its home: its values, or one state of its updater."""


def fill_from_checkpoint(player: Player, file: RegionReader, targets: dict[str, ArrayOf]) -> None:
    """Read every holding of ``player`` from a checkpoint; on the CPU directly into its array, without a second copy.

    ``targets`` maps a suffix of tensor names in the checkpoint to a function that finds the array to fill, of a whole
    holding or of its home. A file that reads many regions at once gets all of them in one call.
    """
    if isinstance(file, BatchReader):
        return _fill_in_one_call(player, file, targets)
    for h, holding in enumerate(player.program.holdings):
        for suffix, find in targets.items():
            target = find(h)
            box = holding.box if target.shape == extent(holding.box) else holding.home
            values = target if player.xp is np else np.empty(target.shape, target.dtype)
            file.read_region(holding.parameter.name + suffix, box, values, holding.parameter.spec.shape)
            if values is not target:
                target[...] = player.xp.asarray(values)


def _fill_in_one_call(player: Player, file: BatchReader, targets: dict[str, ArrayOf]) -> None:
    """``fill_from_checkpoint`` from a file that reads many regions at once; on a GPU by way of the host."""
    wanted, copies = [], []
    for h, holding in enumerate(player.program.holdings):
        for suffix, find in targets.items():
            target = find(h)
            box = holding.box if target.shape == extent(holding.box) else holding.home
            values = target if player.xp is np else np.empty(target.shape, target.dtype)
            wanted.append((holding.parameter.name + suffix, box, values))
            copies += [] if values is target else [(target, values)]
    file.read_regions(wanted)
    for target, values in copies:
        target[...] = player.xp.asarray(values)
