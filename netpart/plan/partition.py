"""Partitioning of a job by its scheme, or as it is written: the first step of every verb."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from netpart.choices import PHASES
from netpart.errors import ConfigError, FaultList, FieldPath
from netpart.families import SCHEMES
from netpart.graph.build import build_net
from netpart.graph.graph import Graph
from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition, partition_job
from netpart.graph.passes.place import layer_batch_rows, place_node, place_record_sources
from netpart.graph.passes.placer import CutFallback
from netpart.graph.scheme import AS_WRITTEN, is_cut_by_user, override_cuts, refuse_stages, scheme_name, set_scheme
from netpart.plan.optimal.optimal_scheme import optimal_scheme, optimal_scheme_of_job
from netpart.plan.schemes.pipeline import balance_stages, pipeline_scheme, scheme_from_stages
from netpart.plan.schemes.placing import Scheme
from netpart.proto.job_pb2 import JobProto
from netpart.spec import RECORD, Placement


def partition_by_scheme(
    job: JobProto, workers: int, folder: Path | None = None, scheme: str | None = None,
    phases: tuple[str, ...] = PHASES, compact: bool = False,
) -> Partition:  # fmt: skip
    """Cut the nets of ``phases`` over ``workers`` workers by ``scheme`` (default: the job's).

    Layers that the scheme could not spread over all workers are listed in ``fallbacks``. ``compact`` as in
    ``partition_job``. Raises ConfigError for an unknown scheme, and what ``partition_job`` raises.
    """
    job = with_scheme(job, scheme) if scheme else job
    name = scheme_name(job)
    refuse_stages(job)
    if name == AS_WRITTEN:
        return partition_job(job, workers, folder, phases, compact=compact)
    found = SCHEMES.get(name, at=("neuralnet", "scheme"))
    share = workers
    if found is pipeline_scheme:  # stages come from the training net, and hold in all phases
        stages, share = _stages_and_replicas(job, workers)
        found = scheme_from_stages(balance_stages(build_net(job, "train", folder), stages), share)
    if found is optimal_scheme:  # the price of a step, and the devices, are of the job
        found = optimal_scheme_of_job(job, workers, folder)
        share = 1  # workers may be idle on purpose
    return partition_by_callable(found, job, workers, folder, name, phases, share, compact)


def _stages_and_replicas(job: JobProto, workers: int) -> tuple[int, int]:
    """The stages and replicas of the pipeline in ``job``; raises ConfigError if their product is not ``workers``."""
    conf = job.neuralnet
    given = max(1, conf.stages), max(1, conf.replicas)
    stages = given[0] if conf.HasField("stages") else max(1, workers // given[1])
    replicas = given[1] if conf.HasField("replicas") else max(1, workers // stages)
    if stages * replicas != workers:
        expected = f"{workers} workers as stages x replicas"
        hint = "change --workers, --stages or --replicas"
        at = ("neuralnet", "stages" if conf.HasField("stages") else "replicas")
        raise ConfigError("neuralnet", expected, f"{stages} x {replicas}", hint, at=at)
    return stages, replicas


def partition_by_callable(
    scheme: Scheme, job: JobProto, workers: int, folder: Path | None = None, name: str = "",
    phases: tuple[str, ...] = PHASES, share: int = 0, compact: bool = False,
) -> Partition:  # fmt: skip
    """Do ``partition_by_scheme`` with a scheme that need not be registered.

    ``name`` is the scheme's name and ``share`` the number of workers over which it means to cut each layer (0: all);
    both are for ``fallbacks``.
    """
    placer = SchemePlacer(job, workers, folder, name, scheme, share or workers)
    cut = partition_job(job, workers, folder, phases, placer=placer, compact=compact)
    return replace(cut, fallbacks=[*cut.fallbacks, *dict.fromkeys(placer.fallbacks)])


def with_scheme(
    job: JobProto, text: str | None, override: bool = False, set_by_user: Collection[FieldPath] = ()
) -> JobProto:
    """A copy of ``job`` with the scheme ``text``, if given; with ``override`` it replaces the cuts written on layers,
    but for the fields ``set_by_user``.

    Raises ConfigError as ``set_scheme`` and ``override_cuts`` do.
    """
    copy = JobProto()
    copy.CopyFrom(job)
    if text is not None:
        set_scheme(copy, text)
    if override:
        override_cuts(copy, set_by_user)
    return copy


def partition_phase(job: JobProto, workers: int, phase: str, folder: Path | None = None) -> Graph:
    """The graph of one phase over its whole mini-batch, even if the job runs no step of that phase.

    Raises what ``partition_by_scheme`` raises.
    """
    whole = JobProto()
    whole.CopyFrom(job)
    # A phase without steps is not partitioned, so each gets one step.
    whole.neuralnet.micro_batches = whole.test_steps = whole.validate_steps = 1
    return partition_by_scheme(whole, workers, folder, phases=(phase,)).phases[phase][0].graph


@dataclass
class SchemePlacer:
    """Placer of a net by ``scheme``, called ``name``; a cut that the user wrote on a layer overrides it."""

    job: JobProto
    workers: int
    folder: Path | None
    name: str
    scheme: Scheme
    share: int
    fallbacks: list[CutFallback] = field(default_factory=list)

    def __post_init__(self) -> None:
        # The net to place may be that of a micro-batch, whereas a written cut is checked for the whole mini-batch.
        self.full_rows = cache(lambda phase: build_net(self.job, phase, self.folder).rows)

    def __call__(self, net: Net) -> list[Placement]:
        placements = self.scheme(net, self.workers)
        faults = FaultList()
        for node in net.nodes:
            if is_cut_by_user(node.conf) and node.layer.output.dtype != RECORD:
                with faults.collecting():
                    placements[node.index] = self.written(net, node)
                continue
            if node.conf.sum_gradient:
                placements[node.index] = replace(placements[node.index], sum_gradient=True)
            if self.name != "SEQUENTIAL":
                self.record_fallback(node, placements[node.index])
        faults.raise_found()
        # Equal placements become one object, as in ``place_layers``: what is found out about one serves all its layers.
        interned: dict[Placement, Placement] = {}
        placements = [interned.setdefault(placement, placement) for placement in placements]
        for node in net.nodes:
            # After the cuts of the user are applied: the other parts of a kSlice follow its first part, which may have
            # one.
            placements[node.index] = placements[self.model(net, node).index]
        # Last, because records follow their readers, wherever these are placed by now.
        place_record_sources(net, placements)
        return placements

    def model(self, net: Net, node: Node) -> Node:
        """The layer whose placement ``node`` gets: the first part of a kSlice for its other parts, which are not in the
        job."""
        return next(n for n in net.nodes if n.at == node.at) if node.inserted else node

    def written(self, net: Net, node: Node) -> Placement:
        """The placement that the conf of ``node`` asks for."""
        rows = layer_batch_rows(node, net, self.full_rows(net.phase))
        return place_node(node, self.job.neuralnet, self.workers, rows, net.phase, [])

    def record_fallback(self, node: Node, placement: Placement) -> None:
        """Record a layer of which some workers get no part, because it has too few rows or neurons."""
        busy = len(placement.workers)
        if busy < self.share:
            self.fallbacks.append(CutFallback(node.name, self.name, f"is cut over {busy} of {self.share} workers"))
