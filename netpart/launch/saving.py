"""CheckpointBook: one file per checkpoint, created by the coordinator, written by all workers, put in place at the end."""

from __future__ import annotations

from pathlib import Path

from netpart.checkpoint.safetensors_file import CheckpointWriter, create
from netpart.checkpoint.steps import step_file
from netpart.graph.partition import Partition
from netpart.launch.loop import updater_file
from netpart.spec import Region, contains
from netpart.updaters import updater


class CheckpointBook:
    """The checkpoints that are being written."""

    def __init__(self, partition: Partition, folder: Path) -> None:
        self.partition, self.folder = partition, folder
        self.slots = updater(partition.job.updater).slots
        self.dtype = "F64" if partition.job.dtype == 1 else "F32"
        self.files: dict[int, list[CheckpointWriter]] = {}
        self.done: dict[int, set[int]] = {}

    def open(self, step: int) -> tuple[Path, Path | None]:
        """Creates the files of ``step`` at the first call; returns their final paths."""
        path = step_file(self.folder, step)
        beside = updater_file(path) if self.slots else None
        if step not in self.files:
            metadata = {"step": str(step), "job": self.partition.job.name, "format": "netpart 1"}
            shapes = {p.name: (self.dtype, p.spec.saved or p.spec.shape) for p in self.partition.parameters}
            self.files[step] = [create(path, shapes, metadata)]
            if beside is not None:
                states = {f"{name}.{slot}": shape for name, shape in shapes.items() for slot in self.slots}
                self.files[step].append(create(beside, states, metadata))
            self.done[step] = set()
        return path, beside

    def written(self, step: int, rank: int) -> Path | None:
        """Notes that a worker has written its share; once all have, puts the files in place and returns the path."""
        self.done[step].add(rank)
        if len(self.done[step]) < self.partition.workers:
            return None
        for file in reversed(self.files.pop(step)):
            file.finish()
        return step_file(self.folder, step)

    def abandon(self) -> None:
        """Removes what is unfinished."""
        for files in self.files.values():
            for file in files:
                file.abandon()
        self.files = {}


def writers(partition: Partition) -> list[list[int]]:
    """Per worker, the holdings it writes: of several copies, the one of the lowest rank."""
    written: dict[str, list[Region]] = {}
    result: list[list[int]] = []
    for holdings in partition.holdings:
        mine = []
        for h, holding in enumerate(holdings):
            boxes = written.setdefault(holding.parameter.name, [])
            if not any(contains(b, holding.box) for b in boxes):
                mine.append(h)
        for h in mine:
            written[holdings[h].parameter.name].append(holdings[h].box)
        result.append(mine)
    return result
