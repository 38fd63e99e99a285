"""The stages of a pipeline, and how often each is replicated: PipeDream's dynamic programme (SOSP 2019, section 3.1).

A stage of r replicas takes for a mini-batch, per replica, 1/r of its work and of the all-reduce of its parameters, and
moves 1/r of the activations, and their gradients, at either end. The pipeline is as fast as its slowest stage:

    A(a, m) = min over cuts b outside a and r < m of max(T(a..b, r), 2 out(a) / (B r), 2 out(b) / (B r), A(b, m - r))

for what lies behind down-set a on m workers, B bytes a second. T(a..b, r) = (work + 4 (r - 1) / r · parameters / B) / r
is PipeDream's price, taken as it is, so that plans can be compared with its own.

A stage whose replicas have no room for what they hold is none. With m workers from it to the end, ⌈m / r⌉ mini-batches
are on their way between its forward and its backward (section 3.3): it stashes that many versions of its weights W and
of its share of the activations, besides a gradient and the arrays that the updater keeps for each parameter:

    M(a..b, r, m) = ⌈m / r⌉ (W + activations / r) + (1 + states) W

The programme goes from the end of the net to its input, so m is known where a stage is priced.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from netpart.errors import ConfigError, MemoryRefused
from netpart.plan.price.net_profile import Floats, NetProfile
from netpart.plan.search.downsets import Downsets, find_downsets
from netpart.units import bytes_text, plural_text

Indices = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True)
class PipelineStage:
    """Layers of a profile, by their index, and the replicas that share their mini-batch."""

    layers: tuple[int, ...]
    replicas: int


@dataclass(frozen=True)
class Pipeline:
    """Stages from the input to the loss, and the seconds between two mini-batches that leave it."""

    stages: tuple[PipelineStage, ...]
    seconds: float

    @property
    def replicas(self) -> str:
        """``7-1``: the replicas of each stage."""
        return "-".join(str(stage.replicas) for stage in self.stages)

    @property
    def workers(self) -> int:
        """Workers that it takes."""
        return sum(stage.replicas for stage in self.stages)


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes that a worker may take, and arrays that the updater keeps for each parameter."""

    nbytes: float = inf
    states: int = 1


def best_pipeline(
    profile: NetProfile, workers: int, bandwidth: float, room: MemoryBudget | None = None, straight: bool = False
) -> Pipeline:
    """The pipeline over at most ``workers`` equal workers with the fastest slowest stage; of equals, the smallest.

    ``straight`` replicates no stage; ``bandwidth`` is in bytes a second. Raises MemoryRefused if each has a stage that
    exceeds the ``room`` of a worker.
    """
    if workers < 1 or bandwidth <= 0:
        raise ConfigError("plan", "a worker and a bandwidth above 0", f"{workers} and {bandwidth:g}")
    room = room or MemoryBudget()
    search = StageSearch(find_downsets(profile), workers, bandwidth, straight, room)
    used = int(np.argmin(search.best[:, 0])) + 1
    if search.best[used - 1, 0] == inf:
        which = f"{plural_text(workers, 'worker')}{' without replicas' if straight else ''}"
        raise MemoryRefused(f"no cut into stages for {which} fits the {bytes_text(room.nbytes)} of each")
    return Pipeline(tuple(search.stages(used)), float(search.best[used - 1, 0]))


def data_parallel_seconds(profile: NetProfile, workers: int, bandwidth: float) -> float:
    """What a single stage of ``workers`` replicas takes."""
    parameters = sum(layer.parameters for layer in profile.layers)
    return float(_stage_seconds(np.array(profile.work), np.array(parameters), workers, bandwidth))


def _stage_seconds(work: Floats, parameters: Floats, replicas: int, bandwidth: float) -> Floats:
    """T: what each replica of a stage takes, of many stages at once."""
    return (work + 4 * (replicas - 1) / replicas * parameters / bandwidth) / replicas


def stage_bytes(parameters: Any, activation: Any, replicas: int, workers: int, states: int) -> Any:
    """M: what each replica of a stage, or of each of many, holds with ``workers`` workers from it to the end."""
    versions = -(-workers // replicas)
    return versions * (parameters + activation / replicas) + (1 + states) * parameters


class StageSearch:
    """``best[m - 1, a]`` are the seconds of what lies behind down-set a on m workers; its first stage ends at cut
    ``end``, of equals that which least crosses, and has ``replicas``."""

    def __init__(self, cuts: Downsets, workers: int, bandwidth: float, straight: bool, room: MemoryBudget) -> None:
        self.cuts, self.room = cuts, room
        most = 1 if straight else workers
        shape = workers, len(cuts)
        self.best: Floats = np.full(shape, np.inf)
        self.end: Indices = np.full(shape, -1, np.intp)
        self.replicas: Indices = np.zeros(shape, np.intp)
        self.work, self.parameters, self.activation = map(
            _pairwise_difference, (cuts.work, cuts.parameters, cuts.activation)
        )
        prices = [self.prices(r, bandwidth) for r in range(1, most + 1)]
        for m in range(1, workers + 1):
            for r in range(min(most, m), 0, -1):
                self.add_stage(m, r, prices[r - 1])

    def prices(self, replicas: int, bandwidth: float) -> Floats:
        """[a, b]: what the stage between two down-sets takes; infinite where there is none."""
        moves = 2 * self.cuts.crossing / (bandwidth * replicas)
        found = np.maximum(_stage_seconds(self.work, self.parameters, replicas, bandwidth), moves[:, None])
        found = np.maximum(found, moves[None, :])
        found[~self.cuts.nested()] = np.inf
        return np.asarray(found)

    def add_stage(self, m: int, r: int, prices: Floats) -> None:
        """Lets the first stage of m workers have r replicas, where that is faster."""
        behind = self.best[m - r - 1] if r < m else np.where(np.arange(len(self.cuts)) == len(self.cuts) - 1, 0, np.inf)
        with_stage = np.maximum(prices, behind[None, :])
        if self.room.nbytes < inf:
            held = stage_bytes(self.parameters, self.activation, r, m, self.room.states)
            with_stage[held > self.room.nbytes] = np.inf
        seconds = with_stage.min(axis=1)
        end = np.where(with_stage == seconds[:, None], self.cuts.crossing[None, :], np.inf).argmin(axis=1)
        better = seconds < self.best[m - 1]
        self.best[m - 1][better] = seconds[better]
        self.end[m - 1][better] = end[better]
        self.replicas[m - 1][better] = r

    def stages(self, m: int) -> list[PipelineStage]:
        """The stages of the whole net on m workers."""
        found: list[PipelineStage] = []
        a = 0
        while m:
            b = int(self.end[m - 1, a])
            r = int(self.replicas[m - 1, a])
            inside = self.cuts.members[b] & ~self.cuts.members[a]
            found.append(PipelineStage(tuple(int(i) for i in np.flatnonzero(inside)), r))
            a, m = b, m - r
        return found


def _pairwise_difference(sums: Floats) -> Floats:
    """[a, b]: what down-set b has more than a."""
    return np.asarray(sums[None, :] - sums[:, None])
