"""RunRecord: what is kept of a run while it lasts: metrics.jsonl, the latest metrics of every phase, the last
checkpoint, and updates.jsonl if there are servers or groups that average."""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from netpart.checkpoint.steps import best_file
from netpart.choices import TRAIN
from netpart.errors import ConfigError, StorageFailed, os_error_text
from netpart.graph.judged_metrics import BEST, STOP
from netpart.launch.report.events import (
    Halted,
    Judged,
    Listener,
    Measured,
    Noticed,
    Restarted,
    Saved,
    Staleness,
    Started,
    Updated,
    WentOn,
)
from netpart.launch.report.watch_events import StepSampled, WatchEvent, WorkerPositions
from netpart.launch.report.workspace import refuse_removal

RESTART = "restart"
"""The field of a line of metrics.jsonl that says how many times the run has been started again."""
CHANGE = "change"
"""The field of a line of metrics.jsonl that says how the workers of an elastic run have changed."""


class RunRecord:
    """Recorder of every event, which it passes on. No other run can use the workspace until ``close``.

    A run resumed at step ``first_step`` keeps the lines up to that step, and those of all restarts and changes of
    workers; a new run starts a new file. Raises ConfigError for a workspace that cannot be written, or that another run
    is using.
    """

    def __init__(self, workspace: Path, listener: Listener | None, first_step: int = 0, resumed: bool = False) -> None:
        self.file = _open_exclusively(workspace / "metrics.jsonl")
        kept = self.noted_until(first_step) if resumed else []
        self.file.seek(0)
        self.file.truncate()
        self.file.writelines(kept)
        self.listeners: list[Listener] = [] if listener is None else [listener]
        self.callers = tuple(self.listeners)
        self.watchers: list[Callable[[WatchEvent], None]] = []
        self.told_updates = 0
        self.latest: dict[str, dict[str, float]] = {}
        self.tests: list[Measured] = []
        self.stale = Counter[int]()
        self.updates: TextIO | None = None
        self.workspace = workspace
        self.checkpoint = ""
        self.sealing = ""
        self.best_checkpoint = ""
        self.best: dict[str, Any] = {}
        self.stopped: Judged | Halted | None = None
        self.changes = [line for line in map(json.loads, kept) if CHANGE in line]
        self.newest: dict[str, int] = {}
        self.told: dict[str, int] = {}
        self.restarts = [line for line in map(json.loads, kept) if RESTART in line]
        self.repeated = {line["phase"]: line for line in map(json.loads, kept) if _is_evaluation(line, first_step)}
        self.take_earlier_best(kept)

    def noted_until(self, step: int) -> list[str]:
        """The lines of an earlier run up to ``step``. The resumed run repeats the later steps."""
        self.file.seek(0)
        lines = []
        for line in self.file:
            with suppress(ValueError, KeyError, TypeError, RecursionError):  # a killed run may leave half a line
                noted = json.loads(line)
                if noted["step"] <= step or RESTART in noted or CHANGE in noted:
                    lines.append(line)
        return lines

    def take_earlier_best(self, lines: list[str]) -> None:
        """Take the best validation that ``lines`` note, if its checkpoint is still there."""
        path = best_file(self.workspace / "checkpoint")
        noted = [line for line in map(json.loads, lines) if line.get("decides") == BEST]
        if noted and path.exists():
            self.best = {name: noted[-1].get(name) for name in ("metric", "value", "step")}
            self.best_checkpoint = str(path)

    def hear(self, event: WatchEvent | Updated) -> None:
        """Take one event. Updates are recorded but not passed on, as they are many. Raises DataError if the disk is
        full."""
        if isinstance(event, Updated):
            return self.note_update(event)
        if isinstance(event, (Measured, Judged)) and self.is_repeated(event):
            return
        if isinstance(event, WentOn):
            self.note_change(event)
        if isinstance(event, WorkerPositions | StepSampled | Staleness):
            return self.tell_watchers(event)
        if isinstance(event, Measured):
            self.latest[event.phase] = event.metrics
            self.tests += [event] if event.phase == "test" else []
            self.replace_repeated(event)
            self.write_line(asdict(event))
        if isinstance(event, Judged):
            self.note_judged(event)
        if isinstance(event, Halted):
            self.stopped = event
        if isinstance(event, Saved):
            self.note_saved(event)
        if isinstance(event, Restarted):
            self.note_restart(event)
        if isinstance(event, Started):
            self.sealing = event.sealing
        for listener in self.listeners:
            listener(event)
        if isinstance(event, Saved):
            self.refuse_removal()  # only now, so that the error comes after the checkpoint is recorded

    def is_repeated(self, event: Measured | Judged) -> bool:
        """True for what an elastic run that went back a few steps measures and decides again, with the same values."""
        key = event.phase if isinstance(event, Measured) else f"{event.phase} {event.decides}"
        if event.step <= self.told.get(key, -1):
            return True
        self.newest[key] = event.step
        return False

    def note_change(self, event: WentOn) -> None:
        """Write a change of the workers, and keep it for the summary. What was told before it is not told again."""
        self.told = dict(self.newest)
        change = asdict(event) | {CHANGE: "lost" if event.lost else "joined"}
        self.changes.append(change)
        self.write_line(change)

    def tell_watchers(self, event: WatchEvent) -> None:
        """Pass an event on to those who watch closely, and the staleness of the updates if there were new ones."""
        stale = self.staleness if self.stale.total() > self.told_updates else None
        self.told_updates = self.stale.total()
        for watcher in self.watchers:
            watcher(event)
            if stale is not None:
                watcher(stale)

    def tell_user(self, text: str) -> None:
        """Pass a notice on to the caller of the run alone: it may have a secret that is not for files."""
        for listener in self.callers:
            listener(Noticed(text))

    def write_line(self, line: dict[str, Any]) -> None:
        """Write a line of metrics.jsonl. Raises DataError if the disk is full."""
        with refuse_full_disk(self.file):
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()

    def replace_repeated(self, event: Measured) -> None:
        """Drop the line of an evaluation before the first step, which a resumed run repeats, once that is measured."""
        old = self.repeated.pop(event.phase, None)
        if old is None or old["step"] != event.step:
            return
        self.file.seek(0)
        lines = [line for line in self.file if json.loads(line) != old]
        self.file.seek(0)
        self.file.truncate()
        self.file.writelines(lines)

    def note_restart(self, event: Restarted) -> None:
        """Write that the run starts again, and keep it for the summary."""
        line = {RESTART: event.number} | {name: value for name, value in asdict(event).items() if name != "number"}
        self.write_line(line)
        self.restarts.append(line)

    def note_judged(self, event: Judged) -> None:
        """Write a decision, and keep what the summary says about it."""
        self.write_line(asdict(event))
        if event.decides == STOP:
            self.stopped = event
        if event.decides == BEST:
            self.best = {"metric": event.metric, "value": event.value, "step": event.step}

    def note_saved(self, event: Saved) -> None:
        """Keep the path of a checkpoint for the summary."""
        if event.best:
            self.best_checkpoint = str(event.path)
        else:
            self.checkpoint = str(event.path)

    def refuse_removal(self) -> None:
        """Raise DataError if the workspace has been removed."""
        refuse_removal(self.file, self.workspace / "metrics.jsonl")

    def note_update(self, event: Updated) -> None:
        """Write a line of updates.jsonl, which is created at the first update of the run."""
        if self.updates is None:
            self.updates = open(self.workspace / "updates.jsonl", "w", encoding="utf-8")  # noqa: SIM115 - see close
        made = event.update
        self.stale[made.staleness] += 1
        with refuse_full_disk(self.updates):
            self.updates.write(json.dumps({"rank": event.rank} | made._asdict() | {"staleness": made.staleness}) + "\n")

    @property
    def staleness(self) -> Staleness | None:
        """How stale all updates were; None if there were none."""
        count = self.stale.total()
        found = sorted(self.stale.items())
        if not count:
            return None
        return Staleness(count, sum(stale * n for stale, n in found) / count, found[-1][0], dict(found))

    def close(self) -> None:
        """Release the workspace. Raises DataError if the disk has no room for the last updates."""
        with suppress(OSError):  # a failed write has been reported already
            self.file.close()
        if self.updates is not None:
            with refuse_full_disk(self.updates):
                self.updates.close()


def _is_evaluation(line: dict[str, Any], step: int) -> bool:
    """True for the metrics of a validation or test at ``step``."""
    return line["step"] == step and "metrics" in line and line["phase"] != TRAIN


@contextmanager
def refuse_full_disk(file: TextIO) -> Iterator[None]:
    """Raise StorageFailed instead of the OSError of a failed write to ``file``, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        got = os_error_text(error)
        hint = "free some, and continue with --resume"
        raise StorageFailed(f"{file.name}: expected room for a line, got {got}; {hint}") from error


def _open_exclusively(path: Path) -> TextIO:
    """Open a file for reading and writing that no other run has open; create its folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Append mode does not truncate: the file may belong to a running run, which only the lock below shows.
        file = open(path, "a+", encoding="utf-8", errors="replace")  # noqa: SIM115 - its owner closes it
    except OSError as error:
        got = os_error_text(error)
        hint = "name another one with --workspace or cluster.workspace"
        raise ConfigError(f"workspace {path.parent}", "a folder to write to", got, hint) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        hint = "wait for it, or name another one with --workspace"
        raise ConfigError(f"workspace {path.parent}", "no other run in it", "one", hint) from None
    except OSError:
        pass  # a file system without locks: two runs in one workspace are not detected
    return file
