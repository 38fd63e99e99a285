"""What follows from what benchmarks.hybrid found: seconds of an epoch, speed-ups, equation 13, errors of the simulator.

Points are steps of a net, one for each way and number of workers; ``how`` says whether they were MEASURED, SIMULATED,
or are a BOUND that no such peer can beat: its computing alone, without a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MEASURED, SIMULATED, BOUND = "measured", "simulated", "bound"
MARKS = {MEASURED: "", SIMULATED: "~ ", BOUND: "≥ "}
"""What stands before a figure that was not measured."""
ALONE = {
    "hybrid": "data", "hybrid-local": "data", "data": "data", "data-local": "data", "ddp": "ddp", "dp": "ddp",
}  # fmt: skip
"""The way whose single worker is the best that a way can be compared with."""
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """Seconds of a step. ``simulated`` are those that the simulator tells where others were measured; ``plan`` says
    what GABRA allocated."""

    net: str
    way: str
    workers: int
    seconds: float
    how: str
    simulated: float | None = None
    plan: dict[str, Any] | None = None

    @property
    def error(self) -> float | None:
        """By how much the simulated step is longer than the measured one, as a share of it."""
        return None if self.simulated is None else self.simulated / self.seconds - 1


@dataclass(frozen=True)
class Figures:
    """The content of benchmarks/results/hybrid.json."""

    found: Json

    @property
    def points(self) -> list[Point]:
        """All of them."""
        return [Point(**point) for point in self.found["points"]]

    def point(self, net: str, way: str, workers: int) -> Point | None:
        """That of one step; None if there is none. All ways are the same on one worker."""
        way = ALONE[way] if workers == 1 else way
        return next((p for p in self.points if (p.net, p.way, p.workers) == (net, way, workers)), None)

    def epoch(self, net: str, way: str, workers: int) -> float | None:
        """Seconds of an epoch of training."""
        point = self.point(net, way, workers)
        return None if point is None else point.seconds * float(self.found["settings"]["steps_per_epoch"])

    def speedup(self, net: str, way: str, workers: int) -> float | None:
        """T1 / Tm of equation 13, on steps."""
        one, many = self.point(net, way, 1), self.point(net, way, workers)
        return None if one is None or many is None else one.seconds / many.seconds

    def trained(self, net: str, task: str, who: str, micro_batches: int = 1) -> Json | None:
        """A training; None if there was none."""
        wanted = net, task, who, micro_batches
        return next(
            (t for t in self.found["accuracy"] if (t["net"], t["task"], t["who"], t["micro_batches"]) == wanted), None
        )

    def of_way(self, net: str, task: str, way: str, workers: int) -> Json | None:
        """The training of netpart that computes what ``way`` does: micro-batches normalise other rows."""
        pieces = int(self.found["settings"]["micro_batches"]) if way == "hybrid" and workers > 1 else 1
        return self.trained(net, task, "netpart", pieces)

    def equation_13(self, net: str, task: str, way: str, workers: int) -> float | None:
        """T1/Tm · TS1/TSm · E1/Em: all mini-batches are as large, so the steps of an epoch are as many, TS1 = TSm."""
        speedup, one, many = (
            self.speedup(net, way, workers), self.of_way(net, task, way, 1), self.of_way(net, task, way, workers),
        )  # fmt: skip
        if speedup is None or one is None or many is None:
            return None
        epochs = one["epochs_to_reach"], many["epochs_to_reach"]
        return None if None in epochs else speedup * epochs[0] / epochs[1]

    def errors(self) -> list[Point]:
        """The points that were both simulated and measured."""
        return [point for point in self.points if point.simulated is not None]

    def workers(self, net: str) -> list[int]:
        """The numbers of workers that there are points of."""
        return sorted({point.workers for point in self.points if point.net == net})


def worst(points: Sequence[Point]) -> float:
    """The largest error of the simulator."""
    return max((abs(point.error) for point in points if point.error is not None), default=0.0)
