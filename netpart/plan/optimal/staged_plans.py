"""Staged plans: pipelines of stages that are cut in the best way inside, in stages × tensor × data parallelism.

For each number of micro-batches the stages are searched with the price of their best insides (``stage_insides``). Then
the layers of all stages are searched jointly, each on the workers of its stage, with what moves between the stages. If
stages are even, a step of M micro-batches through K of them takes as long as K + M - 1 passes of one stage:

    K / (K + M - 1) · step = F + max(B, S / (K + M - 1)) + U / (K + M - 1)

with the forward F and the backward B of a micro-batch through all stages, and all sums S and updates U of a step, which
different stages do at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log2
from time import process_time

import numpy as np

from netpart.plan.optimal.cut_choices import CutChoice
from netpart.plan.optimal.layer_tables import WorkerGroup
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.search_plans import LEAST, PlanSearch
from netpart.plan.optimal.stage_insides import StageInsides
from netpart.plan.optimal.tied_stages import TiedStages
from netpart.plan.price.layer_loads import profile_net
from netpart.plan.price.net_profile import Floats, NetProfile
from netpart.plan.stages.device_levels import device_levels, stage_runs
from netpart.plan.stages.device_stages import DeviceStage, search_device_stages
from netpart.plan.stages.downsets import Downsets, find_downsets
from netpart.plan.stages.priced_stages import StageProblem, search_priced_stages
from netpart.proto.job_pb2 import JobProto

MOST_CUTS = 32
"""Places at which a net may be cut into stages."""
STAGE_SHARE = 0.5
"""The share of the time of a number of micro-batches after which its stages stay as they are."""
COUNT_SHARE = 0.4
"""The share of the time that is left for each number of micro-batches."""


@dataclass(frozen=True)
class StagedPlan:
    """A pipeline: its predicted seconds, its micro-batches, the workers of each stage and the choice of each layer."""

    seconds: float
    micro_batches: int
    stages: tuple[tuple[int, ...], ...]
    choices: Mapping[str, CutChoice]


NO_PLAN = StagedPlan(inf, 0, (), {})
"""Stands for a pipeline that was not found."""


def search_staged_plans(priced: PricedJob, counts: Sequence[int], limit: float = 10.0) -> list[StagedPlan]:
    """The fastest pipeline for some of the numbers of micro-batches in ``counts``, the fastest first.

    The first number is near to two for each worker. Larger ones follow as long as they are faster, and smaller ones if
    the first larger one was not. It ends after ``limit`` seconds of the processor, or LEAST, with one pipeline at
    least.
    """
    several = sorted(count for count in counts if count > 1 and len(priced.devices) > 1)
    ends, found = process_time() + max(limit, LEAST), dict[int, StagedPlan]()
    while (count := _next_count(several, found, 2 * len(priced.devices))) and (process_time() < ends or not found):
        share = COUNT_SHARE * max(0.0, ends - process_time())
        found[count] = _search_count(replace(priced, job=with_count(priced.job, count)), count, share)
    return sorted((plan for plan in found.values() if plan.choices), key=lambda plan: plan.seconds)


def _next_count(counts: Sequence[int], found: Mapping[int, StagedPlan], first: int) -> int | None:
    """The next number of micro-batches to try: a neighbour of the best one so far. None if both were tried."""
    if not found:
        return min(counts, key=lambda count: abs(log2(count / first)), default=None)
    best = counts.index(min(found, key=lambda count: found[count].seconds))
    beside = (counts[i] for i in (best + 1, best - 1) if 0 <= i < len(counts))
    return next((count for count in beside if count not in found), None)


def with_count(job: JobProto, count: int) -> JobProto:
    """A copy of ``job`` with ``count`` micro-batches."""
    copy = JobProto()
    copy.CopyFrom(job)
    copy.neuralnet.micro_batches = count
    return copy


def _search_count(priced: PricedJob, count: int, limit: float) -> StagedPlan:
    """The best pipeline of ``priced``, which has ``count`` micro-batches; NO_PLAN if no stages fit its devices, or if
    one stage is best: micro-batches then gain nothing."""
    ends = process_time() + limit
    stages_end = process_time() + STAGE_SHARE * limit
    insides = StageInsides(replace(priced, passes=count), lambda: process_time() > stages_end)
    profile = profile_net(insides.net, priced.setting().width)
    found = search_priced_stages(_stage_problem(insides, profile, count), STAGE_SHARE * limit)
    if len(found.stages) < 2:
        return NO_PLAN
    plans = [_search_stages(priced, insides, [DeviceStage(s.layers, tuple(s.workers)) for s in found.stages], ends)]
    if process_time() < ends and len(others := search_device_stages(profile, priced.devices)) > 1:
        plans.append(_search_stages(priced, insides, others, ends))
    return min(plans, key=lambda plan: plan.seconds)


def _search_stages(priced: PricedJob, insides: StageInsides, stages: Sequence[DeviceStage], ends: float) -> StagedPlan:
    """The best plan with these stages, until the processor's clock is at ``ends``."""
    count = priced.job.neuralnet.micro_batches
    joint = replace(priced, groups=_stage_groups(insides, stages), passes=len(stages) + count - 1)
    search = PlanSearch(joint, joint.loose_space(), ends, lambda text: None)
    search.run()
    best = search.best_plans(1)[0]
    return StagedPlan(best.seconds, count, tuple(stage.workers for stage in stages), best.choices)


