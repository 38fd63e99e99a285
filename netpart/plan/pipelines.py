"""What can be planned from a profile alone, without a job: data parallelism, straight pipelines, PipeDream's stages."""

from __future__ import annotations

from dataclasses import dataclass

from netpart.plan.devices import Devices
from netpart.plan.net_profile import NetProfile
from netpart.plan.stages import Pipeline, Stage, best_pipeline, data_parallel_seconds


@dataclass(frozen=True)
class PipelineRow:
    """A plan: seconds between mini-batches, the gap to perfect balance, bytes moved for each, bytes of each worker."""

    name: str
    pipeline: Pipeline
    gap: float
    moved: float
    memory: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """Seconds for each mini-batch."""
        return self.pipeline.seconds


def pipelines(profile: NetProfile, devices: Devices) -> list[PipelineRow]:
    """Every plan for ``profile``, which is that of the fastest device, the fastest plan first; of equals, the simplest.

    All devices are taken for the slowest: replicas of a stage, and stages, go at its pace.
    """
    workers, slowest = len(devices), min(devices.relative().speeds)
    bandwidth = devices.between(range(workers)).bandwidth / slowest
    everything = tuple(range(len(profile.layers)))
    found = {
        "one worker": Pipeline((Stage(everything, 1),), profile.work * slowest),
        "data": Pipeline((Stage(everything, workers),), data_parallel_seconds(profile, workers, bandwidth)),
        "straight stages": best_pipeline(profile, workers, bandwidth, straight=True),
        "stages": best_pipeline(profile, workers, bandwidth),
    }
    bound = profile.work / sum(devices.relative().speeds)
    rows = [row(name, profile, pipeline, slowest, bound) for name, pipeline in found.items()]
    return sorted(rows, key=lambda r: r.seconds)


def row(name: str, profile: NetProfile, pipeline: Pipeline, slowest: float, bound: float) -> PipelineRow:
    """One plan in figures; its seconds are those of the slowest device."""
    timed = Pipeline(pipeline.stages, pipeline.seconds / slowest)
    return PipelineRow(name, timed, timed.seconds / bound - 1, moved(profile, pipeline), memory(profile, pipeline))


def moved(profile: NetProfile, pipeline: Pipeline) -> float:
    """Bytes for each mini-batch: outputs that another stage reads with their gradients, and rings of all-reduces."""
    stage_of = {layer: k for k, stage in enumerate(pipeline.stages) for layer in stage.layers}
    crossing = {(s, stage_of[t]) for s, t in profile.edges if stage_of[s] != stage_of[t]}
    sums = (2 * (stage.replicas - 1) * parameters(profile, stage) for stage in pipeline.stages)
    return 2 * sum(profile.layers[source].activation for source, _ in crossing) + sum(sums)


def parameters(profile: NetProfile, stage: Stage) -> float:
    """Bytes of the parameters of a stage."""
    return sum(profile.layers[i].parameters for i in stage.layers)


def memory(profile: NetProfile, pipeline: Pipeline) -> tuple[float, ...]:
    """Bytes of each worker: as many versions of its weights, and of its share of the activations, as mini-batches are
    on their way from its stage to the end, and a gradient."""
    found: list[float] = []
    for k, stage in enumerate(pipeline.stages):
        behind = sum(later.replicas for later in pipeline.stages[k:])
        versions = -(-behind // stage.replicas)
        activations = sum(profile.layers[i].activation for i in stage.layers)
        need = versions * (parameters(profile, stage) + activations / stage.replicas) + parameters(profile, stage)
        found += [need] * stage.replicas
    return tuple(found)
