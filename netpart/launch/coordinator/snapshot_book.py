"""SnapshotBook: which workers have stored a snapshot, and what becomes of it."""

from __future__ import annotations

from netpart.proto.control_pb2 import SnapshotProto


class SnapshotBook:
    """Snapshots of a team of ``workers`` workers. ``committed`` is the newest step that all of them have stored.

    ``skipped`` and ``failed`` count those that nobody keeps, because a worker was still busy with the last one, or its
    buddy did not confirm.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.committed: int | None = None
        self.commits = self.skipped = self.failed = 0
        self._stored: dict[int, set[int]] = {}
        self._dropped: set[int] = set()

    def hear(self, said: SnapshotProto) -> SnapshotProto | None:
        """Take what a worker tells; return the decision for all workers, if there is one now.

        Raises ValueError for a step or outcome that no worker tells.
        """
        step, outcome = said.step, said.outcome
        if step < 0 or not 0 <= said.rank < self.workers:
            raise ValueError(f"step {step} of worker {said.rank}")
        if outcome in (SnapshotProto.COMMITTED, SnapshotProto.DROPPED):
            raise ValueError(f"outcome {outcome}, which only the coordinator decides")
        if step in self._dropped or step <= (-1 if self.committed is None else self.committed):
            return None
        return self._store(step, said.rank) if outcome == SnapshotProto.STORED else self._drop(step, outcome)

    def _store(self, step: int, rank: int) -> SnapshotProto | None:
        self._stored.setdefault(step, set()).add(rank)
        if len(self._stored[step]) < self.workers:
            return None
        self.committed = step
        self.commits += 1
        self._stored = {later: ranks for later, ranks in self._stored.items() if later > step}
        self._dropped = {later for later in self._dropped if later > step}
        return SnapshotProto(step=step, outcome=SnapshotProto.COMMITTED)

    def _drop(self, step: int, outcome: SnapshotProto.Outcome) -> SnapshotProto:
        self._dropped.add(step)
        self._stored.pop(step, None)
        if outcome == SnapshotProto.SKIPPED:
            self.skipped += 1
        else:
            self.failed += 1
        return SnapshotProto(step=step, outcome=SnapshotProto.DROPPED)
