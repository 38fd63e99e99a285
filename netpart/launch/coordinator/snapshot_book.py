"""SnapshotBook: which workers have stored a snapshot, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.proto.control_pb2 import SnapshotProto


class SnapshotBook:
    """Snapshots of a team of ``workers`` workers. ``committed`` is the newest step that all of them have stored.

    ``sums`` are the mini-batches since the last report of training at that step, and the sums of their metrics.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.committed: int | None = None
        self.sums: tuple[int, list[float]] = 0, []
        self._stored: dict[int, dict[int, SnapshotProto]] = {}
        self._dropped: set[int] = set()

    def hear(self, said: SnapshotProto) -> SnapshotProto | None:
        """Take what a worker reports; return the decision for all workers, if there is one now.

        Raises ValueError for a step or outcome that no worker reports.
        """
        step, outcome = said.step, said.outcome
        if step < 0 or not 0 <= said.rank < self.workers:
            raise ValueError(f"step {step} of worker {said.rank}")
        if outcome in (SnapshotProto.COMMITTED, SnapshotProto.DROPPED):
            raise ValueError(f"outcome {outcome}, which only the coordinator decides")
        if step in self._dropped or step <= (-1 if self.committed is None else self.committed):
            return None
        return self._store(step, said) if outcome == SnapshotProto.STORED else self._drop(step)

    def _store(self, step: int, said: SnapshotProto) -> SnapshotProto | None:
        told = self._stored.setdefault(step, {})
        told[said.rank] = said
        if len(told) < self.workers:
            return None
        self.sums = _total_sums([told[rank] for rank in sorted(told)])
        self.committed = step
        self._stored = {later: those for later, those in self._stored.items() if later > step}
        self._dropped = {later for later in self._dropped if later > step}
        return SnapshotProto(step=step, outcome=SnapshotProto.COMMITTED)

    def _drop(self, step: int) -> SnapshotProto:
        self._dropped.add(step)
        self._stored.pop(step, None)
        return SnapshotProto(step=step, outcome=SnapshotProto.DROPPED)


def _total_sums(told: Sequence[SnapshotProto]) -> tuple[int, list[float]]:
    """The mini-batches, which all workers count alike, and the sums over all workers. Raises ValueError if sums do not
    match."""
    sums = [sum(column) for column in zip(*(said.sum for said in told if said.sum), strict=True)]
    return max(said.batches for said in told), sums
