"""Figures of this host, measured once: speeds of cores alone and beside others, links, and costs of instructions."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from netpart.collectives.network import LinkCost
from netpart.plan.timings.timing_file import FORMAT, processor_name, read_cache_json, write_cache_json
from netpart.resources import installed_version, user_cache_folder

NUMBERS = ("speed", "streaming", "products_slow", "streams_slow", "instruction", "step")


@dataclass(frozen=True)
class HostFigures:
    """What is measured once per host.

    ``speed`` (FLOPs) and ``streaming`` (bytes) are per second of one core that computes alone. ``products_slow`` and
    ``streams_slow`` are how many times longer products and sums of arrays take while all cores do the same.
    ``instruction`` and ``step`` are the seconds that a worker takes for an instruction, and for a step with the handing
    over of rows, besides its kernels. ``links`` has, by transport, the link between two processes, and ``sums`` that of
    sums of gradients, with copying and adding.
    """

    speed: float
    streaming: float
    products_slow: float = 1.0
    streams_slow: float = 1.0
    instruction: float = 1e-6
    step: float = 1e-5
    links: dict[str, LinkCost] = field(default_factory=dict)
    sums: dict[str, LinkCost] = field(default_factory=dict)

    def slowdown(self, seconds: float, nbytes: float) -> float:
        """How many times longer a call takes beside equal ones on the other cores, if it takes ``seconds`` alone."""
        # Data in a core's own cache are not shared with anyone.
        shared = 0.0 if nbytes <= OWN_CACHE else min(1.0, nbytes / self.streaming / max(seconds, 1e-9))
        return self.products_slow + (self.streams_slow - self.products_slow) * shared

    def with_link(self, transport: str, link: LinkCost, sums: LinkCost) -> HostFigures:
        """The figures with the link of a transport, and that of sums over it."""
        return replace(self, links={**self.links, transport: link}, sums={**self.sums, transport: sums})


OWN_CACHE = 1 << 20
"""Bytes that a core keeps in caches of its own."""


def read_host_figures() -> HostFigures | None:
    """The figures that were kept for this host; None if there are none, or they cannot be used."""
    found = read_cache_json(_figures_path())
    if not all(_is_figure(found.get(name)) for name in NUMBERS) or found.get("processor") != processor_name():
        return None
    numbers = {name: float(found[name]) for name in NUMBERS}  # type: ignore[arg-type]
    return HostFigures(**numbers, links=_read_links(found.get("links")), sums=_read_links(found.get("sums")))


def write_host_figures(figures: HostFigures) -> None:
    """Keep the figures for the next time."""
    write_cache_json(_figures_path(), asdict(figures) | {"processor": processor_name()})


def _figures_path() -> Path:
    return user_cache_folder("timings") / f"host-{installed_version()}-{FORMAT}.json"


def _is_figure(value: object) -> bool:
    """True for a finite number above 0."""
    return isinstance(value, int | float) and math.isfinite(value) and value > 0


def _read_links(entries: object) -> dict[str, LinkCost]:
    """The links by their transports; those that are damaged are left out."""
    named = {name: _read_link(link) for name, link in entries.items()} if isinstance(entries, dict) else {}
    return {name: link for name, link in named.items() if link is not None}


def _read_link(entry: object) -> LinkCost | None:
    """The link of an entry; None if it is damaged."""
    if not isinstance(entry, dict) or not _is_figure(entry.get("bandwidth")):
        return None
    latency, overhead = entry.get("latency"), entry.get("overhead")
    good = all(isinstance(value, int | float) and 0 <= value < math.inf for value in (latency, overhead))
    return LinkCost(float(latency), float(overhead), float(entry["bandwidth"])) if good else None  # type: ignore[arg-type]
