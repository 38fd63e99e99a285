"""Due: before which steps a run does something beside training."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from netpart.proto.cluster import Cluster

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto


def is_due(step: int, freq: int, after: int) -> bool:
    """True if something that happens every ``freq`` steps from step ``after`` on happens before ``step``."""
    return freq > 0 and step >= after and (step - after) % freq == 0


def barrier_steps(job: JobProto, first: int, end: int) -> list[int]:
    """The steps before which something is saved, validated or tested, and ``end``, ascending."""
    events = (
        (job.validate_freq, job.validate_after),
        (job.test_freq, job.test_after),
        (job.checkpoint_freq, job.checkpoint_after),
    )
    found = {end}
    for freq, after in events:
        if freq > 0:
            found.update(range(max(after, first + (after - first) % freq), end, freq))
    return sorted(found)


def must_drain(job: JobProto, phases: Container[str], step: int) -> bool:
    """True if something is due before ``step`` that needs all steps before it to be over; a job may validate and test
    without having nets for these ``phases``."""
    return (
        step >= job.train_steps
        or ("val" in phases and is_due(step, job.validate_freq, job.validate_after))
        or ("test" in phases and is_due(step, job.test_freq, job.test_after))
        or is_due(step, job.checkpoint_freq, job.checkpoint_after)
    )


def is_average_due(cluster: Cluster, first: int, meetings: Sequence[int], step: int) -> bool:
    """True if an average begins after ``step``: with its round, unless groups meet within that or right behind it."""
    done = (step - first) // cluster.groups
    start = first + done * cluster.groups
    at = bisect_right(meetings, start)
    meets = at < len(meetings) and meetings[at] <= start + cluster.groups
    return (done + 1) % cluster.sync == 0 and not meets
