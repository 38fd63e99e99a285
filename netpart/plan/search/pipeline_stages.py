"""Pipeline stages and the replicas of each, by PipeDream's dynamic programme (SOSP 2019, section 3.1).

A stage of r replicas takes for a mini-batch, per replica, 1/r of its work and of the all-reduce of its parameters, and
sends 1/r of the activations, and their gradients, at either end. The pipeline is as fast as its slowest stage:

    A(a, m) = min over cuts b outside a and r < m of max(T(a..b, r), 2 out(a) / (B r), 2 out(b) / (B r), A(b, m - r))

is the time of the layers after down-set a on m workers, with B bytes per second. T(a..b, r) = (work + 4 (r - 1) / r ·
parameters / B) / r is PipeDream's price, unchanged, so that plans can be compared with its own.

A stage is not possible if its replicas have no room for what they hold. With m workers from it to the end, ⌈m / r⌉
mini-batches are in flight between its forward and its backward (section 3.3). It stashes that many versions of its
weights W and of its share of the activations, in addition to a gradient and the updater's arrays for each parameter:

    M(a..b, r, m) = ⌈m / r⌉ (W + activations / r) + (1 + states) W

The programme runs from the end of the net to its input, so m is known when a stage is priced.
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
    """Layers of a profile, by their index, and the number of replicas that share their mini-batch."""

    layers: tuple[int, ...]
    replicas: int


@dataclass(frozen=True)
class Pipeline:
    """Stages from the input to the loss, and the seconds between two mini-batches that leave the pipeline."""

    stages: tuple[PipelineStage, ...]
    seconds: float

    @property
    def replicas(self) -> str:
        """The replicas of each stage, as in ``7-1``."""
        return "-".join(str(stage.replicas) for stage in self.stages)

    @property
    def workers(self) -> int:
        """Number of workers that the pipeline uses."""
        return sum(stage.replicas for stage in self.stages)


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes that a worker may use, and arrays that the updater keeps for each parameter."""

    nbytes: float = inf
    states: int = 1


def best_pipeline(
    profile: NetProfile, workers: int, bandwidth: float, room: MemoryBudget | None = None, straight: bool = False
) -> Pipeline:
    """The pipeline on at most ``workers`` equal workers with the fastest slowest stage; on ties, with the fewest
    workers.

    ``straight`` replicates no stage; ``bandwidth`` is in bytes per second. Raises MemoryRefused if every pipeline has a
    stage that exceeds the ``room`` of a worker.
    """
    if workers < 1 or bandwidth <= 0:
        raise ConfigError("plan", "a worker and a bandwidth above 0", f"{workers} and {bandwidth:g}", "pass others")
    room = room or MemoryBudget()
    search = StageSearch(find_downsets(profile), workers, bandwidth, straight, room)
    # ``argmin`` returns the first minimum, which has the fewest workers.
    used = int(np.argmin(search.best[:, 0])) + 1
    if search.best[used - 1, 0] == inf:
        which = f"{plural_text(workers, 'worker')}{' without replicas' if straight else ''}"
        raise MemoryRefused(f"no cut into stages for {which} fits the {bytes_text(room.nbytes)} of each")
    return Pipeline(tuple(search.stages(used)), float(search.best[used - 1, 0]))


def data_parallel_seconds(profile: NetProfile, workers: int, bandwidth: float) -> float:
    """Seconds of a single stage of ``workers`` replicas."""
    parameters = sum(layer.parameters for layer in profile.layers)
    return float(_stage_seconds(np.array(profile.work), np.array(parameters), workers, bandwidth))


def _stage_seconds(work: Floats, parameters: Floats, replicas: int, bandwidth: float) -> Floats:
    """T: seconds of each replica of a stage, for an array of stages."""
    return (work + 4 * (replicas - 1) / replicas * parameters / bandwidth) / replicas


def stage_bytes(parameters: Any, activation: Any, replicas: int, workers: int, states: int) -> Any:
    """M: bytes that each replica of a stage holds, with ``workers`` workers from it to the end; works on arrays of
    stages."""
    versions = -(-workers // replicas)
    return versions * (parameters + activation / replicas) + (1 + states) * parameters


class StageSearch:
    """Table of the dynamic programme.

    ``best[m - 1, a]`` are the seconds of the layers after down-set a on m workers. Their first stage ends at cut
    ``end``, on ties that with the least ``crossing``, and has ``replicas``.
    """

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
            # Only a strictly faster stage replaces another one, so of equally fast ones that with the most replicas
            # stays.
            for r in range(min(most, m), 0, -1):
                self.add_stage(m, r, prices[r - 1])

    def prices(self, replicas: int, bandwidth: float) -> Floats:
        """[a, b]: seconds of the stage between two down-sets; infinite if a is not a proper subset of b."""
        moves = 2 * self.cuts.crossing / (bandwidth * replicas)
        found = np.maximum(_stage_seconds(self.work, self.parameters, replicas, bandwidth), moves[:, None])
        found = np.maximum(found, moves[None, :])
        found[~self.cuts.nested()] = np.inf
        return np.asarray(found)

    def add_stage(self, m: int, r: int, prices: Floats) -> None:
        """Use r replicas for the first stage of m workers, for each down-set where that is faster."""
        # With no workers left, only the down-set of all layers is complete; it is the last one.
        after = self.best[m - r - 1] if r < m else np.where(np.arange(len(self.cuts)) == len(self.cuts) - 1, 0, np.inf)
        with_stage = np.maximum(prices, after[None, :])
        if self.room.nbytes < inf:
            held = stage_bytes(self.parameters, self.activation, r, m, self.room.states)
            with_stage[held > self.room.nbytes] = np.inf
        seconds = with_stage.min(axis=1)
        # On ties the cut with the fewest bytes across it is taken.
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
    """[a, b]: the sum over down-set b minus that over a."""
    return np.asarray(sums[None, :] - sums[:, None])
