"""Devices: the speed and the memory of each worker, and the links between workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from time import perf_counter

import numpy as np

from netpart.collectives.price import LinkCost
from netpart.errors import ConfigError, FieldPath
from netpart.proto.job_pb2 import ClusterProto
from netpart.proto.reader import read_job
from netpart.units import plural_text

Pair = frozenset[str]


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
    others."""

    devices: tuple[DeviceSpec, ...]
    link: LinkCost = field(default_factory=LinkCost)
    links: dict[Pair, LinkCost] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.devices)

    @property
    def speeds(self) -> list[float]:
        """Work per second of each worker."""
        return [device.speed for device in self.devices]

    def between(self, workers: Iterable[int]) -> LinkCost:
        """The worst latency, overhead and bandwidth of all links between ``workers``."""
        # Two workers with devices of one name form a pair of that name with itself, which is a link within the name.
        names = [self.devices[w].name for w in sorted(set(workers))]
        found = [self.links.get(frozenset(pair), self.link) for pair in combinations(names, 2)] or [self.link]
        return LinkCost(
            max(link.latency for link in found),
            max(link.overhead for link in found),
            min(link.bandwidth for link in found),
        )

    def first(self, workers: int) -> Devices:
        """The devices of the first ``workers`` workers; raises ConfigError if there are fewer."""
        if workers > len(self):
            hint = "name more devices, or plan for fewer --workers"
            raise ConfigError("--workers", f"at most the {plural_text(len(self), 'device')}", str(workers), hint)
        return replace(self, devices=self.devices[:workers])

    def of(self, workers: Sequence[int]) -> Devices:
        """The devices of ``workers``."""
        return replace(self, devices=tuple(self.devices[worker] for worker in workers))

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
    """The devices and links of a cluster; raises ConfigError, with its place, for invalid values."""
    found: list[DeviceSpec] = []
    for i, proto in enumerate(cluster.device):
        at: FieldPath = ("cluster", "device", i)
        _check_positive(proto.name or f"device {i}", "flops", proto.flops, at)
        _check_positive(proto.name or f"device {i}", "count", proto.count, at)
        memory = proto.memory if proto.HasField("memory") else float("inf")
        found += [DeviceSpec(proto.name or f"device {i}", proto.flops, memory)] * proto.count
    links = dict(_named_links(cluster, {device.name for device in found}))
    return Devices(tuple(found), links.pop(frozenset(), LinkCost()), links)


def _named_links(cluster: ClusterProto, names: set[str]) -> Iterator[tuple[Pair, LinkCost]]:
    """The links by the device names that they connect; the empty set is the default link."""
    for i, proto in enumerate(cluster.link):
        at: FieldPath = ("cluster", "link", i)
        unknown = [name for name in proto.between if name not in names]
        if unknown or len(proto.between) > 2:
            got = ", ".join(unknown or proto.between)
            hint = f"the devices are {', '.join(sorted(names))}"
            raise ConfigError("link", "the names of one or two devices", got, hint, at=(*at, "between"))
        _check_positive("link", "bandwidth", proto.bandwidth, at)
        yield frozenset(proto.between), LinkCost(proto.latency, proto.overhead, proto.bandwidth)


def _check_positive(who: str, name: str, value: float, at: FieldPath) -> None:
    """Raise ConfigError for a number that is not above 0."""
    # Not ``value <= 0``, which is False for NaN.
    if not value > 0:
        raise ConfigError(who, f"{name} above 0", f"{value:g}", f"write for example {name}: 1e9", at=(*at, name))


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
    return 3 * a.nbytes / _quickest_seconds(lambda: np.add(total, a, out=total), tries)


def product_speed(n: int = 256, tries: Sequence[int] = range(5)) -> float:
    """FLOPs per second of a product of two n×n float32 matrices; the best of a few tries."""
    a = np.full((n, n), 0.5, np.float32)
    out = np.empty_like(a)
    return 2 * n**3 / _quickest_seconds(lambda: np.matmul(a, a, out=out), tries)


def _quickest_seconds(work: Callable[[], object], tries: Sequence[int]) -> float:
    """The least time, in seconds, that ``work`` took in a few tries; other processes can only make it slower."""
    best = float("inf")
    for _ in tries:
        started = perf_counter()
        work()
        best = min(best, perf_counter() - started)
    return best
