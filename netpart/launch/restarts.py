"""Restarts: whether a run that has failed starts again, from where, and with which workers.

    attempt ── fails ──▶ repeatable? ── no, or no restart left ──▶ the error ends the run
       ▲                     │ yes
       └── newest checkpoint of this run, cut anew for the workers that are left

A failure is repeatable if it comes from a worker's process, from a link, a host or a disk. What the job itself causes
would come again: a setting, damaged data, a layer that raises, numbers that are not finite, too little memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.choices import JOIN, LOCAL, RAY
from netpart.errors import ConfigError, RunBroken, StorageFailed, WorkersAbsent
from netpart.launch.report.events import Event, Restarted, Saved, Started
from netpart.units import plural_text

if TYPE_CHECKING:
    from netpart.launch.teams.meeting import Meeting

RESTARTING = (LOCAL, JOIN, RAY)
"""The launchers that can start the workers of a run again."""
REJOIN_SECONDS = 30.0
"""How long the workers that are left have to come back, when the run does not wait for others."""


@dataclass(frozen=True)
class RestartState:
    """What a run knows of its earlier attempts, also when its coordinator has died.

    ``made`` restarts, the last one for ``reason``, on ``workers`` workers, ``local`` of them started by this host.
    ``saved`` are the checkpoints that it keeps, oldest first.
    """

    made: int = 0
    reason: str = ""
    workers: int = 0
    local: int = 0
    saved: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self))


def parse_restart_state(text: str) -> RestartState:
    """The state that ``text`` of this process's parent describes."""
    found = json.loads(text)
    return RestartState(**(found | {"saved": tuple(found["saved"])}))


@dataclass(frozen=True)
class RestartChoice:
    """How often a run starts again after failures: at most ``limit`` times.

    ``wait`` is how many seconds the run waits for as many workers as it began with; None: it goes on with those that
    are left. ``supervised``: a parent starts this process again if it dies; ``elsewhere``: a batch system starts the
    run again after every failure, and this process after none. ``begun`` is the state of an earlier process of this
    run, and ``tell`` receives each new state.
    """

    limit: int = 0
    wait: float | None = None
    supervised: bool = False
    elsewhere: bool = False
    begun: RestartState | None = None
    tell: Callable[[RestartState], None] = lambda state: None


NO_RESTARTS = RestartChoice()


def is_repeatable(error: Exception) -> bool:
    """True for an error that another attempt may not meet."""
    return isinstance(error, RunBroken | StorageFailed)


def check_restarts(choice: RestartChoice, launcher: str) -> None:
    """Raise ConfigError for restarts with a launcher that cannot start workers again."""
    if choice.limit and launcher not in RESTARTING:
        hint = "omit --restarts, and continue a run that fails with --resume"
        raise ConfigError("--restarts", f"--launcher {', '.join(RESTARTING)}, or env within Slurm", launcher, hint)


class RestartBook:
    """The attempts of one run that begins with ``workers`` workers, of which this host starts ``local``.

    ``fits`` tells whether the job can be cut for a number of workers. ``earlier`` are checkpoints that the run
    continues from. ``patience`` is how long the launcher waits for workers at most.
    """

    def __init__(
        self, choice: RestartChoice, workers: int, local: int, fits: Callable[[int], bool], patience: float
    ) -> None:  # fmt: skip
        self.choice = choice
        self.asked = workers, local
        self.fits = fits
        self.patience = patience
        self.state = choice.begun or RestartState(workers=workers, local=local)
        self.started = choice.begun is not None
        self.change(self.state)

    def hear(self, event: Event) -> None:
        """Note from where the run could start again."""
        if isinstance(event, Started):
            self.started = True
        if isinstance(event, Saved) and not event.best:
            self.note_saved(str(event.path))

    def note_saved(self, path: str) -> None:
        """Take ``path`` for the newest checkpoint; those that were removed since are forgotten."""
        others = (other for other in self.state.saved if other != path and Path(other).exists())
        self.change(replace(self.state, saved=(*others, path)))

    def change(self, state: RestartState) -> None:
        self.state = state
        self.choice.tell(state)

    @property
    def newest(self) -> Path | None:
        """The checkpoint from which the run starts again; None before its first one."""
        return Path(self.state.saved[-1]) if self.state.saved else None

    @property
    def keeps_number(self) -> bool:
        """True if every attempt has as many workers as the first."""
        return self.choice.wait is not None

    @property
    def seconds(self) -> float:
        """How long the next attempt waits for its workers."""
        if not self.state.made:
            return self.patience
        if self.choice.wait is not None:
            return self.choice.wait
        return REJOIN_SECONDS if self.state.workers < self.asked[0] or self.fits(self.asked[0] - 1) else self.patience

    def repeats(self, error: Exception) -> bool:
        """True if the run starts again after ``error``."""
        if self.choice.elsewhere:
            return False
        if isinstance(error, WorkersAbsent):
            return self.state.made > 0 and self.left_by(error) is not None
        return self.started and self.state.made < self.choice.limit and is_repeatable(error)

    def left_by(self, error: WorkersAbsent) -> tuple[int, int] | None:
        """The workers, and those of this host, without the absent ones; None if the run cannot go on with them."""
        left = self.state.workers - error.absent
        return (left, min(left, self.state.local)) if left > 0 and self.fits(left) else None

    def take(self, error: Exception) -> None:
        """Decide how the next attempt begins after ``error``, which ``repeats`` accepts."""
        if isinstance(error, WorkersAbsent):
            workers, local = self.left_by(error) or self.asked
            self.change(replace(self.state, workers=workers, local=local))
            return
        workers, local = self.without(error.lost if isinstance(error, RunBroken) else ())
        made = self.state.made + 1
        self.change(replace(self.state, made=made, reason=str(error), workers=workers, local=local))

    def without(self, lost: tuple[int, ...]) -> tuple[int, int]:
        """The workers of the next attempt, and those of this host, after ``lost`` ranks are gone."""
        if self.keeps_number:
            return self.asked
        left = self.state.workers - len(lost)
        local = self.state.local - sum(rank < self.state.local for rank in lost)
        return (left, local) if left > 0 and self.fits(left) else self.asked

    def advise(self, error: Exception) -> None:
        """Add to ``error``, which ends the run, why the run does not start again."""
        if not self.choice.limit or not self.started or self.choice.elsewhere:
            return
        if isinstance(error, WorkersAbsent):
            count = plural_text(self.state.workers, "worker")
            error.add_note(
                f"the job needs {count}, as its layers are placed: `netpart plan JOB --workers N` finds a cut for fewer"
            )
        elif is_repeatable(error):
            error.add_note(f"all {self.choice.limit} restarts are used")
        else:
            error.add_note("--restarts does not repeat this: the job, or what it reads, would cause it again")

    def event(self, step: int) -> Restarted:
        """The event of the attempt that begins at ``step``."""
        state = self.state
        checkpoint = str(self.newest or "")
        return Restarted(state.made, self.choice.limit, step, state.workers, state.reason, checkpoint)


def next_meeting(meeting: Meeting, book: RestartBook) -> Meeting:
    """``meeting`` for the next attempt of ``book``."""
    return replace(meeting, local=book.state.local, wait=book.seconds, regathers=book.state.made > 0)
