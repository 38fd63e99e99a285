"""Where parameters get their first values from: the checkpoint that a job starts from, or their initialisers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from netpart.checkpoint.safetensors_file import Checkpoint, open_checkpoint
from netpart.errors import DataError
from netpart.launch.share import fill
from netpart.proto.job_pb2 import JobProto
from netpart.worker.player import Player


def named_checkpoint(job: JobProto) -> Path | None:
    """The last of the checkpoints that ``job`` names, which wins."""
    return Path(job.checkpoint_path[-1]) if job.checkpoint_path else None


def open_named(job: JobProto, path: Path) -> Checkpoint:
    """Opens ``path``, which ``job`` names last; raises DataError that says where."""
    try:
        return open_checkpoint(path)
    except DataError as error:
        error.at = ("checkpoint_path", len(job.checkpoint_path) - 1)
        raise


def held(restore: Path | None) -> Collection[str]:
    """The parameters whose first values are in the checkpoint ``restore``; raises DataError for one that is none."""
    if restore is None:
        return ()
    with open_checkpoint(restore) as saved:
        return frozenset(saved.tensors)


def held_by(job: JobProto) -> Collection[str]:
    """``held`` of the checkpoint that ``job`` names."""
    path = named_checkpoint(job)
    if path is None:
        return ()
    with open_named(job, path):
        return held(path)


def begin(players: Sequence[Player], job: JobProto) -> None:
    """Gives the parameters of ``players`` the values of the checkpoint that ``job`` names, or fresh ones.

    Raises DataError for a checkpoint that lacks one of them.
    """
    path = named_checkpoint(job)
    if path is None:
        for player in players:
            player.parameters.initialise()
        return
    with open_named(job, path) as saved:
        for player in players:
            fill(player, saved, {"": player.parameters.values})
            player.parameters.begin_state()
