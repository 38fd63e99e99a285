"""Warnings about a partition before it is run; each names the next step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from netpart.graph.graph import LAYER
from netpart.graph.ineffective_settings import ineffective_warnings
from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition
from netpart.graph.ready import find_training_faults
from netpart.plan.text.uneven_advice import uneven_warnings
from netpart.plan.text.write_plan import planned_workers
from netpart.proto.reader import Job
from netpart.units import plural_text, ranges_text


def partition_warnings(partition: Partition, job: Job | None = None) -> list[str]:
    """Every warning about the training net.

    These are: settings without effect, cuts that fell back, uneven cuts, idle workers, layers that no layer reads, and
    what `netpart run` refuses. ``job``, from which ``partition`` is made, gives the places of the last.
    """
    warnings = (
        ineffective_warnings(partition.job),
        _fallback_warnings(partition),
        uneven_warnings(partition),
        _idle_warnings(partition),
    )
    return list(chain(*warnings, _refusal_warnings(partition, job), _unread_warnings(partition)))


def _refusal_warnings(partition: Partition, job: Job | None) -> Iterator[str]:
    """Faults that keep a run from training anything, although the job is valid."""
    for error in find_training_faults(partition):
        yield f"{(job.explain(error) if job else error).line()}; `netpart run` refuses the job"


def recut_warnings(job: Job, workers: int) -> Iterator[str]:
    """Warning about a plan that is cut over another number of workers than it was written for."""
    planned = planned_workers(job.text)
    if planned is not None and planned != workers:
        yield (
            f"{job.name} is a plan for {plural_text(planned, 'worker')}, cut over {workers}: what it leaves to"
            f" defaults is cut anew; partition the job that it was made from with --workers {workers}"
        )


def _fallback_warnings(partition: Partition) -> Iterator[str]:
    """Warnings for inherited cuts, and cuts of a scheme, that a layer could not take."""
    taken = {"whole": "is whole", "batch": "is cut on the batch"}
    for fallback in partition.fallbacks:
        wish = (
            f"scheme {fallback.axis}" if isinstance(fallback.axis, str) else f"the net's partition_dim {fallback.axis}"
        )
        yield f"{fallback.node}: {wish} does not fit it, so it {taken.get(fallback.taken, fallback.taken)}"


def _idle_warnings(partition: Partition) -> Iterator[str]:
    """Warning for workers that compute nothing."""
    idlers = partition.idle_workers
    if len(idlers) == 1:
        yield f"worker {idlers[0]} has nothing to do; name it in a location, or run with fewer --workers"
    elif idlers:
        yield f"workers {ranges_text(idlers)} have nothing to do; name them in a location, or run with fewer --workers"


def _unread_warnings(partition: Partition) -> Iterator[str]:
    """Warnings for layers, or parts of layers, that compute results that no other part reads."""
    net = partition.graph.net
    dead = _unread_layers(net)
    for node in dead:
        yield f"{node.name}: no layer reads it in training; remove it, or write include: kTest"
    read = {feed.part.index for part in partition.graph.parts for feed in part.feeds}
    for part in partition.graph.parts:
        node = net.nodes[part.node]
        if part.kind == LAYER and part.index not in read and node not in dead and not node.layer.metrics:
            yield f"{part.name} on worker {part.worker}: no other part reads this one; cut {node.name} differently"


def _unread_layers(net: Net) -> list[Node]:
    """Layers that have no metrics and that no layer reads."""
    read = {source.node for node in net.nodes for source in node.sources}
    return [node for node in net.nodes if node.index not in read and not node.layer.metrics]
