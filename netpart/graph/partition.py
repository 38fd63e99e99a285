"""Partition: a job cut over its workers: one Graph per phase and micro-batch, and the plan for its parameters."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.choices import PHASES
from netpart.errors import ConfigError, FaultList
from netpart.graph.build import build_net, layer_field_errors
from netpart.graph.graph import Graph
from netpart.graph.holdings import Bucket, Holding, ServerPiece
from netpart.graph.invariants import check_graph
from netpart.graph.net import Net, Parameter
from netpart.graph.notebook import NotebookDisplay
from netpart.graph.passes.agree import find_bit_equal_nodes
from netpart.graph.passes.collect import mark_collectives
from netpart.graph.passes.connect import connect_parts
from netpart.graph.passes.cuts import cut_extent
from netpart.graph.passes.expand import expand_cut_layers
from netpart.graph.passes.norm import GradientNorm, plan_gradient_norm
from netpart.graph.passes.place import place_layers
from netpart.graph.passes.placer import CutFallback
from netpart.graph.passes.shard import sharding_threshold
from netpart.graph.passes.synchronise import plan_parameters
from netpart.graph.passes.teams import form_one_team, join_teams
from netpart.graph.passes.totals import plan_totals
from netpart.graph.scheme import refuse_scheme
from netpart.graph.unsupported import refuse_unsupported
from netpart.proto.cluster import Cluster, cluster_of
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import Schedule
from netpart.proto.phase import runs_phase
from netpart.spec import Placement, single_placement

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto

Placer = Callable[[Net], list[Placement]]
"""Gives every node of a net its placement."""


@dataclass(frozen=True)
class MicroBatch:
    """One micro-batch: its graph (shared by micro-batches of equal size) and the rows of the mini-batch it takes."""

    graph: Graph
    rows: tuple[int, int]


@dataclass(frozen=True, repr=False)
class Partition(NotebookDisplay):
    """Everything the rewrite decided. ``phases`` holds the micro-batches of each phase that the job has,
    ``trained`` the names of the parameters that get a gradient, ``norm`` who adds up its norm if that is clipped. The
    last ``servers`` of the workers compute nothing and keep the ``pieces`` of the parameters."""

    job: JobProto
    workers: int
    phases: dict[str, list[MicroBatch]]
    holdings: list[list[Holding]]
    buckets: list[Bucket]
    fallbacks: list[CutFallback] = field(default_factory=list)
    trained: set[str] = field(default_factory=set)
    norm: GradientNorm | None = None
    servers: int = 0
    pieces: list[ServerPiece] = field(default_factory=list)

    @property
    def cluster(self) -> Cluster:
        """Who trains this partition with whom, as its job says; without servers where they have no pieces yet."""
        return cluster_of(self.job, self.workers - self.servers)

    @property
    def graph(self) -> Graph:
        """The training graph of the first micro-batch: what is drawn and priced."""
        return self.phases["train"][0].graph

    @property
    def idle_workers(self) -> tuple[int, ...]:
        """The workers of a group that compute no part of the training graph."""
        busy = {part.worker for part in self.graph.parts}
        return tuple(sorted(set(range(self.workers - self.servers)) - busy))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter once, in net order."""
        nets = [micros[0].graph.net for micros in self.phases.values()]
        return tuple({p.name: p for net in reversed(nets) for p in net.parameters}.values())

    def __repr__(self) -> str:
        phases = ", ".join(f"{phase}: {micros[0].graph!r}" for phase, micros in self.phases.items())
        return f"Partition({self.workers} workers; {phases})"


def partition_net(net: Net, placements: list[Placement], workers: int) -> Graph:
    """Rewrites ``net`` for ``placements``: expands, asks, plans gradients, connects.

    The net of the graph has the layers that this inserts.
    """
    with pause_gc():
        found = plan_totals(*expand_cut_layers(net, placements), workers)
        decided = found.net, found.placements, found.answers, found.plan
        found.plan.agree = find_bit_equal_nodes(*decided)
        graph = connect_parts(*decided, workers)
        mark_collectives(graph)
        form_one_team(graph)
    if sys.flags.dev_mode:
        check_graph(graph)
    return graph


