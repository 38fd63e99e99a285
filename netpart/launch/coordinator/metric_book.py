"""MetricBook: adds up the sums that workers report, and says what they mean over mini-batches."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from netpart.graph.partition import Partition
from netpart.program.metrics import MetricTables, phase_figures, phase_tables
from netpart.proto.control_pb2 import ReportProto


@dataclass(frozen=True)
class MetricMeans:
    """What a report says: means and other figures by name, tables, samples per second."""

    metrics: dict[str, float]
    tables: MetricTables
    samples_per_second: float


class MetricBook:
    """Reports of one (phase, step) are complete when every worker has sent its own.

    Of several groups one reports; its rate of samples counts for all of them.
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
        """Takes one worker's report; once all are there, returns what they say together."""
        key = (report.phase, report.step)
        reports = self.open.setdefault(key, [])
        reports.append(report)
        if len(reports) < workers:
            return None
        del self.open[key]
        reports.sort(key=lambda r: r.rank)  # a sum must not depend on who came first
        samples = self.rows(report.phase) * report.batches
        micros, sums = (
            self.partition.phases[report.phase],
            [sum(column) for column in zip(*(r.sum for r in reports), strict=True)],
        )
        now = monotonic()
        everybody = samples * self.groups if report.phase == "train" else samples
        rate = everybody / max(now - self.last, 1e-9)
        self.last = now
        return MetricMeans(phase_figures(micros, sums, samples), phase_tables(micros, sums), rate)
