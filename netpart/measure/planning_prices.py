"""The devices that a job is planned for, and what the parts of the job cost on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import monotonic

from netpart.choices import SECONDS
from netpart.errors import MemoryRefused
from netpart.graph.build import build_net
from netpart.graph.partition import Partition
from netpart.graph.uncut import partition_uncut
from netpart.measure.host_calibration import host_figures
from netpart.measure.layer_seconds import measure_layers
from netpart.measure.model_simulation import simulated_step_seconds
from netpart.measure.other_load import DISTURBED, OtherLoad
from netpart.plan.price.devices import (
    Devices,
    devices_in_hosts,
    devices_of_cluster,
    equal_devices,
    measure_devices,
)
from netpart.plan.price.host_devices import figured_devices
from netpart.plan.price.layer_loads import measured_profile, priced_profile, profile_net, work_rates
from netpart.plan.price.named_devices import named_devices
from netpart.plan.price.net_profile import NetProfile
from netpart.plan.price.part_prices import CountedPrices, PartPrices, TimedPrices
from netpart.plan.search.simulated_rows import StepSimulator
from netpart.plan.timings.host_figures import HostFigures
from netpart.plan.timings.kernel_times import KernelTimes
from netpart.plan.timings.product_speed import product_speed
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import ClusterProto
from netpart.proto.reader import Job
from netpart.threads import available_cores, kernel_threads

NOTED = 2.0
"""Seconds of timing after which a note is made, and between notes."""

Note = Callable[[str], None]
"""Function that is called with each note for the user."""


@dataclass(frozen=True)
class PlanningRequest:
    """What to plan for, and how long. None stands for the default of the option of `netpart plan` of that name.

    ``workers`` are the first so many devices. ``devices`` is a file of devices, links and hosts; ``bandwidth``, in
    bytes per second, replaces that of every link. ``by`` is "kernels", "flops" or "profile": where the work of layers
    comes from. ``partitions`` is the number of blocks that allocators place, ``group`` the devices that share the rows
    of each, ``slack`` the capacity of devices above their fair share. ``limit``, in seconds, is that of all
    searches, and that of timing kernels.
    """

    workers: int | None = None
    devices: Path | None = None
    bandwidth: float | None = None
    by: str | None = None
    partitions: int | None = None
    group: int | None = None
    objective: str = SECONDS
    slack: float | None = None
    micro_batches: int | None = None
    limit: float = 10.0


@dataclass
class PlanningPrices:
    """The devices, the work of each layer of the uncut net, and the prices of its parts. ``simulate`` simulates a step
    at counted FLOPs; None if prices are measured."""

    devices: Devices
    profile: NetProfile
    prices: PartPrices
    simulate: StepSimulator | None = None


def _chosen_measure(request: PlanningRequest, job: Job) -> str:
    """The measure of ``request``, or its default: timed kernels for this host, FLOPs for named devices and for GPUs."""
    named = request.devices or job.proto.cluster.device
    on_gpu = job_kernel_class(job.proto).runs_on != "cpu"
    return request.by or ("flops" if named or on_gpu else "kernels")


@contextmanager
def planning_prices(job: Job, request: PlanningRequest, note: Note) -> Iterator[PlanningPrices]:
    """The prices of a job for one search. Timed kernels are kept at its end, if nothing disturbed them."""
    by = _chosen_measure(request, job)
    counted = profile_net(build_net(job.proto, "train", job.folder), float_size(job.proto))
    if by == "kernels":
        with _timed_prices(job, request, counted, note) as found:
            yield found
    else:
        yield _counted_prices(job, request, counted, by)


def _counted_prices(job: Job, request: PlanningRequest, counted: NetProfile, by: str) -> PlanningPrices:
    """Prices by counted FLOPs, or by measured seconds of each layer."""
    devices = _planned_devices(job, request, None)
    profile = counted
    if by == "profile":
        profile = measured_profile(counted, measure_layers(job.proto, job.folder), product_speed())
    simulate = _counted_simulator(devices) if by == "flops" else None
    return PlanningPrices(devices, profile, CountedPrices(work_rates(counted, profile)), simulate)


def _counted_simulator(devices: Devices) -> StepSimulator:
    """The simulation of a step on ``devices`` at counted FLOPs, where this host has the memory for each worker."""

    def simulate(partition: Partition) -> float | None:
        try:
            return simulated_step_seconds(partition, devices.network, devices.speeds)
        except MemoryRefused:
            return None

    return simulate


@contextmanager
def _timed_prices(job: Job, request: PlanningRequest, counted: NetProfile, note: Note) -> Iterator[PlanningPrices]:
    """Prices by timed kernels, with at most ``request.limit`` seconds of timing."""
    cluster = job.proto.cluster
    alone = request.devices or cluster.device or cluster.link or job.worker_count == 1
    figures = host_figures(note, None if alone else "auto")
    load = OtherLoad()
    times = make_kernel_times(job, figures, request.limit, note)
    prices = TimedPrices(times, available_cores())
    uncut = partition_uncut(job.proto, job.folder, ("train",))
    yield PlanningPrices(_planned_devices(job, request, figures), priced_profile(counted, prices, uncut.graph), prices)
    if times.estimated:
        note(f"timed {times.timed} kernel calls, estimated {times.estimated} (a larger --limit times more)")
    others = load.cores()
    if times.timed and others > DISTURBED:
        used = f"other processes used {others:.2f} cores"
        note(f"timings: expected a quiet host, but {used}: they are not kept, and measured again the next time")
    else:
        times.save()


def make_kernel_times(job: Job, figures: HostFigures, limit: float, note: Note) -> KernelTimes:
    """The seconds of the kernels of ``job``, timed for at most ``limit`` seconds, with a note while that lasts."""
    noted = monotonic()

    def show_progress() -> None:
        nonlocal noted
        if monotonic() - noted > NOTED:
            noted = monotonic()
            left = "" if times.budget == inf else f", {max(0.0, times.budget):.0f} s left"
            note(f"timing kernels: {times.timed} calls so far{left}")

    dtype = f"float{8 * float_size(job.proto)}"
    threads = kernel_threads(os.environ)
    times = KernelTimes(job_kernel_class(job.proto), dtype, threads, figures, limit, show_progress)
    return times


def _planned_devices(job: Job, request: PlanningRequest, figures: HostFigures | None) -> Devices:
    """The devices of the request or of the job; or as many as the job has workers like this host's cores, with
    ``figures`` or else measured now."""
    cluster = job.proto.cluster
    if request.devices or cluster.device:
        otherwise = devices_of_cluster(cluster) if cluster.device else equal_devices(1)
        return named_devices(request.devices, request.workers, request.bandwidth, otherwise)
    workers = job.worker_count
    found = measure_devices(workers) if figures is None else figured_devices(workers, figures)
    if cluster.link:
        found = replace(found, link=devices_of_cluster(ClusterProto(link=cluster.link)).link, sums=None)
    return named_devices(None, workers, request.bandwidth, devices_in_hosts(found, cluster))
