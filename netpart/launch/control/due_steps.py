"""Due steps: before which steps a run does something other than training."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from netpart.choices import TEST, VALIDATION
from netpart.proto.cluster import Cluster

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto


def is_due(step: int, freq: int, after: int) -> bool:
    """True if an event that occurs every ``freq`` steps from step ``after`` on occurs before ``step``."""
    return freq > 0 and step >= after and (step - after) % freq == 0


def evaluation_times(job: JobProto) -> tuple[tuple[str, int, int, int], ...]:
    """(phase, freq, after, mini-batches) of the validation and the test, in the order in which they run."""
    return (
        (VALIDATION, job.validate_freq, job.validate_after, job.validate_steps),
        (TEST, job.test_freq, job.test_after, job.test_steps),
    )


def barrier_steps(job: JobProto, first: int, end: int) -> list[int]:
    """The steps before which something is saved, validated or tested, and ``end``; ascending."""
    events = (
        (job.validate_freq, job.validate_after),
        (job.test_freq, job.test_after),
        (job.checkpoint_freq, job.checkpoint_after),
    )
    found = {end}
    for freq, after in events:
        if freq > 0:
            # The first due step from ``first`` on: ``after`` itself, or the next multiple of ``freq`` counted from it.
            found.update(range(max(after, first + (after - first) % freq), end, freq))
    return sorted(found)


def must_drain(job: JobProto, phases: Container[str], step: int) -> bool:
    """True if an event before ``step`` needs all earlier steps to be complete.

    A job may set validation and test without having nets for these ``phases``; then nothing is due.
    """
    return (
        step >= job.train_steps
        or ("val" in phases and is_due(step, job.validate_freq, job.validate_after))
        or ("test" in phases and is_due(step, job.test_freq, job.test_after))
        or is_due(step, job.checkpoint_freq, job.checkpoint_after)
    )


def is_average_due(cluster: Cluster, first: int, meetings: Sequence[int], step: int) -> bool:
    """True if an average begins after ``step``, the last of its round.

    None begins if the groups meet within the round or right after it: they average there anyway.
    """
    done = (step - first) // cluster.groups
    start = first + done * cluster.groups
    at = bisect_right(meetings, start)
    meets = at < len(meetings) and meetings[at] <= start + cluster.groups
    return (done + 1) % cluster.sync == 0 and not meets
