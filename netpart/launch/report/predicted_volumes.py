"""Predicted volumes: how much a whole run sends, message by message, from the graph and the job's events alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from netpart.graph.partition import Partition
from netpart.launch.control.due_steps import barrier_steps, is_average_due, is_due
from netpart.plan.price.ledger import average_entries, compute_ledger
from netpart.proto.element import float_size
from netpart.updaters import build_updater

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto


class MessageVolume(NamedTuple):
    """``nbytes`` bytes sent ``times`` times over one channel; ``key`` is the sender's rank and the channel.

    ``target`` is the receiver's rank.
    """

    name: str
    key: tuple[int, ...]
    nbytes: int
    times: int
    target: int


def predict_volumes(partition: Partition, first_step: int) -> Iterator[MessageVolume]:
    """All messages of a run that begins at ``first_step``."""
    cluster = partition.cluster
    counts = _evaluation_batches(partition.job, first_step)
    for group in range(cluster.groups):
        ranks = cluster.ranks(group)
        steps = len(cluster.steps(group, first_step, partition.job.train_steps))
        # Only group 0 validates and tests, so the other groups send nothing in these phases.
        for phase in partition.phases if group == 0 else ("train",):
            times = steps if phase == "train" else counts[phase]
            for e in compute_ledger(partition, phase, group).entries:
                yield MessageVolume(
                    f"{phase} {e.name}", (ranks[e.source], *e.channel), e.nbytes, times, ranks[e.target]
                )
    times = _average_count(partition, first_step)
    for number in range(cluster.workers):
        for e in average_entries(partition, number, float_size(partition.job)):
            yield MessageVolume(f"train {e.name}", (e.source, *e.channel), e.nbytes, times, e.target)


def predict_bytes_by_edge(partition: Partition, first_step: int) -> dict[str, int]:
    """Payload bytes of a whole run by edge."""
    found: dict[str, int] = {}
    for volume in predict_volumes(partition, first_step):
        found[volume.name] = found.get(volume.name, 0) + volume.times * volume.nbytes
    return found


def _evaluation_batches(job: JobProto, first_step: int) -> dict[str, int]:
    """Number of mini-batches on which a run validates and tests."""
    steps = range(first_step, job.train_steps)
    # Plus 1 for the evaluation after the last step, which every run does.
    val = sum(is_due(s, job.validate_freq, job.validate_after) for s in steps) + 1
    test = sum(is_due(s, job.test_freq, job.test_after) for s in steps) + 1
    return {"val": val * job.validate_steps, "test": test * job.test_steps}


def _average_count(partition: Partition, first: int) -> int:
    """Number of averages in a run.

    Each meeting has one average of the parameters and one of each state of the updater; the rest are the ones between
    meetings.
    """
    cluster = partition.cluster
    job = partition.job
    end = max(first, job.train_steps)
    met = barrier_steps(job, first, end)
    between = sum(is_average_due(cluster, first, met, step) for step in range(first, end, cluster.groups))
    meets = sum(step > first for step in met)
    return between + meets * (1 + len(build_updater(job.updater).states))
