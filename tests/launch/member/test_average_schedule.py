"""When groups meet and average: as often as the job says, and the same for all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netpart.launch.control.due_steps import barrier_steps, is_average_due, is_due
from netpart.proto.cluster import Cluster
from netpart.proto.job_pb2 import JobProto

COUNTS = st.integers(0, 9)


@given(*[COUNTS] * 6, COUNTS, COUNTS)
def test_groups_meet_before_every_event(
    val: int, after_val: int, test: int, after_test: int, save: int, after_save: int, first: int, more: int
) -> None:
    job = JobProto(
        validate_freq=val, validate_after=after_val, test_freq=test, test_after=after_test,
        checkpoint_freq=save, checkpoint_after=after_save,
    )  # fmt: skip
    events = (val, after_val), (test, after_test), (save, after_save)
    end = first + 3 * more
    found = [step for step in range(first, end) if any(is_due(step, *event) for event in events)]
    assert barrier_steps(job, first, end) == [*found, end]


@given(st.integers(2, 4), st.integers(1, 3), COUNTS, st.sets(st.integers(0, 40)))
def test_groups_agree_on_every_average(count: int, sync: int, first: int, met: set[int]) -> None:
    cluster, end = Cluster(1, count, 0, sync, sync), first + 31
    meets = [*sorted(m for m in met if first <= m < end), end]
    rounds = [
        {
            (step - first) // count
            for step in cluster.steps(group, first, end)
            if is_average_due(cluster, first, meets, step)
        }
        for group in range(count)
    ]
    assert all(found == rounds[0] for found in rounds)
    assert all((number + 1) % sync == 0 for number in rounds[0])
    for number in rounds[0]:
        assert not [m for m in meets if first + number * count < m <= first + (number + 1) * count]
