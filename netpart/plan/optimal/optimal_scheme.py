"""OPTIMAL: the scheme that the search finds for the devices of the job, or for as many like this host's workers."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from netpart.collectives.price import LinkCost
from netpart.graph.net import Net
from netpart.kernels.reference import Kernels
from netpart.plan.optimal.chosen_scheme import scheme_from_choices
from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.link_prices import LinkPrices
from netpart.plan.optimal.narrowing import narrow_space
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.plan_space import build_plan_space
from netpart.plan.optimal.price_setting import PriceSetting
from netpart.plan.optimal.search_plans import FoundPlan, search_plans
from netpart.plan.optimal.staged_plans import StagedPlan, search_staged_plans
from netpart.plan.optimal.transfer_prices import TransferPricer
from netpart.plan.price.devices import Devices, devices_of_cluster, equal_devices, measure_devices
from netpart.plan.price.host_devices import figured_devices
from netpart.plan.schemes.placing import Scheme
from netpart.plan.timings.host_figures import read_host_figures
from netpart.program.collective_instructions import ExchangeFactory
from netpart.proto.job_pb2 import JobProto
from netpart.spec import Placement

LIMIT = 20.0
"""Seconds after which the scheme is the best plan found so far."""
NOMINAL = 5e10
"""FLOPs per second of a worker where only a net is known."""


def optimal_scheme(net: Net, workers: int) -> list[Placement]:
    """The cut of ``net`` alone that is optimal by the tables, on equal workers with the usual links.

    ``optimal_scheme_of_job`` knows more, and is what a job with the scheme OPTIMAL gets.
    """
    devices = equal_devices(workers, NOMINAL, link=LinkCost())
    links = LinkPrices(devices)
    pricer = TransferPricer(devices, ExchangeFactory(JobProto(), workers), links)
    setting = PriceSetting(devices, links, {}, pricer, 4, 1, 1 << 62, False, Kernels)
    space = narrow_space(build_plan_space(LayerTables(net, setting), joint=False, exact=False)).space
    return scheme_from_choices(space.plan_choices(space.bound(1.0).assignment))(net, workers)


def optimal_scheme_of_job(job: JobProto, workers: int, folder: Path | None) -> Scheme:
    """The scheme of the fastest plan that is found for ``job`` within LIMIT seconds.

    Raises ConfigError if the job has fewer devices than ``workers``.
    """
    return _search_scheme(job.SerializeToString(deterministic=True), workers, folder)


@lru_cache(maxsize=8)
def _search_scheme(job: bytes, workers: int, folder: Path | None) -> Scheme:
    """Do ``optimal_scheme_of_job``, once for each job: a verb may partition it several times."""
    proto = JobProto.FromString(job)
    own = devices_of_cluster(proto.cluster).first(workers) if proto.cluster.device else _host_devices(workers)
    priced = PricedJob(proto, folder, own, {})
    found: list[FoundPlan | StagedPlan] = [*search_plans(priced, LIMIT).best_plans(1)]
    found += search_staged_plans(priced, [proto.neuralnet.micro_batches], LIMIT)
    return scheme_from_choices(min(found, key=lambda plan: plan.seconds).choices)


@cache
def _host_devices(workers: int) -> Devices:
    """Workers of this host by the figures that are kept for it, so that all verbs make one plan; without these measured
    now, so that at least one process does."""
    figures = read_host_figures()
    return measure_devices(workers) if figures is None else figured_devices(workers, figures)
