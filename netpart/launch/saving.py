"""CheckpointBook: one file per checkpoint, created by the coordinator, written by all, put in place at the end."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from netpart.checkpoint.safetensors_file import CheckpointWriter, create, partial_path
from netpart.checkpoint.steps import step_file
from netpart.graph.partition import Partition
from netpart.proto.element import float_size
from netpart.spec import Region, contains
from netpart.updaters import updater


class CheckpointBook:
    """The checkpoints that are being written."""

    def __init__(self, partition: Partition, folder: Path) -> None:
        self.partition, self.folder = partition, folder
        self.slots = updater(partition.job.updater).states
        self.dtype = f"F{8 * float_size(partition.job)}"
        self.files: dict[int, list[CheckpointWriter]] = {}
        self.done: dict[int, set[int]] = {}
        self.latest: Path | None = None

    def open(self, step: int) -> tuple[Path, Path | None]:
        """Creates the files of ``step`` at the first call; returns their final paths. Raises DataError if it cannot."""
        path = step_file(self.folder, step)
        beside = updater_file(path) if self.slots else None
        if step not in self.files:
            self.create(step, path, beside)
        return path, beside

    def create(self, step: int, path: Path, beside: Path | None) -> None:
        """Starts the files of ``step``, under the names of partial ones."""
        metadata = {"step": str(step), "job": self.partition.job.name, "format": "netpart 1"}
        shapes = {p.name: (self.dtype, p.spec.saved or p.spec.shape) for p in self.partition.parameters}
        self.files[step], self.done[step] = [], set()
        self.files[step].append(create(path, shapes, metadata))
        if beside is not None:
            states = {f"{name}.{slot}": shape for name, shape in shapes.items() for slot in self.slots}
            self.files[step].append(create(beside, states, metadata))

    def file(self, path: Path) -> CheckpointWriter | None:
        """The open file whose final path is ``path``; None if there is none."""
        found = (
            f for files in self.files.values() for f in files if f.path.absolute() == partial_path(path).absolute()
        )
        return next(found, None)

    def written(self, step: int, rank: int) -> Path | None:
        """Notes that a worker has written its share; once all have, puts the files in place and returns the path.

        The file with the parameters comes last: where it is, the updater's is too.
        """
        self.done[step].add(rank)
        if len(self.done[step]) < len(self.partition.cluster.keepers):
            return None
        for file in reversed(self.files[step]):
            file.finish()
        del self.files[step]  # only now: who is interrupted in the midst abandons what is left
        self.latest = step_file(self.folder, step)
        return self.latest

    def abandon(self) -> None:
        """Removes what is unfinished, also where an interrupt came between a file and its entry here."""
        for step, files in self.files.items():
            for file in files:
                file.abandon()
            for path in (step_file(self.folder, step), updater_file(step_file(self.folder, step))):
                with suppress(OSError):  # where there can be no folder, nothing lies in it
                    partial_path(path).unlink()
        self.files = {}


def updater_file(path: Path) -> Path:
    """Where the updater's state lies beside a checkpoint."""
    return path.with_suffix(".updater")


def writers(partition: Partition) -> list[list[int]]:
    """Per worker, the holdings of which it writes what it updates: of several copies, the one of the lowest rank; of a
    server, all of them."""
    written: dict[str, list[Region]] = {}
    workers = partition.workers - partition.servers
    result: list[list[int]] = [[] for _ in range(workers)] if partition.servers else []
    for holdings in partition.holdings[len(result) :]:
        mine = []
        for h, holding in enumerate(holdings):
            boxes = written.setdefault(holding.parameter.name, [])
            if not any(contains(b, holding.home) for b in boxes):
                mine.append(h)
        for h in mine:
            written[holdings[h].parameter.name].append(holdings[h].home)
        result.append(mine)
    return result
