"""Figures that follow from the results of benchmarks.hybrid: seconds of an epoch, speed-ups, equation 13, errors of the
simulator.

Points are steps of a net, one for each way and number of workers. ``how`` is MEASURED, SIMULATED, or BOUND: the
computing of a peer alone, without a message, which the peer cannot beat. Trainings are separate: epochs to an accuracy
depend on the rows that are normalised together, not on the number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NETPART, PYTORCH = "netpart", "PyTorch"
MEASURED = "measured"
SIMULATED = "simulated"
BOUND = "bound"
MARKS = {MEASURED: "", SIMULATED: "~ ", BOUND: "≥ "}
"""Marks before a figure that was not measured."""
ALONE = {
    "hybrid": "data", "hybrid-local": "data", "data": "data", "data-local": "data", "ddp": "ddp", "dp": "ddp",
}  # fmt: skip
"""By way: the way whose single worker is the baseline of its speed-up."""
PEERS = {"ddp": "PyTorch DDP", "dp": "PyTorch DataParallel"}
REACH = {"ad": 0.8, "mci": 0.7}
"""The accuracy of equation 13, by task: one that every net of netpart reaches on one worker."""
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """Seconds of a step. ``simulated``: those of the simulator if ``seconds`` were measured. ``plan``: the allocation
    by GABRA. ``counts``: the figures of benchmarks.counts. ``load``: cores that other processes used meanwhile (None:
    not recorded). ``date``: the day."""

    net: str
    way: str
    workers: int
    seconds: float
    how: str
    simulated: float | None = None
    plan: dict[str, Any] | None = None
    counts: dict[str, Any] | None = None
    load: float | None = None
    date: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """The key of a point."""
        return self.net, self.way, self.workers

    @property
    def error(self) -> float | None:
        """The relative error of the simulated step: positive if it is longer than the measured one."""
        return None if self.simulated is None else self.simulated / self.seconds - 1


@dataclass(frozen=True)
class Trained:
    """The result of a training in which ``rows`` rows are normalised together: the fraction of test scans classified
    correctly (0 to 1) after each epoch. It is the same for any number of workers, to rounding."""

    net: str
    task: str
    who: str
    rows: int
    accuracies: list[float]

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The key of a training."""
        return self.net, self.task, self.who, self.rows

    def epochs_to(self, goal: float) -> int | None:
        """Epochs until tests reach the accuracy ``goal`` and keep it; None if the last one has not reached it.

        A single high accuracy while the learning rate is high is not counted.
        """
        below = [epoch for epoch, found in enumerate(self.accuracies, 1) if found < goal]
        last = max(below, default=0)
        return last + 1 if last < len(self.accuracies) else None


@dataclass(frozen=True)
class Figures:
    """The content of benchmarks/results/hybrid.json."""

    found: Json

    @property
    def points(self) -> list[Point]:
        """All of them."""
        return [Point(**point) for point in self.found["points"]]

    def point(self, net: str, way: str, workers: int) -> Point | None:
        """The point of one step; None for a step without a measurement. All ways are the same on one worker."""
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

    @property
    def trainings(self) -> list[Trained]:
        """All of them."""
        return [Trained(**trained) for trained in self.found["trainings"]]

    def trained(self, net: str, task: str, who: str, rows: int | None) -> Trained | None:
        """A training; None if there was none."""
        return next((t for t in self.trainings if t.key == (net, task, who, rows)), None)

    def rows(self, net: str, way: str, workers: int) -> int | None:
        """Rows of a mini-batch that are normalised together; None if the shares of workers differ."""
        batch, pieces = int(self.found["settings"]["batch"]), int(self.found["settings"]["micro_batches"])
        point = self.point(net, way, workers)
        group = max(map(len, point.plan["groups"])) if point and point.plan else workers
        shares = {"data": 1, "hybrid": pieces, "hybrid-local": pieces * group}.get(way, workers) if workers > 1 else 1
        return None if batch % shares else batch // shares

    def of_way(self, net: str, task: str, way: str, workers: int) -> Trained | None:
        """The training that computes what ``way`` does."""
        return self.trained(net, task, PYTORCH if way in PEERS else NETPART, self.rows(net, way, workers))

    def reached(self, net: str, task: str, way: str, workers: int) -> bool:
        """True if the training that computes what ``way`` does ends with the accuracy of equation 13."""
        trained = self.of_way(net, task, way, workers)
        return trained is not None and trained.epochs_to(REACH[task]) is not None

    def epochs(self, net: str, task: str, way: str, workers: int) -> int | None:
        """E of equation 13, or where that was not ``reached`` all epochs of the training; None without a training."""
        trained = self.of_way(net, task, way, workers)
        return None if trained is None else trained.epochs_to(REACH[task]) or len(trained.accuracies)

    def total(self, net: str, task: str, way: str, workers: int) -> float | None:
        """T · TS · E: seconds of training to the accuracy of equation 13, or more where that was not ``reached``."""
        epoch, epochs = self.epoch(net, way, workers), self.epochs(net, task, way, workers)
        return None if epoch is None or epochs is None else epoch * epochs

    def equation_13(self, net: str, task: str, way: str, workers: int) -> float | None:
        """T1/Tm · TS1/TSm · E1/Em. All mini-batches have the same size, so TS1 = TSm. An upper bound if ``workers``
        have not ``reached`` the accuracy."""
        one, many = self.total(net, task, way, 1), self.total(net, task, way, workers)
        return None if one is None or many is None else one / many

    def errors(self) -> list[Point]:
        """The points that were both simulated and measured."""
        return [point for point in self.points if point.simulated is not None]

    def workers(self, net: str) -> list[int]:
        """The numbers of workers with points of ``net``."""
        return sorted({point.workers for point in self.points if point.net == net})


def worst(points: Sequence[Point]) -> float:
    """The largest error of the simulator."""
    return max((abs(point.error) for point in points if point.error is not None), default=0.0)
