"""MetricBook: adds up the sums that workers report, and turns them into means over mini-batches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import monotonic

from netpart.choices import TRAIN
from netpart.graph.partition import Partition
from netpart.layers.inputs.rows import RowInput
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

    Of several groups only one reports. Its rate of samples is multiplied by the number of groups. ``carried`` are the
    mini-batches since a report, and the sums of their metrics, that a run brings along which goes back to a snapshot:
    they belong to its first report of training.
    """

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.groups = partition.cluster.groups
        self.open: dict[tuple[str, int], list[ReportProto]] = {}
        self.last = monotonic()
        self.carried: tuple[int, list[float]] = 0, []

    def rows(self, phase: str) -> int:
        """Rows of a mini-batch of ``phase``."""
        return self.partition.phases[phase][-1].rows[1]

    @cached_property
    def steps_per_epoch(self) -> float | None:
        """``count_steps_per_epoch`` of the run."""
        return count_steps_per_epoch(self.partition)

    def epoch(self, step: int) -> float | None:
        """Passes over the training data after ``step`` steps; None if it has no end."""
        return step / self.steps_per_epoch if self.steps_per_epoch else None

    def add(self, report: ReportProto, workers: int) -> MetricMeans | None:
        """Add one worker's report. Once all reports are there, return their means; None before."""
        key = (report.phase, report.step)
        reports = self.open.setdefault(key, [])
        reports.append(report)
        if len(reports) < workers:
            return None
        del self.open[key]
        reports.sort(key=lambda r: r.rank)  # so that rounding of the sums does not depend on the order of arrival
        micros, sums = (
            self.partition.phases[report.phase],
            [sum(column) for column in zip(*(r.sum for r in reports), strict=True)],
        )
        samples = self.rows(report.phase) * report.batches
        now = monotonic()
        processed = samples * self.groups if report.phase == "train" else samples
        rate = processed / max(now - self.last, 1e-9)
        self.last = now
        if report.phase == TRAIN and self.carried[0]:
            samples += self.rows(TRAIN) * self.carried[0]
            sums = [one + other for one, other in zip(self.carried[1], sums, strict=True)]
            self.carried = 0, []
        return MetricMeans(phase_figures(micros, sums, samples), phase_tables(micros, sums), rate)


def count_steps_per_epoch(partition: Partition) -> float | None:
    """Training steps in which every sample is used once; None if the number of samples is unlimited, or without
    training."""
    if TRAIN not in partition.phases:
        return None
    inputs = (node.layer for node in partition.graph.net.nodes if isinstance(node.layer, RowInput))
    counts = [count for count in (layer.records() for layer in inputs) if count is not None]
    return max(counts) / partition.phases[TRAIN][-1].rows[1] if counts else None