def _stage_problem(insides: StageInsides, profile: NetProfile, count: int) -> StageProblem:
    """The search for the stages of the net of ``insides``."""
    devices = insides.priced.devices
    cuts = find_downsets(profile, most=0).few(MOST_CUTS)
    tied = TiedStages(insides.priced, insides.nodes)

    def stage_seconds(layers: Sequence[int], run: range) -> float:
        return insides.stage_seconds(layers, run) + tied.stage_seconds(layers, run)

    expected = _ExpectedStages(insides, tied, cuts, count)
    return StageProblem(cuts, stage_runs(len(devices)), device_levels(devices), expected, stage_seconds, count)


@dataclass(frozen=True)
class _ExpectedStages:
    """The seconds that are expected of stages between two ``cuts``, by the best plans for the whole net; infinite if
    the workers cannot hold a stage."""

    insides: StageInsides
    tied: TiedStages
    cuts: Downsets
    count: int

    def __call__(self, run: range) -> Floats:
        done = self.cuts.members @ self.insides.layer_seconds(run)
        able = self.cuts.nested() & (self.least_memory(run) <= self.room(run))
        seconds = done[None, :] - done[:, None] + self.tied.seconds_between(self.cuts, run)
        return np.where(able, seconds, np.inf)

    def room(self, run: range) -> float:
        """Bytes that the devices of ``run`` have in all."""
        return sum(device.memory for device in self.insides.priced.devices.of(run).devices)

    def least_memory(self, run: range) -> Floats:
        """[a, b]: bytes that the workers of ``run`` hold at least: values and states of the parameters, and the outputs
        of the micro-batches in flight, as many as a schedule 1F1B keeps. Gradients may share memory with these."""
        arrays = 1 + self.insides.priced.setting().slots
        after = len(self.insides.priced.devices) - run.start
        flight = min(self.count, -(-after // len(run)))
        held = arrays * self.cuts.parameters + flight * self.cuts.activation
        return np.asarray(held[None, :] - held[:, None])


def _stage_groups(insides: StageInsides, stages: Sequence[DeviceStage]) -> dict[str, WorkerGroup]:
    """By name, the workers of the stage of each node; those of inputs are the workers of their first readers."""
    of_node = {insides.nodes[i]: stage.workers for stage in stages for i in stage.layers}
    for node in reversed(insides.net.nodes):
        for source in node.sources:
            if insides.net.nodes[source.node].layer.is_input:
                of_node[source.node] = of_node[node.index]
    return {node.name: of_node[node.index] for node in insides.net.nodes if node.index in of_node}