@contextmanager
def pause_gc() -> Iterator[None]:
    """Switches the garbage collector off: the rewrite makes millions of objects, which all stay, and no cycle dies."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def partition_job(
    job: JobProto, workers: int, folder: Path | None = None, phases: tuple[str, ...] = PHASES, uncut: bool = False,
    placer: Placer | None = None,
) -> Partition:  # fmt: skip
    """Builds and cuts the nets of ``phases`` (those the job has) over ``workers`` workers.

    ``uncut`` keeps every layer whole on worker 0: the net that every cut must equal. ``placer`` places the layers
    instead of what the job says about cuts and locations; a job with a scheme needs one
    (``netpart.plan.partition`` has it).
    Raises ConfigError as ``build_net`` and ``place_layers`` do, for what is wrong in any phase at once.
    """
    if workers < 1:
        raise ConfigError("workers", "at least 1", str(workers), "run with --workers 1 or more")
    cut: dict[str, list[MicroBatch]] = {}
    fallbacks: list[CutFallback] = []
    faults = FaultList()
    placer = uncut_placements if uncut else placer
    with faults.collecting():
        refuse_unsupported(job)
    with faults.collecting():
        cluster_of(job, workers)
    if placer is None:
        refuse_scheme(job)
    for phase in (each for each in phases if runs_phase(job, each)):
        with faults.collecting():
            cut[phase] = _cut_micro_batches(job, phase, workers, folder, placer, fallbacks)
    faults.found += job_field_errors(job)
    faults.raise_found()
    graphs = list({id(m.graph): m.graph for micros in cut.values() for m in micros}.values())
    with pause_gc():
        plan = plan_parameters(graphs, workers, float_size(job), job.bucket_bytes, sharding_threshold(job))
    clipped = job.updater.clip_norm > 0 and plan.trained
    norm = plan_gradient_norm(plan.holdings, plan.trained) if clipped else None
    for graph in (g for g in graphs if g.net.phase == "train"):
        graph.buckets = plan.buckets
    return Partition(job, workers, cut, plan.holdings, plan.buckets, fallbacks, plan.trained, norm)


def job_field_errors(job: JobProto) -> list[ConfigError]:
    """What layers say that their types do not read, also in phases that the job does not play."""
    found = list[ConfigError]()
    for i, conf in enumerate(job.neuralnet.layer):
        with suppress(ConfigError):  # a type that is not there is refused where the layer is built
            found += layer_field_errors(i, conf)
    return found


def _cut_micro_batches(
    job: JobProto, phase: str, workers: int, folder: Path | None, placer: Placer | None, fallbacks: list[CutFallback]
) -> list[MicroBatch]:
    """Cuts the mini-batch into micro-batches and builds one graph for each distinct size."""
    whole = build_net(job, phase, folder)
    count = max(1, job.neuralnet.micro_batches) if phase == "train" else 1
    if whole.rows < count:
        hint = f"use at most {whole.rows} micro-batches"
        raise ConfigError("neuralnet", f"a batch of at least {count} rows", str(whole.rows), hint, at=("neuralnet",))
    _check_micro_batches(whole, count)
    graphs: dict[int, Graph] = {}
    micros = []
    for lo, hi in cut_extent(whole.rows, count, spread=True):
        if hi - lo not in graphs:
            net = whole if count == 1 else build_net(job, phase, folder, rows=hi - lo)
            graphs[hi - lo] = _cut_net(net, job, workers, whole.rows, placer, fallbacks)
            graphs[hi - lo].micro_batches = count
        micros.append(MicroBatch(graphs[hi - lo], (lo, hi)))
    if count > 1 or (phase == "train" and job.neuralnet.schedule == Schedule.DELAYED):
        join_teams(list(graphs.values()))
    return micros


def _check_micro_batches(net: Net, count: int) -> None:
    """Raises ConfigError for micro-batches of a net that makes other rows of its batch: those of a part would be others
    than those of the whole."""
    node = next((node for node in net.nodes if node.layer.makes_rows), None)
    if count > 1 and node is not None:
        at = ("neuralnet", "micro_batches")
        hint = "remove micro_batches, or slice and join on another axis"
        raise ConfigError(node.name, "the rows of a whole mini-batch, to slice or join", f"{count} pieces", hint, at=at)


def _cut_net(
    net: Net, job: JobProto, workers: int, rows: int, placer: Placer | None, fallbacks: list[CutFallback]
) -> Graph:
    """Places one net and rewrites it; notes the inherited cuts that fell back."""
    if placer is not None:
        return partition_net(net, placer(net), workers)
    placed = place_layers(net, job.neuralnet, workers, rows)
    fallbacks += [f for f in placed.fallbacks if f not in fallbacks]
    return partition_net(net, placed.placements, workers)


def uncut_placements(net: Net) -> list[Placement]:
    """The placement of the uncut net."""
    return [single_placement(0, node.layer.output) for node in net.nodes]
