"""Blame: which worker caused the end of a run, as an error with its name, host, reason and the end of its log."""

from __future__ import annotations

import select
from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol, TypeVar

from netpart.errors import (
    DataError,
    FieldPath,
    MemoryRefused,
    NetpartError,
    RunBroken,
    StorageFailed,
    WorkerFailed,
    clip_text,
)
from netpart.launch.coordinator.watchdog import MemberRecord, describe_moment
from netpart.launch.teams.exit_status import order_of_cause, was_killed
from netpart.proto.cluster import Cluster

LAST_WORDS_SECONDS = 0.1
"""A process may have sent a message before it died. That message may arrive slightly after the news of its death."""
WORDS = 2000
"""Maximum number of characters shown of a worker's error text."""
REPORTED_ERRORS: dict[str, type[NetpartError]] = {
    kind.__name__: kind for kind in (MemoryRefused, DataError, StorageFailed)
}
"""Errors of a worker that keep their class. Their messages need no log."""
PASSING = ("TransportError", "LinkLost", "Overdue", "SnapshotLost")
"""Failures of a worker that may be those of another one, or of a link: an elastic run goes on without who is gone."""
BROKEN = (*PASSING, "InterruptedThere")
"""Errors of a worker that come from its links, its peers or its host, and not from what it computes."""
PLAIN = ("WorkerFailed", "ConfigError", "NetpartError", *BROKEN, *REPORTED_ERRORS)
"""Errors whose messages are clear without the name of their class."""
Failure = TypeVar("Failure", bound=WorkerFailed)


class WorkerView(Protocol):
    """What is known of the processes of workers, by rank; ``Team`` has it."""

    def descriptors(self) -> list[int]: ...

    def dead(self) -> dict[int, str]: ...

    def where(self, rank: int) -> str: ...

    def log_tail(self, rank: int, lines: int = 12) -> str: ...


class Blame:
    """Search for the member of ``members`` that caused a failure; ``team`` knows their processes and logs.
    ``locate`` finds the field of the job that names the data read by an action of a phase.

    ``certain`` is the rank at fault once it is known. Later failures of other workers are consequences and are ignored.
    """

    def __init__(
        self, members: list[MemberRecord], cluster: Cluster, team: WorkerView,
        locate: Callable[[str, str], FieldPath | None] = lambda phase, doing: None,
    ) -> None:  # fmt: skip
        self.locate = locate
        self.members = members
        self.cluster = cluster
        self.team = team
        self.certain: int | None = None

    def report_failure(self, member: MemberRecord, failed: Any) -> None:
        """Raise the error that ends the run when a worker reports that it has failed."""
        if self.certain in (None, member.rank):
            raise self.failure(member, failed)

    def failure(self, member: MemberRecord, failed: Any) -> NetpartError:
        """The error that ends the run after a worker's failure report, or the death of another worker that explains
        it."""
        killed = self.killed(member, LAST_WORDS_SECONDS if failed.kind == "TransportError" else 0.0)
        # A peer's death explains this worker's error, so the peer is blamed instead.
        if killed:
            rank = min(killed, key=lambda rank: order_of_cause(killed[rank]))
            return self.lost(rank, f"died ({killed[rank]}), last heard in {self.members[rank].last_moment()}")
        reason = failed.message.removeprefix(f"worker {member.rank}: ").removeprefix(f"rank {member.rank}: ")
        kind = "" if failed.kind in PLAIN else f"{failed.kind}: "
        text = clip_text(f"{describe_moment(failed.phase, failed.step, failed.doing)}: {kind}{reason}", WORDS)
        if failed.kind in REPORTED_ERRORS:
            error = REPORTED_ERRORS[failed.kind](f"{self.cluster.name(member.rank)}: {text}")
            error.rank = member.rank
            if isinstance(error, DataError):
                error.at = self.locate(failed.phase, failed.doing)
            return error
        if failed.kind == "Overdue":
            text += "".join(
                f"\n{self.cluster.name(m.rank)} was last heard in {m.last_moment()}"
                for m in self.members
                if m is not member
            )
        if failed.kind == "InterruptedThere":
            return self.lost(member.rank, text)
        return self.failed(member.rank, text, RunBroken if failed.kind in BROKEN else WorkerFailed)

    def killed(self, member: MemberRecord, seconds: float) -> dict[int, str]:
        """Which other workers were killed, and how.

        A peer may notice a death before the coordinator does. So this waits up to ``seconds`` for the news.
        """
        end = monotonic() + seconds
        while True:
            found = {rank: how for rank, how in self.team.dead().items() if rank != member.rank and was_killed(how)}
            left = end - monotonic()
            if found or left <= 0 or not self.team.descriptors():
                return found
            select.select(self.team.descriptors(), [], [], left)

    def lost(self, rank: int, text: str) -> RunBroken:
        """The error that ends the run as worker ``rank`` is gone, with all others that were killed."""
        error = self.failed(rank, text, RunBroken)
        error.lost = tuple(sorted({rank} | {other for other, how in self.team.dead().items() if was_killed(how)}))
        return error

    def failed(self, rank: int, text: str, kind: type[Failure]) -> Failure:
        """The error that ends the run, of class ``kind``: which worker, where, why, and the end of its log."""
        tail = self.team.log_tail(rank)
        where = self.team.where(rank)
        error = kind(
            f"{self.cluster.name(rank)}{f' ({where})' if where else ''}: {text}"
            + (f"\nlast lines of its log:\n{tail}" if tail else "")
        )
        error.rank = rank
        return error
