"""The table of docs/resattnet.md for nets of published size on simulated devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.figures import Figures
from benchmarks.published import BANDWIDTHS, NETS, RESULTS, row_key
from benchmarks.rows import kept_rows
from netpart.draw.chart import Curve, marked_chart
from netpart.units import seconds_text
from tools.resattnet_tables import CHARTS, PAPER
from tools.results_page import Json

WAYS = "data", "hybrid"
LINK = BANDWIDTHS[0]
RowKey = tuple[str, float, str, int]


def published_size(figures: Figures) -> Iterator[str]:
    """A table for each net, and who is faster; ``figures`` are those of the reduced nets, which it does not need."""
    rows = {row_key(row): row for row in kept_rows(RESULTS)}
    for name, net in NETS.items():
        devices = sorted(workers for found, link, way, workers in rows if (found, link, way) == (name, LINK, "data"))
        if devices:
            yield f"**{net.title}**, {net.batch} rows:"
            yield ""
            titles = " | ".join(f"{way}, {_link_text(link)}" for link in BANDWIDTHS for way in WAYS)
            yield f"| devices | {titles} | paper |"
            yield "|--:" + "|--:" * len(BANDWIDTHS) * len(WAYS) + "|--:|"
            yield from (_device_row(rows, name, workers) for workers in devices)
            yield ""
            yield f"![How many times as fast as one device: {net.title}]({CHARTS}/{name}-published.svg)"
            yield ""


def published_charts() -> dict[str, str]:
    """The speed-ups of each net along the devices, in a simulation: path -> SVG."""
    rows = {row_key(row): row for row in kept_rows(RESULTS) if row["simulated"] is not None}
    return {f"docs/{CHARTS}/{name}-published.svg": _speedup_chart(rows, name) for name in NETS}


def _speedup_chart(rows: Mapping[RowKey, Json], name: str) -> str:
    """The speed-ups of both ways with both links, and those of the paper."""
    minutes = PAPER[name, "ad"]
    curves = {"the paper": Curve([(w, minutes[0] / minutes[w - 1]) for w in range(1, len(minutes) + 1)], guide=True)}
    for link in BANDWIDTHS:
        for way in WAYS:
            found = {1: rows[name, link, "data", 1]} | {
                key[3]: rows[key] for key in rows if key[:3] == (name, link, way)
            }
            points = [(workers, found[1]["simulated"] / found[workers]["simulated"]) for workers in sorted(found)]
            curves[f"{way}, {_link_text(link)}"] = Curve(points)
    return marked_chart(f"{NETS[name].title}: speed-up over one device, simulated", "devices", "speed-up", curves)


def _link_text(bandwidth: float) -> str:
    """A link, by its bandwidth."""
    return f"{bandwidth / 1e9:g} GB/s"


def _device_row(rows: Mapping[RowKey, Json], net: str, workers: int) -> str:
    """The row of the table for a number of devices; the faster way with each link is bold."""
    minutes, cells = PAPER[net, "ad"], list[str]()
    for link in BANDWIDTHS:
        some = [rows.get((net, link, way, workers)) for way in WAYS]
        least = min(row["predicted"] for row in some if row)
        cells += [_step_cell(row, rows[net, link, "data", 1], least) for row in some]
    return f"| {workers} | {' | '.join(cells)} | {minutes[0] / minutes[workers - 1]:.2f} |"


def _step_cell(row: Json | None, alone: Json, least: float) -> str:
    """Seconds of a step, the speed-up, and the choice of the approach; bold for the ``least``."""
    if row is None:
        return "-"
    figure = "predicted" if None in (row["simulated"], alone["simulated"]) else "simulated"
    text = f"{seconds_text(row[figure])} ({alone[figure] / row[figure]:.2f})"
    text = f"**{text}**" if row["predicted"] == least else text
    choice = f", {row['group']} × {row['micro_batches']}" if "group" in row else ""
    return f"{'~ ' if figure == 'simulated' else ''}{text}{choice}"
