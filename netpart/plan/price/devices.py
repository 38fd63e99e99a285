"""Devices: the speed and the memory of each worker, the links between workers, and the hosts that they are in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from netpart.collectives.cluster_network import device_names, host_paths, read_network, refuse_zero
from netpart.collectives.network import HostPath, LinkCost, Network, Pair
from netpart.errors import ConfigError, FieldPath
from netpart.plan.timings.product_speed import product_speed, quickest_seconds
from netpart.proto.job_pb2 import ClusterProto
from netpart.proto.reader import read_job
from netpart.units import plural_text


@dataclass(frozen=True)
class DeviceSpec:
    """The device of one worker.

    ``speed`` is its work per second (FLOPs, or seconds of a profile), ``memory`` the bytes that it may use.
    ``streaming`` is the bytes per second that it reads and writes when it does little else, as in updates.
    """

    name: str
    speed: float
    memory: float = float("inf")
    streaming: float = float("inf")


@dataclass(frozen=True)
class Devices:
    """A device per worker. ``links`` holds the links between two device names, or within one; ``link`` is used for all
    others. ``paths`` are the hosts of each worker and ``hosts`` their ports, as in ``Network``. ``sums`` is the link of
    sums of gradients with what copying and adding them takes, if that was measured."""

    devices: tuple[DeviceSpec, ...]
    link: LinkCost = field(default_factory=LinkCost)
    links: dict[Pair, LinkCost] = field(default_factory=dict)
    paths: tuple[HostPath, ...] = ()
    hosts: tuple[LinkCost, ...] = ()
    sums: LinkCost | None = None

    def __len__(self) -> int:
        return len(self.devices)

    @property
    def speeds(self) -> list[float]:
        """Work per second of each worker."""
        return [device.speed for device in self.devices]

    @cached_property
    def summing(self) -> Devices:
        """The devices with the links of sums of gradients."""
        return self if self.sums is None else replace(self, link=self.sums, links={}, sums=None)

    @cached_property
    def network(self) -> Network:
        """The network of all workers."""
        names = tuple(device.name for device in self.devices)
        return Network(names, self.link, tuple(self.links.items()), self.paths, self.hosts)

    def between(self, workers: Iterable[int]) -> LinkCost:
        """The worst latency, overhead and bandwidth of all messages between ``workers``."""
        return self.network.among(workers)

    def first(self, workers: int) -> Devices:
        """The devices of the first ``workers`` workers; raises ConfigError if there are fewer."""
        if workers > len(self):
            hint = "name more devices, or plan for fewer --workers"
            raise ConfigError("--workers", f"at most the {plural_text(len(self), 'device')}", str(workers), hint)
        return replace(self, devices=self.devices[:workers], paths=self.paths[:workers])

    def of(self, workers: Sequence[int]) -> Devices:
        """The devices of ``workers``."""
        paths = tuple(self.paths[worker] for worker in workers) if self.paths else ()
        return replace(self, devices=tuple(self.devices[worker] for worker in workers), paths=paths)

    def relative(self) -> Devices:
        """The devices with speeds as multiples of the fastest, for work that is measured in seconds of the fastest."""
        fastest = max(self.speeds)
        return replace(self, devices=tuple(replace(d, speed=d.speed / fastest) for d in self.devices))


def read_devices(path: Path) -> Devices:
    """The devices of a file in ``workers/``; raises ConfigError, with its place, for a file that names none."""
    job = read_job(path)
    with job.explaining():
        if not job.proto.cluster.device:
            hint = 'write cluster { device { name: "a" count: 2 flops: 1e10 } }'
            raise ConfigError(str(path), "devices", "none", hint, at=("cluster",))
        return devices_of_cluster(job.proto.cluster)


def devices_of_cluster(cluster: ClusterProto) -> Devices:
    """The devices, links and hosts of a cluster; raises ConfigError, with its place, for invalid values."""
    found: list[DeviceSpec] = []
    for i, proto in enumerate(cluster.device):
        at: FieldPath = ("cluster", "device", i)
        refuse_zero(proto.name or f"device {i}", "flops", proto.flops, at)
        refuse_zero(proto.name or f"device {i}", "count", proto.count, at)
        memory = proto.memory if proto.HasField("memory") else float("inf")
        found += [DeviceSpec(proto.name or f"device {i}", proto.flops, memory)] * proto.count
    network = read_network(cluster, device_names(cluster))
    return Devices(tuple(found), network.link, dict(network.links), network.paths, network.hosts)


def devices_in_hosts(devices: Devices, cluster: ClusterProto) -> Devices:
    """``devices`` in the hosts of ``cluster``, if it has any."""
    paths, hosts = host_paths(cluster, len(devices))
    return replace(devices, paths=paths, hosts=hosts, sums=None if hosts else devices.sums)


def equal_devices(
    workers: int, speed: float = 1.0, memory: float = float("inf"), link: LinkCost | None = None,
    streaming: float = float("inf"),
) -> Devices:  # fmt: skip
    """``workers`` devices with the same figures."""
    return Devices((DeviceSpec("device", speed, memory, streaming),) * workers, link or LinkCost())


def measure_devices(workers: int, cores: int | None = None) -> Devices:
    """Devices for ``workers`` processes on this host, measured.

    A core is timed in a matrix product and in a sum of arrays. If there are fewer ``cores`` than workers, they share
    its speed. Each worker gets an even share of the memory.
    """
    cores = cores or len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / workers
    share = min(1.0, cores / workers)
    return equal_devices(workers, product_speed() * share, memory, streaming=_streaming_speed() * share)


def _streaming_speed(elements: int = 1 << 23, tries: Sequence[int] = range(3)) -> float:
    """Bytes per second that a core reads and writes while it adds one array to another; the best of a few tries."""
    a = np.ones(elements, np.float32)
    total = np.ones(elements, np.float32)
    # Three streams: two arrays are read and one is written.
    return 3 * a.nbytes / quickest_seconds(lambda: np.add(total, a, out=total), tries)
