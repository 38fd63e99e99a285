"""CheckpointBook: one file per checkpoint, created by the coordinator, written by all workers, renamed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from netpart.checkpoint.checksums import WrittenRange
from netpart.checkpoint.safetensors_file import CheckpointWriter, create_checkpoint, partial_path
from netpart.checkpoint.steps import (
    best_file,
    latest_checkpoint,
    remove_checkpoint,
    remove_updater_file,
    step_file,
    updater_file,
)
from netpart.errors import DataError, TrainingDiverged
from netpart.graph.partition import Partition
from netpart.graph.saved_holdings import list_saved_tensors
from netpart.launch.control.signals import defer_signals
from netpart.updaters import build_updater


class CheckpointBook:
    """The checkpoints that are being written, and those of this run that are kept.

    ``earlier`` are the checkpoints that a resumed run continues from, oldest first. They count as its own. ``restored``
    is the one from which the run started. ``notes`` gives further entries of the metadata, of the best checkpoint if it
    is called with True.
    """

    def __init__(
        self, partition: Partition, folder: Path, earlier: Iterable[Path] = (), restored: Path | None = None,
        notes: Callable[[bool], dict[str, str]] = lambda best: {},
    ) -> None:  # fmt: skip
        self.partition = partition
        self.folder = folder
        self.slots = build_updater(partition.job.updater).states
        self.files: dict[Path, list[CheckpointWriter]] = {}
        self.done: dict[Path, set[int]] = {}
        self.asked: dict[Path, list[Callable[[], None]]] = {}
        self.latest: Path | None = None
        self.kept = list(earlier)
        self.restored = restored
        self.notes = notes

    def paths(self, step: int, best: bool = False) -> tuple[Path, Path | None]:
        """The final path of the checkpoint of ``step`` or the ``best`` one, and that of the updater's state, if any."""
        path = best_file(self.folder) if best else step_file(self.folder, step)
        return path, updater_file(path) if self.slots else None

    def open(self, step: int, best: bool = False) -> tuple[Path, Path | None]:
        """Create the files of ``step`` at the first call; return their final paths. Raises DataError if that fails."""
        paths = self.paths(step, best)
        if paths[0] not in self.files:
            self.create(step, *paths, self.notes(best))
        return paths

    def create(self, step: int, path: Path, state_path: Path | None, notes: dict[str, str]) -> None:
        """Start the files of ``step``, under the names of partial files; ``notes`` are entries for the parameters."""
        metadata = {"step": str(step), "job": self.partition.job.name, "format": "netpart 1"}
        parameters, states = list_saved_tensors(self.partition, self.slots)
        # The list is registered before a file exists, so that ``abandon`` removes the first file even if creating the
        # second one fails.
        self.files[path] = []
        self.done[path] = set()
        self.files[path].append(create_checkpoint(path, parameters, metadata | notes))
        if state_path is not None:
            self.files[path].append(create_checkpoint(state_path, states, metadata))

    def file(self, path: Path) -> CheckpointWriter | None:
        """The open file whose final path is ``path``; None if no such file is open."""
        found = (
            f for files in self.files.values() for f in files if f.path.absolute() == partial_path(path).absolute()
        )
        return next(found, None)

    def expect(self, step: int, best: bool = False) -> None:
        """Raise LookupError for a step whose files are not open."""
        if self.paths(step, best)[0] not in self.files:
            raise LookupError(f"step {step}, of which no checkpoint is being written")

    def note_written(self, step: int, best: bool, found: Iterable[tuple[bool, str, WrittenRange]]) -> None:
        """Note what a worker has written: in the updater's file or that of the parameters, the tensor, and the range.

        Raises LookupError for a step whose files are not open, and for another file or tensor; ValueError for bytes
        beyond a tensor.
        """
        self.expect(step, best)
        files = self.files[self.paths(step, best)[0]]
        for updater, name, each in found:
            files[int(updater)].note_written(name, each)

    def written(
        self, step: int, rank: int, best: bool = False, confirm: Callable[[], None] = lambda: None
    ) -> Path | None:  # fmt: skip
        """Note that a worker has written its share. Once all have, put the files in place and return the path.

        Then ``confirm`` of each worker is called: before, none begins to write another checkpoint, so the files of two
        never mix. Raises TrainingDiverged, and puts nothing in place, if a value is not finite.
        """
        path = self.paths(step, best)[0]
        self.done[path].add(rank)
        self.asked.setdefault(path, []).append(confirm)
        if len(self.done[path]) < len(self.partition.cluster.checkpoint_ranks):
            return None
        _refuse_diverged_tensors(step, [name for file in self.files[path] for name in file.seal()])
        # A signal between the two renames would leave half a checkpoint.
        with defer_signals():
            if best:
                self.place_best(path)
            else:
                self.place(step)
                self.forget()
        for confirm in self.asked.pop(path):
            confirm()
        return path

    @property
    def is_awaited(self) -> bool:
        """True while a checkpoint is open that not all workers have written."""
        return any(len(self.done[path]) < len(self.partition.cluster.checkpoint_ranks) for path in self.files)

    def place(self, step: int) -> None:
        """Put the files of ``step`` in place; the file with the parameters comes last.

        So wherever that file exists, the updater's state exists too. A checkpoint of the same step from an earlier run
        is removed first.
        """
        path, _ = self.paths(step)
        remove_checkpoint(path)
        # ``create`` appended the parameters first, so the reversed order puts them in place last.
        for file in reversed(self.files[path]):
            file.place()
        del self.files[path]
        self.latest = path
        self.kept = [*(each for each in self.kept if each != path), path]

    def place_best(self, path: Path) -> None:
        """Replace the best checkpoint at ``path``.

        The parameters are replaced at once, so there always is a whole best checkpoint. The old updater's state is
        removed before, so that a crash in between leaves none rather than that of another step.
        """
        remove_updater_file(path)
        for file in self.files[path]:
            file.place()
        del self.files[path]

    def forget(self) -> None:
        """Remove this run's oldest checkpoints, except the newest ``checkpoint_keep``. Those are in place by now."""
        most = self.partition.job.checkpoint_keep
        while most and len(self.kept) > most:
            remove_checkpoint(self.kept.pop(0))

    def left(self) -> str:
        """What remains of a run that ends early, in words."""
        if self.latest is None:
            return "no checkpoint was saved" + (f"; the run began with {self.restored}" if self.restored else "")
        newest = None
        with suppress(DataError):  # the folder can no longer be read
            newest = latest_checkpoint(self.latest.parent)
        if newest is None:
            return f"the latest checkpoint was {self.latest}, which is no longer there"
        if newest != self.latest:
            other = f"--resume takes {newest}, of an earlier run: remove that first"
            return f"the latest checkpoint is {self.latest}; {other}"
        return f"the latest checkpoint is {self.latest}, --resume continues from it"

    def abandon(self) -> None:
        """Remove unfinished files, also a file that an interrupt left before it was registered here."""
        for file in self.partial():
            with suppress(OSError):  # a path that cannot exist has no file to remove
                file.unlink()
        for open_file in (file for files in self.files.values() for file in files):
            with suppress(OSError):
                open_file.abandon()
        self.files = {}

    def recut(self, partition: Partition) -> None:
        """Go on for the workers of ``partition``, another cut of the job: files that are half written are removed."""
        self.abandon()
        self.done, self.asked = {}, {}
        self.partition = partition

    def partial(self) -> Iterator[Path]:
        """Every file that is, or may be, half written."""
        for path in self.files:
            yield partial_path(path)
            if self.slots:
                yield partial_path(updater_file(path))


def _refuse_diverged_tensors(step: int, names: list[str]) -> None:
    """Raise TrainingDiverged if there are ``names`` of tensors that are not finite."""
    if names:
        others = f" and {len(names) - 1} more" if names[1:] else ""
        raise TrainingDiverged(f"checkpoint of step {step}", "finite numbers", f"nan or infinity in {names[0]}{others}")
