"""Pipeline stages and the replicas of each, by PipeDream's dynamic programme (SOSP 2019, section 3.1).

A stage of r replicas takes for a mini-batch, per replica, 1/r of its work and of the all-reduce of its parameters, and
sends 1/r of the activations, and their gradients, at either end. The pipeline is as fast as its slowest stage:

    A(a, m) = min over cuts b outside a and r < m of max(T(a..b, r), 2 out(a) / (B r), 2 out(b) / (B r), A(b, m - r))

is the time of the layers after down-set a on m workers, with B bytes per second. T(a..b, r) = (work + 4 (r - 1) / r ·
parameters / B) / r is PipeDream's price, unchanged, so that plans can be compared with its own. Both ends of a boundary
count, also that of the first stage, which PipeDream's optimizer omits.

A stage is not possible if its replicas have no room for what they hold. With m workers from it to the end, ⌈m / r⌉
mini-batches are in flight between its forward and its backward (section 3.3). It stashes that many versions of its
weights W and of its share of the activations, in addition to a gradient and the updater's arrays for each parameter:

    M(a..b, r, m) = ⌈m / r⌉ (W + activations / r) + (1 + states) W

``stage_search`` has the programme, which is that above for workers with one link each, and general for hosts and racks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, isqrt

import numpy as np

from netpart.errors import MemoryRefused
from netpart.plan.price.net_profile import NetProfile
from netpart.plan.stages.downsets import MOST_CUTS, Downsets, find_downsets
from netpart.plan.stages.host_takes import EveryTake, RegularTake
from netpart.plan.stages.link_levels import LinkLevels, flat_levels
from netpart.plan.stages.stage_search import MemoryBudget, StageSearch
from netpart.units import bytes_text, plural_text

MOST_PAIRS = 20_000
"""Every take is tried if there are at most as many pairs of a state and a take."""
MOST_PRICES = 3_000_000_000
"""And if there are at most as many prices of stages: some seconds. Without hosts a net has fewer cuts for more
workers, so that there are not more."""


@dataclass(frozen=True)
class PipelineStage:
    """Layers of a profile, by their index, and the number of replicas that share their mini-batch; ``workers`` compute
    them."""

    layers: tuple[int, ...]
    replicas: int
    workers: tuple[int, ...]


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
    def workers(self) -> tuple[int, ...]:
        """The workers that the pipeline uses."""
        return tuple(sorted(worker for stage in self.stages for worker in stage.workers))


def best_pipeline(
    profile: NetProfile, workers: int, bandwidth: float, room: MemoryBudget | None = None, straight: bool = False
) -> Pipeline:
    """``search_pipeline`` for ``workers`` equal workers with links of ``bandwidth`` bytes per second."""
    return search_pipeline(profile, flat_levels(workers, bandwidth), room, straight)


def search_pipeline(
    profile: NetProfile, levels: LinkLevels, room: MemoryBudget | None = None, straight: bool = False
) -> Pipeline:
    """The pipeline on the workers of ``levels`` with the fastest slowest stage; on ties, with the fewest workers. For
    many workers without hosts and without ``room`` some cuts are not tried.

    ``straight`` replicates no stage. Raises MemoryRefused if every pipeline has a stage that exceeds the ``room`` of a
    worker.
    """
    cuts = _search_cuts(profile, levels, room, straight)
    tried = [
        _search_workers(cuts, some, room or MemoryBudget(), straight) for some in _repeated_levels(levels, len(cuts))
    ]
    found = min(tried, key=lambda pipeline: pipeline.seconds)
    if found.seconds == inf:
        which = f"{plural_text(levels.workers, 'worker')}{' without replicas' if straight else ''}"
        nbytes = room.nbytes if room else inf
        raise MemoryRefused(f"no cut into stages for {which} fits the {bytes_text(nbytes)} of each")
    return found


def _search_cuts(profile: NetProfile, levels: LinkLevels, room: MemoryBudget | None, straight: bool) -> Downsets:
    """The cuts between stages that are tried: as many as there is time for."""
    # With hosts fewer takes are tried instead. With a limit of memory, only their prices tell which cuts have room.
    if room or len(levels.counts) > 1:
        return find_downsets(profile)
    pairs = levels.workers if straight else EveryTake(levels).pairs()
    most = min(MOST_CUTS, isqrt(MOST_PRICES // pairs))
    found = find_downsets(profile, most - 1)
    return found if len(found) <= most else found.few(max(1, most - 2))


def _repeated_levels(levels: LinkLevels, cuts: int) -> Iterator[LinkLevels]:
    """``levels``; if there are too many hosts for every take, also parts of them that all do the same."""
    yield levels
    if len(levels.counts) > 1 and not _takes_every(levels, cuts):
        top = levels.counts[-1]
        for copies in (n for n in range(2, top + 1) if top % n == 0):
            yield replace(levels, counts=(*levels.counts[:-1], top // copies), copies=copies)


def _takes_every(levels: LinkLevels, cuts: int) -> bool:
    """True if every take can be tried."""
    pairs = EveryTake(levels).pairs()
    return len(levels.counts) == 1 or (pairs <= MOST_PAIRS and pairs * cuts**2 <= MOST_PRICES)


def _search_workers(cuts: Downsets, levels: LinkLevels, room: MemoryBudget, straight: bool) -> Pipeline:
    """The best pipeline on ``levels``; without stages if none has room."""
    takes = EveryTake(levels) if _takes_every(levels, len(cuts)) else RegularTake(levels)
    search = StageSearch(cuts, levels, takes, room, straight)
    seconds, free = search.best()
    if seconds == inf:
        return Pipeline((), inf)
    # Idle groups of the last level come first in a state; the pipeline is to begin with worker 0.
    group = levels.workers // levels.counts[-1]
    idle = next(host for host, count in enumerate(free) if count) * levels.counts[0] // group * group
    first = np.arange(levels.hosts) * levels.counts[0] - (idle if levels.hosts > 1 else 0)
    found = []
    for run in search.runs(free):
        inside = cuts.members[run.end] & ~cuts.members[run.start]
        workers = [w + n for w, count in zip(first.tolist(), run.take.tolist(), strict=True) for n in range(count)]
        copied = tuple(levels.workers * copy + w for copy in range(levels.copies) for w in workers)
        found.append(PipelineStage(tuple(np.flatnonzero(inside).tolist()), len(copied), copied))
        first += run.take
    return Pipeline(tuple(found), seconds)


def data_parallel_seconds(profile: NetProfile, levels: LinkLevels) -> float:
    """Seconds of a single stage with a replica on each worker."""
    parameters = sum(layer.parameters for layer in profile.layers)
    sums = levels.sum_seconds(np.full(levels.hosts, levels.counts[0]))
    return (profile.work + sums * parameters) / levels.workers
