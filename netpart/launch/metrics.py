"""MetricBook: adds up the sums that workers report, into means over mini-batches."""

from __future__ import annotations

from time import monotonic

from netpart.graph.partition import Partition
from netpart.program.compile import plan_metrics
from netpart.proto.control_pb2 import ReportProto


class MetricBook:
    """Reports of one (phase, step) are complete when every worker has sent its own."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.open: dict[tuple[str, int], list[ReportProto]] = {}
        self.last = monotonic()
        self.latest: dict[str, dict[str, float]] = {}

    def rows(self, phase: str) -> int:
        """Rows of a mini-batch of ``phase``."""
        return self.partition.phases[phase][-1].rows[1]

    def add(self, report: ReportProto, workers: int) -> tuple[dict[str, float], float] | None:
        """Takes one worker's report; once all are there, returns (mean of each metric, samples per second)."""
        key = (report.phase, report.step)
        reports = self.open.setdefault(key, [])
        reports.append(report)
        if len(reports) < workers:
            return None
        del self.open[key]
        reports.sort(key=lambda r: r.rank)  # a sum must not depend on who came first
        samples = self.rows(report.phase) * report.batches
        values = {
            f"{slot.layer}/{name}": sum(r.sum[slot.offset + i] for r in reports) / samples
            for slot in plan_metrics(self.partition.phases[report.phase])
            for i, name in enumerate(slot.names)
        }
        now = monotonic()
        rate, self.last = samples / max(now - self.last, 1e-9), now
        self.latest[report.phase] = values
        return values, rate
