"""Plans from a profile alone, without a job: data parallelism, straight pipelines, PipeDream's stages.

Each plan is made for the devices that have enough memory for it. If the smallest have not, the plan is made for all
others, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import inf

from netpart.errors import MemoryRefused
from netpart.plan.price.devices import Devices
from netpart.plan.price.net_profile import NetProfile
from netpart.plan.stages.link_levels import LinkLevels, flat_levels
from netpart.plan.stages.pipeline_stages import Pipeline, PipelineStage, data_parallel_seconds, search_pipeline
from netpart.plan.stages.stage_search import MemoryBudget
from netpart.units import bytes_text

PipelineMaker = Callable[[NetProfile, LinkLevels, MemoryBudget], Pipeline]
"""Makes a plan for equal workers, by their levels of links, and the room of a worker."""


Workers = tuple[int, ...]

NO_PIPELINE = Pipeline((), inf)
"""Placeholder for a missing plan."""


@dataclass(frozen=True)
class PipelineRow:
    """One plan: seconds between mini-batches, the gap to perfect balance, and the bytes sent for each mini-batch.

    ``workers`` are those that the plan uses, ``memory`` the bytes of each. ``refused`` is the reason if no plan was
    found.
    """

    name: str
    pipeline: Pipeline = NO_PIPELINE
    gap: float = inf
    moved: float = 0.0
    memory: tuple[float, ...] = ()
    workers: tuple[int, ...] = ()
    refused: str = ""

    @property
    def seconds(self) -> float:
        """Seconds for each mini-batch."""
        return self.pipeline.seconds


def plan_pipelines(
    profile: NetProfile, devices: Devices, states: int = 1, levels: LinkLevels | None = None
) -> list[PipelineRow]:
    """Every plan for ``profile``, whose figures are those of the fastest device, sorted by time. With ``levels`` the
    devices are equal, and their links are those of the levels.

    On ties the simplest plan comes first; plans that fit no device come last. All devices of a plan count as the
    slowest of them, with the room of the smallest: replicas of a stage, and stages, run at its pace. The updater keeps
    ``states`` arrays for each parameter.
    """
    some = list(_device_subsets(devices))
    single: list[Workers] = [(w,) for w in sorted(some[0], key=lambda w: devices.devices[w].memory)]
    plans: dict[str, tuple[PipelineMaker, list[Workers]]] = {
        "one worker": (_on_one_worker, single),
        "data": (_data_parallel, some),
        "straight stages": (partial(search_pipeline, straight=True), some),
        "stages": (search_pipeline, some),
    }
    rows = [_fastest_row(name, made, profile, devices, ways, states, levels) for name, (made, ways) in plans.items()]
    return sorted(rows, key=lambda row: row.seconds)


def _device_subsets(devices: Devices) -> Iterator[Workers]:
    """All devices, then all except those with the least memory, and so on."""
    for least in sorted({device.memory for device in devices.devices}):
        yield tuple(w for w, device in enumerate(devices.devices) if device.memory >= least)


def _fastest_row(
    name: str, made: PipelineMaker, profile: NetProfile, devices: Devices, ways: list[Workers], states: int,
    levels: LinkLevels | None,
) -> PipelineRow:  # fmt: skip
    """The fastest plan that ``made`` makes for one of the subsets in ``ways``, on ties the first.

    If no subset has room, the refusal for the last subset, which has the most room.
    """
    rows = [_pipeline_row(name, made, profile, devices, workers, states, levels) for workers in ways]
    return min((row for row in rows if not row.refused), key=lambda row: row.seconds, default=rows[-1])


def _pipeline_row(
    name: str, made: PipelineMaker, profile: NetProfile, devices: Devices, workers: Workers, states: int,
    levels: LinkLevels | None,
) -> PipelineRow:  # fmt: skip
    """The row of one plan, with the seconds of the slowest device."""
    fast = max(devices.speeds)
    least = min(devices.devices[w].memory for w in workers)
    slowest = min(devices.speeds[w] for w in workers) / fast
    bound = profile.work * fast / sum(devices.speeds)
    try:
        # The profile is in seconds of the fastest device. Scaling the bandwidth instead of the work keeps their ratio,
        # and the result is scaled back below.
        links = levels or flat_levels(len(workers), devices.between(workers).bandwidth / slowest)
        found = made(profile, links, MemoryBudget(least, states))
    except MemoryRefused as error:
        return PipelineRow(name, refused=str(error))
    timed = Pipeline(found.stages, found.seconds / slowest)
    held = pipeline_memory(profile, found, states)
    gap = timed.seconds / bound - 1
    used = tuple(workers[worker] for worker in found.workers)
    return PipelineRow(name, timed, gap, _pipeline_bytes(profile, found), held, used)


def _on_one_worker(profile: NetProfile, levels: LinkLevels, room: MemoryBudget) -> Pipeline:
    """All layers on one worker."""
    return _one_stage(profile, 1, profile.work, room)


def _data_parallel(profile: NetProfile, levels: LinkLevels, room: MemoryBudget) -> Pipeline:
    """One stage with all workers as replicas."""
    return _one_stage(profile, levels.workers, data_parallel_seconds(profile, levels), room)


def _one_stage(profile: NetProfile, replicas: int, seconds: float, room: MemoryBudget) -> Pipeline:
    """A single stage; raises MemoryRefused if its replicas exceed their room."""
    stage = PipelineStage(tuple(range(len(profile.layers))), replicas, tuple(range(replicas)))
    found = Pipeline((stage,), seconds)
    if (needed := max(pipeline_memory(profile, found, room.states))) > room.nbytes:
        raise MemoryRefused(f"needs {bytes_text(needed)} on each worker, which has {bytes_text(room.nbytes)}")
    return found


def _pipeline_bytes(profile: NetProfile, pipeline: Pipeline) -> float:
    """Bytes for each mini-batch: outputs that another stage reads, their gradients, and the rings of all-reduces."""
    stage_of = {layer: k for k, stage in enumerate(pipeline.stages) for layer in stage.layers}
    # A set: an output is sent to a stage once, however many of its layers read it.
    crossing = {(s, stage_of[t]) for s, t in profile.edges if stage_of[s] != stage_of[t]}
    sums = (2 * (stage.replicas - 1) * _stage_parameters(profile, stage) for stage in pipeline.stages)
    return 2 * sum(profile.layers[source].activation for source, _ in crossing) + sum(sums)


def _stage_parameters(profile: NetProfile, stage: PipelineStage) -> float:
    """Bytes of the parameters of a stage."""
    return sum(profile.layers[i].parameters for i in stage.layers)


def pipeline_memory(profile: NetProfile, pipeline: Pipeline, states: int = 1) -> tuple[float, ...]:
    """Bytes of each worker that the pipeline uses, by the formula M of ``netpart.plan.stages.pipeline_stages``."""
    found: dict[int, float] = {}
    for k, stage in enumerate(pipeline.stages):
        workers = sum(later.replicas for later in pipeline.stages[k:])
        activations = sum(profile.layers[i].activation for i in stage.layers)
        parameters = _stage_parameters(profile, stage)
        need = MemoryBudget(inf, states).needed(parameters, activations, stage.replicas, workers)
        found |= dict.fromkeys(stage.workers, need)
    return tuple(found[worker] for worker in sorted(found))
