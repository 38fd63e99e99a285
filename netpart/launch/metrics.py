"""MetricBook: adds up the sums that workers report, and says what they mean over mini-batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic

from netpart.graph.partition import Micro, Partition
from netpart.layers.layer import Layer
from netpart.program.compile import plan_metrics
from netpart.proto.control_pb2 import ReportProto

Tables = dict[str, list[list[int]]]


@dataclass(frozen=True)
class Means:
    """What a report says: means and other figures by name, tables, samples per second."""

    metrics: dict[str, float]
    tables: Tables
    samples_per_second: float


class MetricBook:
    """Reports of one (phase, step) are complete when every worker has sent its own.

    Of several groups one reports; its rate of samples counts for all of them.
    """

    def __init__(self, partition: Partition) -> None:
        self.partition, self.groups = partition, partition.cluster.groups
        self.open: dict[tuple[str, int], list[ReportProto]] = {}
        self.last = monotonic()

    def rows(self, phase: str) -> int:
        """Rows of a mini-batch of ``phase``."""
        return self.partition.phases[phase][-1].rows[1]

    def add(self, report: ReportProto, workers: int) -> Means | None:
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
        rate, self.last = everybody / max(now - self.last, 1e-9), now
        return Means(figures(micros, sums, samples), tables(micros, sums), rate)


def figures(micros: list[Micro], sums: Sequence[float], rows: int) -> dict[str, float]:
    """What the sums of a phase over ``rows`` rows say: LAYER/FIGURE -> value."""
    net = micros[0].graph.net
    said = ((layer, layer.figures(own, net.rows_of(layer, rows))) for layer, own in reporting(micros, sums))
    return {f"{layer.name}/{name}": value for layer, found in said for name, value in found.items()}


def tables(micros: list[Micro], sums: Sequence[float]) -> Tables:
    """What the sums of a phase say in tables: LAYER/TABLE -> its rows."""
    said = ((layer, layer.tables(own)) for layer, own in reporting(micros, sums))
    return {f"{layer.name}/{name}": table for layer, found in said for name, table in found.items()}


def reporting(micros: list[Micro], sums: Sequence[float]) -> Iterator[tuple[Layer, Sequence[float]]]:
    """The layers of a phase that report sums, with their own ones."""
    layers = micros[0].graph.net.by_name
    for slot in plan_metrics(micros):
        yield layers[slot.layer].layer, sums[slot.offset : slot.offset + len(slot.names)]
