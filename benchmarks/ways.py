"""Ways to train the nets of the use case on several workers, as jobs of netpart.

The *proposed approach* of Akintoye et al. (IEEE Access 10, 2022, section 3) divides the net into partitions, which
GABRA allocates to groups of workers. The workers of a group share the rows and sum their gradients. Micro-batches let
all groups work at the same time. The other way is data parallelism alone. Either normalises all rows of a (micro-)batch
together (SYNC, which costs messages), or those of each worker separately (LOCAL, as PyTorch does).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import netpart.plan.search.planners  # noqa: F401  # adds netpart's planners to PLANNERS
from benchmarks.nets import Net, job
from netpart.families import PLANNERS
from netpart.graph.build import build_net
from netpart.plan.partition import partition_by_callable
from netpart.plan.price.devices import equal_devices
from netpart.plan.price.layer_loads import profile_net as loads_of
from netpart.plan.search.task import PlanningTask
from netpart.plan.text.write_plan import with_placements
from netpart.proto.job_pb2 import LayerType
from netpart.proto.neuron_pb2 import BMProto
from netpart.proto.reader import Job, read_job_text

DEADLINE = 300.0
"""Seconds that a worker waits for another one: long, so that a busy machine causes no failure."""
ITEM = 4
GROUPS = 1, 2, 4
"""Workers of a group that are tried."""
GABRA = "gabra profit"
"""The planner of the paper: equation 5; of equal profits the earliest finish."""


@dataclass(frozen=True)
class Way:
    """``hybrid``: the proposed approach, otherwise data parallelism; ``local``: each worker normalises its own rows."""

    name: str
    title: str
    hybrid: bool
    local: bool


WAYS = {
    way.name: way
    for way in (
        Way("hybrid", "GABRA + hybrid", True, False),
        Way("hybrid-local", "GABRA + hybrid, local norm", True, True),
        Way("data", "data parallelism", False, False),
        Way("data-local", "data parallelism, local norm", False, True),
    )
}


@dataclass(frozen=True)
class Hybrid:
    """A choice within the proposed approach: workers of a group, partitions (None: as the net has them) and
    micro-batches."""

    group: int
    partitions: int | None
    micro_batches: int


def uncut(net: Net, local: bool = False) -> Job:
    """``net`` on rows in memory, each worker with one thread."""
    proto = job(net, 1)
    proto.num_openblas_threads, proto.deadline = 1, DEADLINE
    for layer in proto.neuralnet.layer:
        if local and layer.type == LayerType.kBM:
            layer.bm_conf.bn_mode = BMProto.LOCAL
    return read_job_text(f"{proto}", net.name, overrides=["neuralnet.remainder=SPREAD"])


def by_data(net: Net, local: bool) -> Job:
    """``net`` cut on its rows, over any number of workers."""
    return with_overrides(uncut(net, local), "neuralnet.scheme=DATA")


def choices(net: Net, workers: int, micro_batches: int) -> Iterator[Hybrid]:
    """The choices for so many workers: at least two groups, in which each worker has a row of each micro-batch."""
    for group in GROUPS:
        if group < workers and group * micro_batches <= net.batch:
            yield Hybrid(group, None, micro_batches)
            yield Hybrid(group, -(-workers // group), micro_batches)


def by_gabra(net: Net, workers: int, choice: Hybrid, local: bool) -> tuple[Job, PlanningTask, list[int]]:
    """``net`` cut by the proposed approach, with the allocation and the group of each partition."""
    found = with_overrides(uncut(net, local), f"neuralnet.micro_batches={choice.micro_batches}")
    profile = loads_of(build_net(found.proto, "train", found.folder), ITEM)
    task = PlanningTask(profile, equal_devices(workers), choice.partitions, group=choice.group, seed=found.proto.seed)
    layout = PLANNERS.get(GABRA)(task)
    assert layout.plan is not None, "GABRA allocates"
    cut = partition_by_callable(layout.scheme, found.proto, workers, found.folder, phases=("train",))
    proto = with_placements(found.proto, cut)
    proto.neuralnet.micro_batches = choice.micro_batches
    return read_job_text(f"{proto}", found.name), task, [int(group) for group in layout.plan]


def with_overrides(given: Job, *overrides: str) -> Job:
    """``given`` with some fields changed."""
    return read_job_text(f"{given.proto}", given.name, overrides=overrides)
