"""Colours of workers, which colour-blind readers can distinguish; black text is readable on every fill."""

from __future__ import annotations

from dataclasses import dataclass

HUES = ("0072B2", "E69F00", "009E73", "CC79A7", "D55E00", "56B4E9", "F0E442", "444444")
"""The palette of Okabe and Ito (Color Universal Design, 2008), with dark grey instead of black."""

PALE, DEEP = 0.72, 0.45
"""Share of white in a layer's fill: for workers 0..7, and for 8..15, which have the same hues."""


@dataclass(frozen=True)
class WorkerColour:
    """A worker's colours as #rrggbb: ``line`` for outlines and arrows, ``fill`` for layers, ``field`` as background."""

    line: str
    fill: str
    field: str


def worker_colour(worker: int) -> WorkerColour:
    """The colours of a worker. From worker 16 on they repeat, and only the title of its field identifies a worker."""
    hue = HUES[worker % len(HUES)]
    share = PALE if worker // len(HUES) % 2 == 0 else DEEP
    return WorkerColour(_mix_grey(hue, 0, 0.25), _mix_grey(hue, 255, share), _mix_grey(hue, 255, 0.94))


def _mix_grey(hue: str, other: int, share: float) -> str:
    """``hue`` mixed with a grey of value ``other``, whose share is ``share``, as #rrggbb."""
    channels = (int(hue[i : i + 2], 16) for i in (0, 2, 4))
    return "#" + "".join(f"{round(c * (1 - share) + other * share):02x}" for c in channels)
