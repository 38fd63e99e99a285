"""Simulation of a cut job on workers and links as a user describes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netpart.collectives.network import LinkCost, Network
from netpart.errors import ConfigError
from netpart.graph.partition import Partition
from netpart.measure.host_calibration import kept_link
from netpart.measure.model_simulation import simulate_counted
from netpart.measure.profile import ProfiledRun
from netpart.measure.simulate import simulate_partition, worker_speeds
from netpart.plan.price.devices import Devices, devices_in_hosts, equal_devices, read_devices
from netpart.plan.timings.product_speed import product_speed
from netpart.progress import report_progress
from netpart.units import bytes_text, seconds_text

TIME, FLOPS = SIMULATED_BY = "time", "flops"
"""Seconds of kernels: measured here, or computed from counted FLOPs."""


@dataclass(frozen=True)
class SimulationRequest:
    """What is simulated: ``steps`` steps, after those to warm up.

    ``link`` connects all workers (None: as measured between two processes of this host), and ``speeds`` are those of
    their devices relative to this machine (default: all 1). ``devices``, a file of devices, links and hosts, takes the
    place of both. Unless ``every`` worker is to be in the timeline, one is played for all that act alike.
    """

    steps: int = 5
    link: LinkCost | None = None
    speeds: Sequence[float] = ()
    devices: Path | None = None
    by: str = TIME
    every: bool = True


def read_simulated_devices(request: SimulationRequest) -> Devices | None:
    """The devices of a file, None without one. Raises ConfigError if another part of the request says otherwise."""
    for name, value in (("--link", request.link), ("--speeds", request.speeds)):
        if request.devices and value:
            expected = "no --devices, which define it"
            raise ConfigError(name, expected, f"--devices {request.devices}", "omit one of the two")
    return read_devices(request.devices) if request.devices else None


def simulate_job(cut: Partition, request: SimulationRequest, note: Callable[[str], None]) -> ProfiledRun:
    """Simulate training steps of ``cut``; ``note`` is called with each line about what is measured.

    Raises ConfigError if the request does not fit the workers of ``cut``.
    """
    devices = read_simulated_devices(request)
    speeds, flops = _used_speeds(request, cut.workers, devices)
    network = _used_network(request, cut, devices, note)
    report_progress("simulating")
    if not flops:
        return simulate_partition(cut, request.steps, network, speeds)
    return simulate_counted(cut, network, [flops * speed for speed in speeds], request.steps, request.every)


def _used_speeds(request: SimulationRequest, workers: int, devices: Devices | None) -> tuple[list[float], float]:
    """The speed of each worker's device, and what these are multiples of: FLOPs per second, or 0 for this machine."""
    speeds = devices.first(workers).speeds if devices else worker_speeds(workers, request.speeds)
    if request.by == FLOPS:
        return speeds, 1.0 if devices else product_speed()
    here = product_speed() if devices else 1.0
    return [speed / here for speed in speeds], 0.0


def _used_network(
    request: SimulationRequest, cut: Partition, devices: Devices | None, note: Callable[[str], None]
) -> Network:
    """The network of all workers: that of the devices, else one link within and between the hosts of the job."""
    if devices is None:
        devices = devices_in_hosts(equal_devices(cut.workers, link=_used_link(request, note)), cut.job.cluster)
    return devices.first(cut.workers).network


def _used_link(request: SimulationRequest, note: Callable[[str], None]) -> LinkCost:
    """The link of all workers: that of the request, or as measured. Notes it."""
    report_progress("measuring the link")
    used = request.link or kept_link(note)
    latency = seconds_text(used.latency)
    overhead = seconds_text(used.overhead)
    option = f"--link {used.latency:.3g},{used.bandwidth:.3g}"
    note(f"link: latency {latency}, {bytes_text(used.bandwidth)}/s, {overhead} busy at either end ({option})")
    return used
