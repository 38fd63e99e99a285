"""Partition: a job cut over its workers, with a Graph per phase and micro-batch size, and a plan of its parameters."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.choices import PHASES, TRAIN
from netpart.collectives.cluster_network import network_of_hosts
from netpart.errors import ConfigError, FaultList
from netpart.graph.build import build_net, layer_field_errors, locate_errors
from netpart.graph.graph import Graph
from netpart.graph.holdings import Bucket, Holding, ServerPiece
from netpart.graph.invariants import check_graph
from netpart.graph.net import Net, Parameter
from netpart.graph.notebook_display import NotebookDisplay
from netpart.graph.passes.agree import find_bit_equal_nodes
from netpart.graph.passes.connect import connect_parts
from netpart.graph.passes.expand import expand_cut_layers
from netpart.graph.passes.live_parts import returns_whole_sums
from netpart.graph.passes.mark_collectives import mark_collectives
from netpart.graph.passes.norm import GradientNorm, plan_gradient_norm
from netpart.graph.passes.place import place_layers
from netpart.graph.passes.placer import CutFallback
from netpart.graph.passes.sum_gradients import plan_parameters
from netpart.graph.passes.teams import form_one_team, join_teams
from netpart.graph.passes.totals import plan_totals
from netpart.graph.passes.uneven_cuts import cut_extent
from netpart.graph.passes.update_sharding import sharding_threshold
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
"""Function that returns a placement for every node of a net."""


@dataclass(frozen=True)
class MicroBatch:
    """One micro-batch: its graph (shared by micro-batches of equal size) and the rows of the mini-batch it takes."""

    graph: Graph
    rows: tuple[int, int]


@dataclass(frozen=True, repr=False)
class Partition(NotebookDisplay):
    """The complete result of the rewrite.

    ``phases`` holds the micro-batches of each phase of the job, ``trained`` the names of the parameters that get a
    gradient. ``norm`` is the plan for the gradient norm if it is clipped, otherwise None. The last ``servers`` of the
    workers compute nothing and keep the ``pieces`` of the parameters.
    """

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
        """The cluster that the job describes; without servers as long as no pieces are assigned to them."""
        return cluster_of(self.job, self.workers - self.servers)

    @property
    def main_phase(self) -> str:
        """The training phase, or the first one of a partition that trains nothing."""
        return TRAIN if TRAIN in self.phases else next(iter(self.phases))

    @property
    def graph(self) -> Graph:
        """The graph of the main phase's first micro-batch, which is drawn and priced."""
        return self.phases[self.main_phase][0].graph

    @property
    def idle_workers(self) -> tuple[int, ...]:
        """The workers of a group that compute no part of the training graph."""
        busy = {part.worker for part in self.graph.parts}
        return tuple(sorted(set(range(self.workers - self.servers)) - busy))

    def bucket_numbers(self, worker: int) -> list[int]:
        """The numbers of the buckets that ``worker`` takes part in, in order."""
        return self._buckets_by_worker.get(worker, [])

    @cached_property
    def _buckets_by_worker(self) -> dict[int, list[int]]:
        """The numbers of the buckets of each worker: found once for all workers."""
        found: dict[int, list[int]] = {}
        for b, bucket in enumerate(self.buckets):
            for worker in bucket.workers:
                found.setdefault(worker, []).append(b)
        return found

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter once, in net order."""
        nets = [micros[0].graph.net for micros in self.phases.values()]
        # Reversed, because the last entry of a name wins: the object of the first phase is kept.
        return tuple({p.name: p for net in reversed(nets) for p in net.parameters}.values())

    def __repr__(self) -> str:
        phases = ", ".join(f"{phase}: {micros[0].graph!r}" for phase, micros in self.phases.items())
        return f"Partition({self.workers} workers; {phases})"


def partition_net(net: Net, placements: list[Placement], workers: int, compact: bool = False) -> Graph:
    """Rewrite ``net`` for ``placements``: expand layers, collect demands, plan gradients, connect parts.

    The net of the returned graph includes the layers that the rewrite inserts. A ``compact`` graph has two parts for
    each worker in place of the bridges of a complete sum (``passes/complete_sums.py``): it has the same collectives,
    ledger and Programs, and is not for drawing.
    """
    with pause_gc():
        found = plan_totals(*expand_cut_layers(net, placements), workers, compact)
        decided = found.net, found.placements, found.answers, found.plan
        # Needs the final net: totals and expanded layers change which node reads which.
        found.plan.agree = find_bit_equal_nodes(*decided)
        graph = connect_parts(*decided, workers)
        if not returns_whole_sums(graph):
            return partition_net(net, placements, workers)
        mark_collectives(graph)
        form_one_team(graph)
    if sys.flags.dev_mode and not compact:
        check_graph(graph)
    return graph


@contextmanager
def pause_gc() -> Iterator[None]:
    """Pause the garbage collector: the rewrite makes millions of objects that all survive, and no garbage cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def keep_objects() -> Iterator[None]:
    """Pause the garbage collector, and let it omit what is alive at the end until ``gc.unfreeze``.

    For commands: a partition for a thousand workers has millions of objects, none of them garbage. A collection among
    them takes seconds, in which no other thread runs: the progress line would stand still.
    """
    with pause_gc():
        yield
        # Before the collector is on again, as it would begin with a collection of everything.
        gc.freeze()


