"""CheckpointBook: one file per checkpoint, created by the coordinator, written by all, put in place at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from netpart.checkpoint.safetensors_file import CheckpointWriter, create_checkpoint, partial_path
from netpart.checkpoint.steps import latest_checkpoint, remove_checkpoint, step_file, updater_file
from netpart.errors import DataError, TrainingDiverged
from netpart.graph.partition import Partition
from netpart.launch.control.signals import defer_signals
from netpart.proto.element import float_size
from netpart.spec import Region, contains
from netpart.updaters import build_updater


class CheckpointBook:
    """The checkpoints that are being written, and those of this run that are kept.

    ``earlier`` are those that the run goes on from, the oldest first: they are its own. ``restored`` is the one that it
    began with.
    """

    def __init__(
        self, partition: Partition, folder: Path, earlier: Iterable[Path] = (), restored: Path | None = None
    ) -> None:
        self.partition = partition
        self.folder = folder
        self.slots = build_updater(partition.job.updater).states
        self.dtype = f"F{8 * float_size(partition.job)}"
        self.files: dict[int, list[CheckpointWriter]] = {}
        self.done: dict[int, set[int]] = {}
        self.latest: Path | None = None
        self.kept = list(earlier)
        self.restored = restored

    def paths(self, step: int) -> tuple[Path, Path | None]:
        """Where the checkpoint of ``step`` will lie, and the updater's state if there is any."""
        path = step_file(self.folder, step)
        return path, updater_file(path) if self.slots else None

    def open(self, step: int) -> tuple[Path, Path | None]:
        """Creates the files of ``step`` at the first call; returns their final paths. Raises DataError if it cannot."""
        if step not in self.files:
            self.create(step, *self.paths(step))
        return self.paths(step)

    def create(self, step: int, path: Path, beside: Path | None) -> None:
        """Starts the files of ``step``, under the names of partial ones."""
        metadata = {"step": str(step), "job": self.partition.job.name, "format": "netpart 1"}
        shapes = {p.name: (self.dtype, p.spec.saved or p.spec.shape) for p in self.partition.parameters}
        self.files[step] = []
        self.done[step] = set()
        self.files[step].append(create_checkpoint(path, shapes, metadata))
        if beside is not None:
            states = {f"{name}.{slot}": shape for name, shape in shapes.items() for slot in self.slots}
            self.files[step].append(create_checkpoint(beside, states, metadata))

    def file(self, path: Path) -> CheckpointWriter | None:
        """The open file whose final path is ``path``; None if there is none."""
        found = (
            f for files in self.files.values() for f in files if f.path.absolute() == partial_path(path).absolute()
        )
        return next(found, None)

    def expect(self, step: int) -> None:
        """Raises LookupError for a step whose files are not open."""
        if step not in self.files:
            raise LookupError(f"step {step}, of which no checkpoint is being written")

    def written(self, step: int, rank: int) -> Path | None:
        """Notes that a worker has written its share; once all have, puts the files in place and returns the path.

        Raises Diverged, and puts nothing in place, for values that are not finite.
        """
        self.done[step].add(rank)
        if len(self.done[step]) < len(self.partition.cluster.checkpoint_ranks):
            return None
        _refuse_diverged_tensors(step, [name for file in self.files[step] for name in file.seal()])
        with defer_signals():
            self.place(step)
            self.forget()
        return self.latest

    def place(self, step: int) -> None:
        """Puts the files of ``step`` in place, that with the parameters last: where it is, the updater's is too.

        So one of the same step that an earlier run has left goes first.
        """
        path, _ = self.paths(step)
        remove_checkpoint(path)
        for file in reversed(self.files[step]):
            file.place()
        del self.files[step]
        self.latest = path
        self.kept = [*(each for each in self.kept if each != path), path]

    def forget(self) -> None:
        """Removes this run's oldest checkpoints but the newest ``checkpoint_keep``, which are in place by now."""
        most = self.partition.job.checkpoint_keep
        while most and len(self.kept) > most:
            remove_checkpoint(self.kept.pop(0))

    def left(self) -> str:
        """What is left of a run that ends early, in words."""
        if self.latest is None:
            return "no checkpoint was saved" + (f"; the run began with {self.restored}" if self.restored else "")
        newest = None
        with suppress(DataError):  # a folder that cannot be read any more
            newest = latest_checkpoint(self.latest.parent)
        if newest is None:
            return f"the latest checkpoint was {self.latest}, which is no longer there"
        if newest != self.latest:
            other = f"--resume takes {newest}, of an earlier run: remove that first"
            return f"the latest checkpoint is {self.latest}; {other}"
        return f"the latest checkpoint is {self.latest}, --resume goes on from it"

    def abandon(self) -> None:
        """Removes what is unfinished, also where an interrupt came between a file and its entry here."""
        for file in self.partial():
            with suppress(OSError):  # where there can be no folder, nothing lies in it
                file.unlink()
        for open_file in (file for files in self.files.values() for file in files):
            with suppress(OSError):
                open_file.abandon()
        self.files = {}

    def partial(self) -> Iterator[Path]:
        """Every file that is, or may be, half written."""
        for step in self.files:
            yield from (partial_path(path) for path in self.paths(step) if path is not None)


def _refuse_diverged_tensors(step: int, names: list[str]) -> None:
    """Raises Diverged if there are ``names`` of tensors that are not finite."""
    if names:
        others = f" and {len(names) - 1} more" if names[1:] else ""
        raise TrainingDiverged(f"checkpoint of step {step}", "finite numbers", f"nan or infinity in {names[0]}{others}")


def assign_checkpoint_writes(partition: Partition) -> list[list[int]]:
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
