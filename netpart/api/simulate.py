"""netpart.simulate: the time of training steps of workers that this machine plays one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from netpart.api.job_argument import JobOrPath, check_choice, explained_job, place_job, positive_number
from netpart.collectives.network import LinkCost
from netpart.graph.ready import check_ready
from netpart.measure.profile import ProfiledRun
from netpart.measure.simulated_job import SIMULATED_BY, TIME, SimulationRequest, simulate_job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.named_devices import adopt_hosts
from netpart.worker.initial_values import job_restored_names


def simulate(
    job: JobOrPath, workers: int | None = None, *, steps: int = 5, link: LinkCost | None = None,
    speeds: Sequence[float] = (), devices: str | PathLike[str] | None = None, by: str = TIME,
    scheme: str | None = None, override: bool = False, note: Callable[[str], None] = lambda text: None,
) -> ProfiledRun:  # fmt: skip
    """Simulate ``steps`` training steps of ``job``, cut over ``workers``, each worker with a clock of its own.

    Returns a ProfiledRun: ``profile`` has the median seconds of a step by layer and worker, and the bytes of memory;
    ``timeline`` has every event, and a notebook draws it. ``link`` connects all workers (default: as measured between
    two processes of this host, once); ``speeds`` are those of their devices relative to this machine; ``devices`` is a
    file with both. ``by`` "time" runs and times the kernels, "flops" counts. ``note`` is called with each line about
    what is measured. The other arguments are those of ``partition``. Raises what that raises, and ConfigError for a
    link, speeds or devices that do not fit.
    """
    check_choice("by", by, SIMULATED_BY)
    path = None if devices is None else Path(devices)
    request = SimulationRequest(positive_number("steps", steps), link, tuple(speeds), path, by)
    job = adopt_hosts(place_job(job, workers, scheme, override), path)
    with explained_job(job):
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder, phases=("train",), compact=True)
        check_ready(cut, job_restored_names(job.proto))
        return simulate_job(cut, request, note)
