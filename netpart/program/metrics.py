"""Metrics: where the layers of a phase store their sums, and the figures and tables computed from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netpart.graph.partition import MicroBatch
from netpart.layers.layer import Layer
from netpart.program.program import MetricSlot

MetricTables = dict[str, list[list[int]]]


def phase_figures(micros: list[MicroBatch], sums: Sequence[float], rows: int) -> dict[str, float]:
    """The figures computed from the sums of a phase over ``rows`` rows: LAYER/FIGURE -> value."""
    net = micros[0].graph.net
    figures = ((layer, layer.figures(own, net.rows_of(layer, rows))) for layer, own in _reporting_layers(micros, sums))
    return {f"{layer.name}/{name}": value for layer, found in figures for name, value in found.items()}


def phase_tables(micros: list[MicroBatch], sums: Sequence[float]) -> MetricTables:
    """The tables computed from the sums of a phase: LAYER/TABLE -> its rows."""
    tables = ((layer, layer.tables(own)) for layer, own in _reporting_layers(micros, sums))
    return {f"{layer.name}/{name}": table for layer, found in tables for name, table in found.items()}


def _reporting_layers(micros: list[MicroBatch], sums: Sequence[float]) -> Iterator[tuple[Layer, Sequence[float]]]:
    """The layers of a phase that report sums, each with its own sums."""
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
