"""One colour per worker, told apart by colour-blind readers too; text on any fill stays black."""

from __future__ import annotations

from dataclasses import dataclass

HUES = ("0072B2", "E69F00", "009E73", "CC79A7", "D55E00", "56B4E9", "F0E442", "444444")
"""The palette of Okabe and Ito (Color Universal Design, 2008), with a dark grey for its black."""

PALE, DEEP = 0.72, 0.45
"""Share of white in a layer's fill: workers 0..7, and 8..15, which have the same hues."""


@dataclass(frozen=True)
class WorkerColour:
    """A worker's colour as #rrggbb: ``line`` for outlines and arrows, ``fill`` for layers, ``field`` behind them."""

    line: str
    fill: str
    field: str


def worker_colour(worker: int) -> WorkerColour:
    """The colour of a worker; from the 17th on they repeat, and only the heading of its field tells them apart."""
    hue = HUES[worker % len(HUES)]
    share = PALE if worker // len(HUES) % 2 == 0 else DEEP
    return WorkerColour(_mix_grey(hue, 0, 0.25), _mix_grey(hue, 255, share), _mix_grey(hue, 255, 0.94))


def _mix_grey(hue: str, other: int, share: float) -> str:
    """``hue`` with ``share`` of a grey of value ``other`` mixed into it."""
    channels = (int(hue[i : i + 2], 16) for i in (0, 2, 4))
    return "#" + "".join(f"{round(c * (1 - share) + other * share):02x}" for c in channels)
