"""netpart.plan: the cuts that planners propose for a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from netpart.api.job_argument import JobOrPath, check_choice, explained_job, place_job
from netpart.choices import OBJECTIVES, SECONDS
from netpart.measure.planning_prices import PlanningRequest
from netpart.measure.propose_plans import propose_plans
from netpart.plan.search.proposal import ProposalRow
from netpart.plan.text.write_plan import with_placements
from netpart.proto.reader import Job

MEASURES = ("kernels", "flops", "profile")


@dataclass(frozen=True)
class PlannedJob:
    """The proposals for a job, the fastest first and refused ones last, with seconds, bytes and memory of a step.

    ``best`` is one of ``rows``. ``job`` is the job with the cut of every layer as ``best`` has it: ``run``, ``verify``
    and ``save_plan`` take it.
    """

    rows: tuple[ProposalRow, ...]
    best: ProposalRow
    job: Job


def plan(
    job: JobOrPath, workers: int | None = None, *, devices: str | PathLike[str] | None = None, by: str | None = None,
    objective: str = SECONDS, group: int | None = None, partitions: int | None = None,
    micro_batches: int | None = None, limit: float = 10.0, take: str | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> PlannedJob:  # fmt: skip
    """Predict the step time of the plans of all planners for ``job``, and choose the best.

    The arguments are those of the options of ``netpart plan``. ``devices`` is a file of devices, links and hosts
    (default: those of the job, else this host). ``by`` is where the work of layers comes from: "kernels" times them
    here, "flops" counts, "profile" times the uncut net. ``limit`` is the seconds of all searches. ``take`` chooses
    another row by its name. ``note`` is called with each line about what is measured. Raises ConfigError for an
    argument or a job that cannot be planned, MemoryRefused if no plan fits the devices.
    """
    check_choice("by", by, (None, *MEASURES))
    check_choice("objective", objective, (SECONDS, *OBJECTIVES))
    job = place_job(job, workers, None, False)
    request = PlanningRequest(
        workers=workers, devices=None if devices is None else Path(devices), by=by, partitions=partitions, group=group,
        objective=objective, micro_batches=micro_batches, limit=limit,
    )  # fmt: skip
    with explained_job(job):
        portfolio = propose_plans(job, request, note)
        best = portfolio.find_proposal(take) if take else portfolio.best(objective)
    assert best.partition is not None, "every proposal that can be chosen has a partition"
    return PlannedJob(
        tuple(portfolio.rows),
        best.row,
        replace(best.job, proto=with_placements(best.job.proto, best.partition), workers=None),
    )
