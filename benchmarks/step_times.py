"""Step times: what a step of two workers takes on a host whose cores other machines share.

A virtual machine has its real cores for some seconds, and then shares one of them with others, which no counter of it
shows. Steps only become longer by that. So a run is repeated if a core is slower after it than it was when it was
calibrated, and what counts is the step that a quarter of the steps of all runs are below.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from netpart.measure.profile import profile_job
from netpart.plan.timings.product_speed import CoreWait
from netpart.proto.reader import Job

RUNS, PATIENCE = 5, 20.0
"""The runs at most until the cores are as fast after one as when they were calibrated, and the seconds for which each
core is waited for before the next."""


def step_seconds(job: Job, workers: int, steps: int, speed: float) -> list[float]:
    """The seconds of each of some steps of ``job`` in a run of its own, which is repeated while a core is slower than
    ``speed``, its FLOPs per second."""
    for _ in range(RUNS):
        timeline = profile_job(job, workers, steps).timeline
        if not wait_for_cores(speed):
            break
    return [timeline.seconds(step) for step in timeline.steps]


def wait_for_cores(speed: float) -> bool:
    """Wait until each core of this process multiplies at ``speed``, for some seconds; True if one did not at first."""
    cores = os.sched_getaffinity(0)
    slowed = False
    for core in sorted(cores):
        os.sched_setaffinity(0, {core})
        slowed |= CoreWait(speed, PATIENCE).wait()
    os.sched_setaffinity(0, cores)
    return slowed


def undisturbed(seconds: Iterable[float]) -> float:
    """The seconds that a quarter of ``seconds`` are below."""
    found = sorted(seconds)
    return found[len(found) // 4]


@contextmanager
def new_cache() -> Iterator[None]:
    """Within this, no figures and timings are kept yet."""
    before = os.environ.get("XDG_CACHE_HOME")
    with TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            os.environ.update({} if before is None else {"XDG_CACHE_HOME": before})
