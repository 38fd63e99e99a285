"""Proposals of all planners for a job, with prices that are counted or measured on this host."""

from __future__ import annotations

from netpart.choices import SECONDS
from netpart.measure.planning_prices import Note, PlanningRequest, planning_prices
from netpart.plan.price.named_devices import adopt_hosts
from netpart.plan.search.portfolio import Portfolio
from netpart.plan.search.task import PlanningTask
from netpart.proto.reader import Job


def propose_plans(job: Job, request: PlanningRequest, note: Note) -> Portfolio:
    """The proposals for ``job``; ``note`` is called with each note for the user.

    Raises ConfigError for a request or a job that cannot be planned.
    """
    job = adopt_hosts(job, request.devices)
    with planning_prices(job, request, note) as priced:
        task = PlanningTask(
            priced.profile, priced.devices, request.partitions, request.slack, job.proto.seed, request.limit,
            request.group or 1,
        )  # fmt: skip
        return Portfolio(
            job, task, micro_batches=request.micro_batches, prices=priced.prices,
            groups=_other_groups(request, len(task.devices)), simulate=priced.simulate,
            floors=None if request.objective == SECONDS else False,
        )  # fmt: skip


def _other_groups(request: PlanningRequest, devices: int) -> list[int]:
    """Sizes of groups of devices that are tried besides one."""
    # Other objectives do not compare groups of different sizes. One group of all is data parallelism, a row of its own.
    if request.group or request.objective != SECONDS:
        return []
    return [size for size in range(2, devices) if devices % size == 0]
