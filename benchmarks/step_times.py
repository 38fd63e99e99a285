"""Step times: what a step of two workers takes on a host whose cores other machines share.

A virtual machine has its real cores for some seconds, and then shares one of them with others, which no counter of it
shows. Steps only become longer by that. So what counts is the step that a quarter of the steps of all runs are below.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from netpart.measure.profile import profile_job
from netpart.proto.reader import Job


def step_seconds(job: Job, workers: int, steps: int) -> list[float]:
    """The seconds of each of some steps of ``job`` in a run of its own."""
    timeline = profile_job(job, workers, steps).timeline
    return [timeline.seconds(step) for step in timeline.steps]


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
