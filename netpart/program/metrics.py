"""Metrics: where the layers of a phase put their sums, and what these say of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netpart.graph.partition import MicroBatch
from netpart.layers.layer import Layer
from netpart.program.program import MetricSlot

MetricTables = dict[str, list[list[int]]]


def phase_figures(micros: list[MicroBatch], sums: Sequence[float], rows: int) -> dict[str, float]:
    """What the sums of a phase over ``rows`` rows say: LAYER/FIGURE -> value."""
    net = micros[0].graph.net
    said = ((layer, layer.figures(own, net.rows_of(layer, rows))) for layer, own in _reporting_layers(micros, sums))
    return {f"{layer.name}/{name}": value for layer, found in said for name, value in found.items()}


def phase_tables(micros: list[MicroBatch], sums: Sequence[float]) -> MetricTables:
    """What the sums of a phase say in tables: LAYER/TABLE -> its rows."""
    said = ((layer, layer.tables(own)) for layer, own in _reporting_layers(micros, sums))
    return {f"{layer.name}/{name}": table for layer, found in said for name, table in found.items()}


def _reporting_layers(micros: list[MicroBatch], sums: Sequence[float]) -> Iterator[tuple[Layer, Sequence[float]]]:
    """The layers of a phase that report sums, with their own ones."""
    layers = micros[0].graph.net.by_name
    for slot in plan_metrics(micros):
        yield layers[slot.layer].layer, sums[slot.offset : slot.offset + len(slot.names)]


def plan_metrics(micros: list[MicroBatch]) -> list[MetricSlot]:
    """One slot per layer that reports sums; every worker has the same slots."""
    slots: list[MetricSlot] = []
    offset = 0
    for node in micros[0].graph.net.nodes:
        if node.layer.metrics:
            slots.append(MetricSlot(node.name, node.layer.metrics, offset))
            offset += len(node.layer.metrics)
    return slots
