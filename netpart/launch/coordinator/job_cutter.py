"""JobCutter: cuts the job of an elastic run for as many workers as there are.

A scheme, and layers cut on an axis, are cut anew as they are. A plan with locations or shards is written for one number
of workers: for another one the cuts of PLANNED are priced, and the fastest is taken. A cut that a worker has no memory
for is not tried again: the run waits for another worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

from netpart.errors import ConfigError
from netpart.graph.partition import Partition
from netpart.graph.scheme import clear_cuts, scheme_name, set_scheme
from netpart.launch.control.elastic_choice import most_workers
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import equal_devices
from netpart.plan.price.predict import predict_step
from netpart.proto.job_pb2 import JobProto

KEPT = 4
"""Cuts that are kept: workers often come back."""
PLANNED = ("DATA", "COLUMN_ROW", "ONE_WEIRD_TRICK")
"""Schemes that are tried in place of a plan that cannot be cut for another number of workers."""
PLANNING_SECONDS = 2.0
"""After this time no further scheme is tried."""
FLOPS, BYTES = 1e10, 1e10
"""Speeds, per second, of the equal workers by which cuts are compared."""


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
        self.refused: dict[int, str] = {}
        self._cuts: dict[int, Partition] = {}
        self._seconds: dict[int, float] = {}

    @property
    def refusal(self) -> str:
        """Why the job cannot be cut for the fewest workers for which that was tried; "" if it could always be."""
        return self.refused[min(self.refused)] if self.refused else ""

    def keep(self, cut: Partition) -> None:
        """Keep the cut with which the run begins."""
        self._cuts[cut.workers] = cut

    def refuse(self, workers: int, why: str) -> None:
        """Do not cut the job for ``workers`` workers again."""
        self.refused[workers] = why
        self._cuts.pop(workers, None)

    def cut_for(self, workers: int) -> Partition | None:
        """The job cut for at most ``workers`` workers, for as many as it can be; None if that are fewer than
        ``least``."""
        for count in range(min(workers, self.most), self.least - 1, -1):
            if (found := self._cut(count)) is not None:
                return found
        return None

    def predict(self, cut: Partition) -> float:
        """Seconds of a step of ``cut``, on equal workers: for comparing cuts."""
        if cut.workers not in self._seconds:
            devices = equal_devices(cut.workers, FLOPS, streaming=BYTES)
            self._seconds[cut.workers] = predict_step(cut, devices).seconds
        return self._seconds[cut.workers]

    def _cut(self, count: int) -> Partition | None:
        """The job cut for ``count`` workers, None if it cannot be."""
        if count not in self._cuts and count not in self.refused:
            if len(self._cuts) >= KEPT:
                del self._cuts[next(iter(self._cuts))]
            try:
                self._cuts[count] = self._new_cut(count)
            except ConfigError as error:
                self.refused[count] = str(error)
        return self._cuts.get(count)

    def _new_cut(self, count: int) -> Partition:
        """The job cut for ``count`` workers. Raises ConfigError."""
        try:
            return self._settled(self.job, count)
        except ConfigError:
            if not _is_plan(self.job):
                raise
            found = list(self._planned(count))
            if not found:
                raise
            return min(found, key=lambda pair: pair[0])[1]

    def _planned(self, count: int) -> Iterator[tuple[float, Partition]]:
        """Cuts in place of the plan, with their prices, as far as time allows."""
        end = monotonic() + PLANNING_SECONDS
        for name in PLANNED:
            job = JobProto()
            job.CopyFrom(self.job)
            clear_cuts(job)
            set_scheme(job, name)
            try:
                cut = self._settled(job, count)
            except ConfigError:
                continue
            yield predict_step(cut, equal_devices(count, FLOPS, streaming=BYTES)).seconds, cut
            if monotonic() > end:
                return

    def _settled(self, job: JobProto, count: int) -> Partition:
        """``job`` cut for ``count`` workers. Raises ConfigError."""
        cut = partition_by_scheme(job, count, self.folder)
        self.settle(cut)
        return cut


def _is_plan(job: JobProto) -> bool:
    """True if the stages, or layers, of ``job`` are written for one number of workers."""
    net = job.neuralnet
    staged = net.HasField("stages") or net.HasField("replicas")
    return staged or any(layer.location or layer.cut or layer.shard for layer in net.layer)


def describe_cut(cut: Partition) -> str:
    """How a job is cut, in words."""
    return scheme_name(cut.job).lower().replace("_", " ")
