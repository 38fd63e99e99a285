"""Watchdog: decides which worker died, was stopped, fell silent or never connected. The caller passes the time and
acts.

    process ended                            -> at once; of several, see ``order_of_cause``
    its link closed, on a host whose         -> after ``closed_seconds``
    processes cannot be inspected
    stopped (SIGSTOP), or on a host whose    -> after SILENT_SECONDS without a heartbeat,
    processes cannot be inspected               or AWAITED_SECONDS while all others wait for it
    alive but silent: the interpreter is     -> after ``patience`` seconds
    blocked, or the host is busy
    never introduced itself                  -> after ``start_seconds``
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from netpart.launch.teams.exit_status import order_of_cause
from netpart.launch.teams.team import ABSENCE, CLOSED_SECONDS, START_SECONDS
from netpart.program.messages.communication import Phases
from netpart.proto.control_pb2 import BeatProto

SILENT_SECONDS = 3.0
"""After this time without a heartbeat, a stopped worker or a lost link counts as lost. A heartbeat arrives every
BEAT_SECONDS."""
AWAITED_SECONDS = 1.5
"""The same while the team regroups: all other workers stand still until this one answers."""
GAP_SECONDS = 1.5
"""If this process was suspended for so long, it could not receive anything, and no worker is to blame."""


@dataclass
class MemberRecord:
    """What is known about one worker: member ``rank`` of the present team, on the seat ``seat`` of the run.

    A seat is a process, and keeps its number when an elastic run cuts the job anew; in the first team both are equal.
    ``identity`` is the name of its main socket, ``asker`` of the one that it used last. ``since`` is when a process
    that a run started later began; 0.0 for the first ones. ``closed`` is when its link closed; 0.0 while it is open.
    """

    rank: int
    seat: int = -1
    identity: bytes = b""
    asker: bytes = b""
    address: str | None = None
    heard: float = 0.0
    since: float = 0.0
    closed: float = 0.0
    beat: BeatProto = field(default_factory=BeatProto)
    memory: int = 0
    device: str = ""
    threads: int = 0
    host: str = ""
    regions: str = ""
    cores: frozenset[int] = frozenset()
    communications: Phases = field(default_factory=dict)
    communicators: list[Any] = field(default_factory=list)
    finished: Any = None
    trace: Any = None

    def __post_init__(self) -> None:
        if self.seat < 0:
            self.seat = self.rank

    def last_moment(self) -> str:
        """Its last reported phase, step and action."""
        return describe_moment(self.beat.phase, self.beat.step, self.beat.doing or "starting")


def describe_moment(phase: str, step: int, doing: str) -> str:
    """A moment of a worker in words: "train step 3, forward conv1"."""
    return f"{phase} step {step}, {doing}" if phase else f"before step 0, {doing}"


@dataclass(frozen=True)
class FailureVerdict:
    """Why the run must end: the worker of seat ``rank`` is at fault, ``text`` is the reason. ``absent`` is how many
    workers did not connect, if that is the reason."""

    rank: int
    text: str
    absent: int = 0


class Watchdog:
    """Watchdog over ``members`` from ``now`` on.

    ``patience`` is how many seconds a living but silent worker has. ``start_seconds`` is how many a worker has to
    introduce itself. ``hint`` is advice for the user about a worker that did not, and ``absence`` says what it did not
    do, with ``{}`` for the seconds. ``closed_seconds`` is how long after its link has closed a worker counts as lost.
    ``is_awaited``: the team regroups.
    """

    def __init__(
        self, members: list[MemberRecord], patience: float, now: float, start_seconds: float = START_SECONDS,
        hint: str = "look at its log", absence: str = ABSENCE, closed_seconds: float = CLOSED_SECONDS,
    ) -> None:  # fmt: skip
        self.absence_text = absence
        self.closed_seconds = closed_seconds
        self.members = members
        self.patience = patience
        self.began = now
        self.looked = now
        self.start_seconds = start_seconds
        self.hint = hint
        self.is_awaited = False
        for member in members:
            member.heard = now

    def look(self, now: float, dead: Mapping[int, str], stopped: Callable[[int], bool]) -> FailureVerdict | None:
        """The verdict at ``now``, or None.

        ``dead`` maps the seat of each ended worker to how it ended; ``stopped`` returns whether that of a seat is
        stopped.
        """
        # This process was suspended itself: heartbeats that arrived meanwhile are still unread, so every clock
        # restarts.
        if now - self.looked > GAP_SECONDS:
            self.began += now - self.looked
            for member in self.members:
                member.heard, member.since = now, member.since and member.since + now - self.looked
        self.looked = now
        ended = [member for member in self.members if member.seat in dead]
        if ended:
            first = min(ended, key=lambda member: order_of_cause(dead[member.seat]))
            return FailureVerdict(first.seat, f"died ({dead[first.seat]}), last heard in {first.last_moment()}")
        # The first link that closed: others may have closed because of that.
        for member in sorted(self.members, key=lambda member: member.closed):
            if member.closed and now - member.closed > self.closed_seconds and stopped(member.seat):
                text = f"ended or stopped, or its link is lost: that has closed, last heard in {member.last_moment()}"
                return FailureVerdict(member.seat, text)
        return next(filter(None, (self.silence(member, now, stopped) for member in self.members)), None)

    def silence(self, member: MemberRecord, now: float, stopped: Callable[[int], bool]) -> FailureVerdict | None:
        """The verdict on one living worker."""
        silent = now - member.heard
        if silent <= (AWAITED_SECONDS if self.is_awaited else SILENT_SECONDS):
            return None
        last = f"last heard in {member.last_moment()}"
        if stopped(member.seat):
            return FailureVerdict(member.seat, f"stopped, or its link is lost: not heard for {silent:.1f} s, {last}")
        if not member.identity:
            return self.absence(member) if now - max(self.began, member.since) > self.start_seconds else None
        if silent > max(self.patience, SILENT_SECONDS):
            return FailureVerdict(member.seat, f"runs, but is not heard for {silent:.1f} s, {last}")
        return None

    def absence(self, member: MemberRecord) -> FailureVerdict:
        """The verdict on the first worker that did not connect. It names the others too."""
        others = [str(m.seat) for m in self.members if not m.identity and m is not member]
        too = f", nor did {' and '.join(others)}" if others else ""
        return FailureVerdict(
            member.seat, f"{self.absence_text.replace('{}', f'{self.start_seconds:g} s')}{too}; {self.hint}",
            absent=1 + len(others),
        )  # fmt: skip
