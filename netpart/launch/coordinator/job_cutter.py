"""JobCutter: cuts the job of an elastic run for as many workers as there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from netpart.errors import ConfigError
from netpart.graph.partition import Partition
from netpart.launch.control.elastic_choice import most_workers
from netpart.plan.partition import partition_by_scheme
from netpart.proto.job_pb2 import JobProto

KEPT = 4
"""Cuts that are kept: workers often come back."""


class JobCutter:
    """Cuts ``job``, whose data paths start in ``folder``, for ``least`` to ``most`` workers.

    ``settle`` is called with each new cut, and replaces what is "auto" in it.
    """

    def __init__(self, job: JobProto, size: int, folder: Path, settle: Callable[[Partition], object]) -> None:
        self.job = job
        self.folder = folder
        self.settle = settle
        self.least = job.elastic.min_workers
        self.most = most_workers(job, size)
        self.refusal = ""
        self._cuts: dict[int, Partition | None] = {}

    def keep(self, cut: Partition) -> None:
        """Keep the cut with which the run begins."""
        self._cuts[cut.workers] = cut

    def cut_for(self, workers: int) -> Partition | None:
        """The job cut for at most ``workers`` workers, for as many as it can be; None if that are fewer than ``least``.

        ``refusal`` then says why.
        """
        for count in range(min(workers, self.most), self.least - 1, -1):
            if (found := self._cut(count)) is not None:
                return found
        return None

    def _cut(self, count: int) -> Partition | None:
        """The job cut for ``count`` workers, None if it cannot be."""
        if count not in self._cuts:
            if len(self._cuts) >= KEPT:
                del self._cuts[next(iter(self._cuts))]
            self._cuts[count] = self._new_cut(count)
        return self._cuts[count]

    def _new_cut(self, count: int) -> Partition | None:
        try:
            found = partition_by_scheme(self.job, count, self.folder)
            self.settle(found)
        except ConfigError as error:
            self.refusal = str(error)
            return None
        return found
