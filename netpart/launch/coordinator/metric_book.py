"""MetricBook: adds up the sums that workers report, and turns them into means over mini-batches."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from netpart.graph.partition import Partition
from netpart.program.metrics import MetricTables, phase_figures, phase_tables
from netpart.proto.control_pb2 import ReportProto


@dataclass(frozen=True)
class MetricMeans:
    """The contents of a report: means and other figures by name, tables, samples per second."""

    metrics: dict[str, float]
    tables: MetricTables
    samples_per_second: float


class MetricBook:
    """Collection of reports. Those of one (phase, step) are complete when every worker has sent its own.

    Of several groups only one reports. Its rate of samples is multiplied by the number of groups.
    """

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.groups = partition.cluster.groups
        self.open: dict[tuple[str, int], list[ReportProto]] = {}
        self.last = monotonic()

    def rows(self, phase: str) -> int:
        """Rows of a mini-batch of ``phase``."""
        return self.partition.phases[phase][-1].rows[1]

    def add(self, report: ReportProto, workers: int) -> MetricMeans | None:
        """Add one worker's report. Once all reports are there, return their means; None before."""
        key = (report.phase, report.step)
        reports = self.open.setdefault(key, [])
        reports.append(report)
        if len(reports) < workers:
            return None
        del self.open[key]
        reports.sort(key=lambda r: r.rank)  # so that rounding of the sums does not depend on the order of arrival
        samples = self.rows(report.phase) * report.batches
        micros, sums = (
            self.partition.phases[report.phase],
            [sum(column) for column in zip(*(r.sum for r in reports), strict=True)],
        )
        now = monotonic()
        processed = samples * self.groups if report.phase == "train" else samples
        rate = processed / max(now - self.last, 1e-9)
        self.last = now
        return MetricMeans(phase_figures(micros, sums, samples), phase_tables(micros, sums), rate)
