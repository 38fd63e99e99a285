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

from dataclasses import dataclass
from math import inf

import numpy as np

from netpart.errors import MemoryRefused
from netpart.plan.price.net_profile import NetProfile
from netpart.plan.search.downsets import MOST_CUTS, Downsets, find_downsets
from netpart.plan.search.link_levels import LinkLevels, WorkerSpan, flat_levels
from netpart.plan.search.stage_search import MemoryBudget, StageRun, StageSearch
from netpart.units import bytes_text, plural_text

MOST_NESTED_CUTS = 500
"""The same as MOST_CUTS if there are levels of links: then the time grows with the third power of the cuts."""


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
    """The pipeline on the workers of ``levels`` with the fastest slowest stage; on ties, with the fewest workers.

    ``straight`` replicates no stage. Raises MemoryRefused if every pipeline has a stage that exceeds the ``room`` of a
    worker.
    """
    room = room or MemoryBudget()
    cuts = find_downsets(profile, MOST_CUTS if len(levels.counts) == 1 else MOST_NESTED_CUTS)
    table = StageSearch(cuts, levels, room, straight).whole_table()
    if (seconds := float(table.seconds[0, 0])) == inf:
        which = f"{plural_text(levels.workers, 'worker')}{' without replicas' if straight else ''}"
        raise MemoryRefused(f"no cut into stages for {which} fits the {bytes_text(room.nbytes)} of each")
    runs = table.stages(0, len(cuts) - 1)
    return Pipeline(tuple(_pipeline_stage(cuts, run, _first_worker(levels, runs)) for run in runs), seconds)


def _first_worker(levels: LinkLevels, runs: list[StageRun]) -> int:
    """The worker of the front, counted from the end, without those hosts that the pipeline does not use."""
    size = levels.sizes[-2]
    return -(-(1 + max(worker for run in runs for worker in run.workers)) // size) * size - 1


def _pipeline_stage(cuts: Downsets, run: StageRun, first: int) -> PipelineStage:
    """The stage of ``run``, with workers counted from the ``first``."""
    inside = cuts.members[run.end] & ~cuts.members[run.start]
    workers = tuple(sorted(first - worker for worker in run.workers))
    return PipelineStage(tuple(int(i) for i in np.flatnonzero(inside)), len(workers), workers)


def data_parallel_seconds(profile: NetProfile, levels: LinkLevels) -> float:
    """Seconds of a single stage with a replica on each worker."""
    parameters = sum(layer.parameters for layer in profile.layers)
    sums = levels.sum_seconds(WorkerSpan(0, levels.workers), len(levels.counts))
    return (profile.work + sums * parameters) / levels.workers
