"""Blame: whose fault it is that a run ends, in words that say who, where and why, with the end of his log."""

from __future__ import annotations

import select
from time import monotonic
from typing import Any

from netpart.errors import DataError, MemoryRefused, NetpartError, WorkerFailed, clip_text
from netpart.launch.coordinator.watch import MemberRecord, describe_moment
from netpart.launch.teams.team import Team
from netpart.proto.cluster import Cluster

LAST_WORDS_SECONDS = 0.1
"""What a process said before it died may come in a little after the news of its death."""
WORDS = 2000
"""Characters that are shown of what a worker says."""
TOLD: dict[str, type[NetpartError]] = {"MemoryRefused": MemoryRefused, "DataError": DataError}
"""Errors of a worker that keep their class; their messages need no log."""
PLAIN = ("WorkerFailed", "Overdue", "TransportError", "ConfigError", "NetpartError", *TOLD)
"""Errors whose messages say enough without the name of their class."""


class Blame:
    """Finds who of ``members`` is to blame; ``team`` knows their processes and logs. ``certain`` is who has been
    found: what others say of themselves is a consequence."""

    def __init__(self, members: list[MemberRecord], cluster: Cluster, team: Team) -> None:
        self.members = members
        self.cluster = cluster
        self.team = team
        self.certain: int | None = None

    def hear(self, member: MemberRecord, failed: Any) -> None:
        """Raises the error that ends the run when a worker says that it has failed."""
        if self.certain in (None, member.rank):
            raise self.failure(member, failed)

    def failure(self, member: MemberRecord, failed: Any) -> NetpartError:
        """The error that ends the run after what a worker says about itself, or the death that explains it."""
        killed = self.killed(member, LAST_WORDS_SECONDS if failed.kind == "TransportError" else 0.0)
        for rank, how in killed.items():
            return self.failed(rank, f"died ({how}), last heard in {self.members[rank].last_moment()}")
        said = failed.message.removeprefix(f"worker {member.rank}: ")
        kind = "" if failed.kind in PLAIN else f"{failed.kind}: "
        text = clip_text(f"{describe_moment(failed.phase, failed.step, failed.doing)}: {kind}{said}", WORDS)
        if failed.kind in TOLD:
            return TOLD[failed.kind](f"{self.cluster.name(member.rank)}: {text}")
        if failed.kind == "Overdue":
            text += "".join(
                f"\n{self.cluster.name(m.rank)} was last heard in {m.last_moment()}"
                for m in self.members
                if m is not member
            )
        return self.failed(member.rank, text)

    def killed(self, member: MemberRecord, seconds: float) -> dict[int, str]:
        """Who else was killed, and how. A peer may feel a death before it shows here: ``seconds`` are for that."""
        end = monotonic() + seconds
        while True:
            found = {rank: how for rank, how in self.team.dead().items() if rank != member.rank and "signal" in how}
            left = end - monotonic()
            if found or left <= 0 or not self.team.descriptors():
                return found
            select.select(self.team.descriptors(), [], [], left)

    def failed(self, rank: int, text: str) -> WorkerFailed:
        """The error that ends the run: who, where, why, and the end of the worker's log."""
        tail = self.team.log_tail(rank)
        where = self.team.where(rank)
        return WorkerFailed(
            f"{self.cluster.name(rank)}{f' ({where})' if where else ''}: {text}"
            + (f"\nlast lines of its log:\n{tail}" if tail else "")
        )
