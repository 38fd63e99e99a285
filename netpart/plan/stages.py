"""The stages of a pipeline, and how often each is replicated: PipeDream's dynamic programme (SOSP 2019, section 3.1).

A stage of r replicas takes for a mini-batch, per replica, 1/r of its work and of the all-reduce of its parameters, and
moves 1/r of the activations, and their gradients, at either end. The pipeline is as fast as its slowest stage:

    A(b, m) = min over cuts a inside b and r < m of max(A(a, m - r), T(a..b, r), 2 out(a) / (B r), 2 out(b) / (B r))

b a down-set of layers, m workers, B bytes a second. T(a..b, r) = (work + 4 (r - 1) / r · parameters / B) / r is
PipeDream's price, taken as it is, so that plans can be compared with its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from netpart.errors import ConfigError
from netpart.plan.downsets import Downsets, downsets
from netpart.plan.knapsacks import Floats
from netpart.plan.net_profile import NetProfile

Indices = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True)
class Stage:
    """Layers of a profile, by their index, and the replicas that share their mini-batch."""

    layers: tuple[int, ...]
    replicas: int


@dataclass(frozen=True)
class Pipeline:
    """Stages from the input to the loss, and the seconds between two mini-batches that leave it."""

    stages: tuple[Stage, ...]
    seconds: float

    @property
    def replicas(self) -> str:
        """``7-1``: the replicas of each stage."""
        return "-".join(str(stage.replicas) for stage in self.stages)

    @property
    def workers(self) -> int:
        """Workers that it takes."""
        return sum(stage.replicas for stage in self.stages)


def best_pipeline(profile: NetProfile, workers: int, bandwidth: float, straight: bool = False) -> Pipeline:
    """The pipeline over at most ``workers`` equal workers with the fastest slowest stage; of equals, the smallest.

    ``straight`` replicates no stage; ``bandwidth`` is in bytes a second.
    """
    if workers < 1 or bandwidth <= 0:
        raise ConfigError("plan", "a worker and a bandwidth above 0", f"{workers} and {bandwidth:g}")
    cuts = downsets(profile)
    search = Search(cuts, workers, bandwidth, straight)
    used = int(np.argmin(search.best[:, -1])) + 1
    return Pipeline(tuple(search.stages(used)), float(search.best[used - 1, -1]))


def data_parallel_seconds(profile: NetProfile, workers: int, bandwidth: float) -> float:
    """What a single stage of ``workers`` replicas takes."""
    parameters = sum(layer.parameters for layer in profile.layers)
    return float(stage_seconds(np.array(profile.work), np.array(parameters), workers, bandwidth))


def stage_seconds(work: Floats, parameters: Floats, replicas: int, bandwidth: float) -> Floats:
    """T: what each replica of a stage takes, of many stages at once."""
    return (work + 4 * (replicas - 1) / replicas * parameters / bandwidth) / replicas


class Search:
    """``best[m - 1, b]`` are the seconds of down-set b on m workers; its last stage starts behind cut ``split`` (-1: at
    the input) and has ``replicas``."""

    def __init__(self, cuts: Downsets, workers: int, bandwidth: float, straight: bool) -> None:
        self.cuts = cuts
        most = 1 if straight else workers
        shape = workers, len(cuts)
        self.best: Floats = np.full(shape, np.inf)
        self.split: Indices = np.full(shape, -1, np.intp)
        self.replicas: Indices = np.zeros(shape, np.intp)
        prices = [self.prices(r, bandwidth) for r in range(1, most + 1)]
        for m in range(1, workers + 1):
            if m <= most:
                self.best[m - 1] = stage_seconds(cuts.work, cuts.parameters, m, bandwidth)
                self.replicas[m - 1] = m
            for r in range(1, min(most, m - 1) + 1):
                self.add_stage(m, r, prices[r - 1])

    def prices(self, replicas: int, bandwidth: float) -> Floats:
        """[a, b]: what the stage between two down-sets takes; infinite where there is none."""
        work = self.cuts.work[None, :] - self.cuts.work[:, None]
        parameters = self.cuts.parameters[None, :] - self.cuts.parameters[:, None]
        moves = 2 * self.cuts.crossing / (bandwidth * replicas)
        found = np.maximum(stage_seconds(work, parameters, replicas, bandwidth), moves[:, None])
        found = np.maximum(found, moves[None, :])
        found[~self.cuts.nested()] = np.inf
        return np.asarray(found)

    def add_stage(self, m: int, r: int, prices: Floats) -> None:
        """Lets the last of m workers' stages have r replicas, where that is faster."""
        with_stage = np.maximum(self.best[m - 1 - r][:, None], prices)
        split = with_stage.argmin(axis=0)
        seconds = with_stage[split, np.arange(len(split))]
        better = seconds < self.best[m - 1]
        self.best[m - 1][better], self.split[m - 1][better] = seconds[better], split[better]
        self.replicas[m - 1][better] = r

    def stages(self, m: int) -> list[Stage]:
        """The stages of the whole net on m workers, read backwards from its end."""
        found: list[Stage] = []
        b = len(self.cuts) - 1
        while b >= 0:
            a, r = int(self.split[m - 1, b]), int(self.replicas[m - 1, b])
            inside = self.cuts.members[b] & (~self.cuts.members[a] if a >= 0 else True)
            found.append(Stage(tuple(int(i) for i in np.flatnonzero(inside)), r))
            b, m = a, m - r
        return found[::-1]
