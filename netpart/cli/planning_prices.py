"""The devices that netpart plan plans for, and what the parts of a job cost on them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpart.graph.partition import Partition
    from netpart.plan.price.devices import Devices
    from netpart.plan.price.net_profile import NetProfile
    from netpart.plan.price.part_prices import PartPrices
    from netpart.plan.search.simulated_rows import StepSimulator
    from netpart.plan.timings.host_figures import HostFigures
    from netpart.plan.timings.kernel_times import KernelTimes
    from netpart.proto.reader import Job

NOTED = 2.0
"""Seconds of timing after which a note is printed, and between notes."""


@dataclass
class PlanningPrices:
    """The devices, the work of each layer of the uncut net, and the prices of its parts. ``simulate`` simulates a step
    at counted FLOPs; None if prices are measured."""

    devices: Devices
    profile: NetProfile
    prices: PartPrices
    simulate: StepSimulator | None = None


def _chosen_measure(args: argparse.Namespace, job: Job) -> str:
    """--by, or its default: timed kernels for this host, and counted FLOPs for named devices and for GPUs."""
    from netpart.program.kernel_choice import job_kernel_class

    named = args.devices or job.proto.cluster.device
    on_gpu = job_kernel_class(job.proto).runs_on != "cpu"
    return str(args.by or ("flops" if named or on_gpu else "kernels"))


@contextmanager
def planning_prices(args: argparse.Namespace, job: Job) -> Iterator[PlanningPrices]:
    """The prices of a job for one command. Timed kernels are kept at its end, if nothing disturbed them."""
    from netpart.cli.common import job_float_size
    from netpart.cli.threads import limit_threads
    from netpart.launch.control.cores import requested_threads

    # Before libraries are loaded. Of named devices the speed is what counts, so one thread is timed.
    if not (args.devices or job.proto.cluster.device):
        limit_threads(job.worker_count, requested_threads(job.proto))
    elif args.by == "kernels":
        limit_threads(1, 1)
    from netpart.graph.build import build_net
    from netpart.plan.price.layer_loads import profile_net

    by = _chosen_measure(args, job)
    counted = profile_net(build_net(job.proto, "train", job.folder), job_float_size(job))
    if by == "kernels":
        with _timed_prices(args, job, counted) as found:
            yield found
    else:
        yield _counted_prices(args, job, counted, by)


def _counted_prices(args: argparse.Namespace, job: Job, counted: NetProfile, by: str) -> PlanningPrices:
    """Prices by counted FLOPs, or by measured seconds of each layer."""
    from netpart.plan.price import devices as places
    from netpart.plan.price.layer_loads import measured_profile, work_rates
    from netpart.plan.price.part_prices import CountedPrices

    devices = _planned_devices(args, job, None)
    profile = counted
    if by == "profile":
        from netpart.measure.layer_seconds import measure_layers

        profile = measured_profile(counted, measure_layers(job.proto, job.folder), places.product_speed())
    simulate = _counted_simulator(devices) if by == "flops" else None
    return PlanningPrices(devices, profile, CountedPrices(work_rates(counted, profile)), simulate)


def _counted_simulator(devices: Devices) -> StepSimulator:
    """The simulation of a step on ``devices`` at counted FLOPs, where this host has the memory for each worker."""
    from netpart.errors import MemoryRefused
    from netpart.measure.simulate import simulated_step_seconds

    def simulate(partition: Partition) -> float | None:
        try:
            return simulated_step_seconds(partition, devices.network, devices.speeds)
        except MemoryRefused:
            return None

    return simulate


@contextmanager
def _timed_prices(args: argparse.Namespace, job: Job, counted: NetProfile) -> Iterator[PlanningPrices]:
    """Prices by timed kernels, with at most --limit seconds of timing."""
    from netpart.cli.print_note import print_note
    from netpart.graph.uncut import partition_uncut
    from netpart.measure.host_calibration import host_figures
    from netpart.measure.other_load import DISTURBED, OtherLoad
    from netpart.plan.price.layer_loads import priced_profile
    from netpart.plan.price.part_prices import TimedPrices
    from netpart.threads import available_cores

    cluster = job.proto.cluster
    alone = args.devices or cluster.device or cluster.link or job.worker_count == 1
    figures = host_figures(print_note, None if alone else "auto")
    load = OtherLoad()
    times = make_kernel_times(job, figures, args.limit)
    prices = TimedPrices(times, available_cores())
    uncut = partition_uncut(job.proto, job.folder, ("train",))
    yield PlanningPrices(_planned_devices(args, job, figures), priced_profile(counted, prices, uncut.graph), prices)
    if times.estimated:
        print_note(f"timed {times.timed} kernel calls, estimated {times.estimated} (a larger --limit times more)")
    others = load.cores()
    if times.timed and others > DISTURBED:
        used = f"other processes used {others:.2f} cores"
        print_note(f"timings: expected a quiet host, but {used}: they are not kept, and measured again the next time")
    else:
        times.save()


def make_kernel_times(job: Job, figures: HostFigures, limit: float) -> KernelTimes:
    """The seconds of the kernels of ``job``, timed for at most ``limit`` seconds, with a note while that lasts."""
    import os

    from netpart.cli.common import job_float_size
    from netpart.cli.print_note import print_note
    from netpart.plan.timings.kernel_times import KernelTimes
    from netpart.program.kernel_choice import job_kernel_class
    from netpart.threads import kernel_threads

    noted = monotonic()

    def show_progress() -> None:
        nonlocal noted
        if monotonic() - noted > NOTED:
            noted = monotonic()
            left = "" if times.budget == inf else f", {max(0.0, times.budget):.0f} s left"
            print_note(f"timing kernels: {times.timed} calls so far{left}")

    dtype = f"float{8 * job_float_size(job)}"
    threads = kernel_threads(os.environ)
    times = KernelTimes(job_kernel_class(job.proto), dtype, threads, figures, limit, show_progress)
    return times


def _planned_devices(args: argparse.Namespace, job: Job, figures: HostFigures | None) -> Devices:
    """The devices of --devices or of the job; or as many as the job has workers like this host's cores, with
    ``figures`` or else measured now."""
    from dataclasses import replace

    from netpart.cli.devices import named_devices
    from netpart.plan.price import devices as places
    from netpart.plan.price.host_devices import figured_devices
    from netpart.proto.job_pb2 import ClusterProto

    cluster = job.proto.cluster
    if args.devices or cluster.device:
        otherwise = places.devices_of_cluster(cluster) if cluster.device else places.equal_devices(1)
        return named_devices(args, args.workers, otherwise)
    workers = job.worker_count
    found = places.measure_devices(workers) if figures is None else figured_devices(workers, figures)
    if cluster.link:
        found = replace(found, link=places.devices_of_cluster(ClusterProto(link=cluster.link)).link)
    return named_devices(args, workers, places.devices_in_hosts(found, cluster))