def partition_job(
    job: JobProto, workers: int, folder: Path | None = None, phases: tuple[str, ...] = PHASES, uncut: bool = False,
    placer: Placer | None = None, compact: bool = False,
) -> Partition:  # fmt: skip
    """Build the nets of ``phases`` (those that the job has) and cut them over ``workers`` workers.

    ``uncut`` keeps every layer whole on worker 0: the reference that every cut must equal. ``placer`` places the layers
    instead of the cuts and locations in the job; a job with a scheme needs one (``netpart.plan.partition`` has it).
    ``compact`` as in ``partition_net``, for what plans and draws nothing.
    Raises ConfigError as ``build_net`` and ``place_layers`` do, for the faults of all phases at once.
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
    with faults.collecting():
        network_of_hosts(job.cluster, workers)
    if placer is None:
        refuse_scheme(job)
    for phase in (each for each in phases if runs_phase(job, each)):
        with faults.collecting():
            cut[phase] = _cut_micro_batches(job, phase, workers, folder, placer, fallbacks, compact)
    faults.found += job_field_errors(job)
    faults.raise_found()
    # By identity: micro-batches of equal size share one graph, whose parameters must be counted once.
    graphs = list({id(m.graph): m.graph for micros in cut.values() for m in micros}.values())
    with pause_gc():
        # All phases together: what a worker stores of a parameter has to serve training and tests.
        plan = plan_parameters(graphs, workers, float_size(job), job.bucket_bytes, sharding_threshold(job))
    clipped = job.updater.clip_norm > 0 and plan.trained
    norm = plan_gradient_norm(plan.holdings, plan.trained) if clipped else None
    for graph in (g for g in graphs if g.net.phase == "train"):
        graph.buckets = plan.buckets
    return Partition(job, workers, cut, plan.holdings, plan.buckets, fallbacks, plan.trained, norm)


def job_field_errors(job: JobProto) -> list[ConfigError]:
    """Errors for fields that a layer's type does not read, also in phases that the job does not run."""
    found = list[ConfigError]()
    for i, conf in enumerate(job.neuralnet.layer):
        with suppress(ConfigError):  # an unknown type is refused where the layer is built
            found += layer_field_errors(i, conf)
    return found


def _cut_micro_batches(
    job: JobProto, phase: str, workers: int, folder: Path | None, placer: Placer | None, fallbacks: list[CutFallback],
    compact: bool,
) -> list[MicroBatch]:  # fmt: skip
    """Cut the mini-batch into micro-batches and build one graph for each distinct size."""
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
            graphs[hi - lo] = _cut_net(net, job, workers, whole.rows, placer, fallbacks, compact)
            graphs[hi - lo].micro_batches = count
        micros.append(MicroBatch(graphs[hi - lo], (lo, hi)))
    # With one micro-batch all workers go through the net in the one global order, so they are one team. Otherwise
    # stages work on different micro-batches at a time.
    if count > 1 or (phase == "train" and job.neuralnet.schedule == Schedule.DELAYED):
        join_teams(list(graphs.values()))
    return micros


def _check_micro_batches(net: Net, count: int) -> None:
    """Raise ConfigError for micro-batches of a net with a layer that needs the whole mini-batch.

    A layer that slices or joins rows of the batch would make other rows from a micro-batch than from the mini-batch.
    """
    for each in net.nodes if count > 1 else ():
        with locate_errors(each.at, each.conf):
            each.layer.check_micro_batches(count)
    node = next((node for node in net.nodes if node.layer.makes_rows), None)
    if count > 1 and node is not None:
        at = ("neuralnet", "micro_batches")
        hint = "remove micro_batches, or slice and join on another axis"
        raise ConfigError(node.name, "the rows of a whole mini-batch, to slice or join", f"{count} pieces", hint, at=at)


def _cut_net(
    net: Net, job: JobProto, workers: int, rows: int, placer: Placer | None, fallbacks: list[CutFallback],
    compact: bool,
) -> Graph:  # fmt: skip
    """Place one net and rewrite it; note the inherited cuts that fell back."""
    if placer is not None:
        return partition_net(net, placer(net), workers, compact)
    placed = place_layers(net, job.neuralnet, workers, rows)
    # Nets of several phases and micro-batch sizes report the same fallback.
    fallbacks += [f for f in placed.fallbacks if f not in fallbacks]
    return partition_net(net, placed.placements, workers, compact)


def uncut_placements(net: Net) -> list[Placement]:
    """The placement of every node of the uncut net: whole, on worker 0."""
    return [single_placement(0, node.layer.output) for node in net.nodes]
