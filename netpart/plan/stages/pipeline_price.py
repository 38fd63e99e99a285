"""The seconds of a given pipeline, worked out from the workers of each stage alone.

The search for stages uses the same rules (``link_levels``) on spans of workers. This is their plain form, for any sets
of workers: tests compare the two, and ``benchmarks/pipedream.py`` prices the plans of another optimizer with it.
"""

from __future__ import annotations

from collections import Counter

from netpart.plan.price.net_profile import NetProfile
from netpart.plan.stages.link_levels import LinkLevels
from netpart.plan.stages.pipeline_stages import Pipeline, PipelineStage


def price_pipeline(profile: NetProfile, pipeline: Pipeline, levels: LinkLevels) -> float:
    """Seconds between two mini-batches: those of the slowest stage or boundary between two stages."""
    stages = [_stage_seconds(profile, stage, levels) for stage in pipeline.stages]
    return max(stages + [_boundary_seconds(profile, pipeline, k, levels) for k in range(1, len(stages))])


def _stage_seconds(profile: NetProfile, stage: PipelineStage, levels: LinkLevels) -> float:
    """Seconds of each mini-batch in a stage: its work, and the sums of its gradients."""
    work = sum(profile.layers[i].work for i in stage.layers)
    parameters = sum(profile.layers[i].parameters for i in stage.layers)
    members, sums = set(stage.workers), 0.0
    for count, bandwidth in zip(levels.counts, levels.bandwidths, strict=True):
        groups = Counter(member // count for member in members)
        most = max(groups.values())
        sums += 4 * (most - 1) / most / bandwidth
        members = set(groups)
    return (work + sums * parameters) / len(stage.workers)


def _boundary_seconds(profile: NetProfile, pipeline: Pipeline, k: int, levels: LinkLevels) -> float:
    """Seconds of each mini-batch through the busiest port between stage k and those before it."""
    stage_of = {layer: n for n, stage in enumerate(pipeline.stages) for layer in stage.layers}
    crossing = {source for source, reader in profile.edges if stage_of[source] < k <= stage_of[reader]}
    moved = 2 * sum(profile.layers[i].activation for i in crossing)
    before, after = pipeline.stages[k - 1].workers, pipeline.stages[k].workers
    found, size = 0.0, 1
    for count, bandwidth in zip(levels.counts, levels.bandwidths, strict=True):
        for group in {worker // size for worker in before + after}:
            sent, received = (sum(w // size == group for w in some) / len(some) for some in (before, after))
            found = max(found, moved * abs(sent - received) / bandwidth)
        size *= count
    return found
