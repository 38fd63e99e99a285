"""The network that the cluster of a job describes: links by the names of devices, and hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from netpart.collectives.network import HostPath, LinkCost, Network, Pair
from netpart.errors import ConfigError, FieldPath

if TYPE_CHECKING:
    from netpart.proto.device_pb2 import HostProto
    from netpart.proto.job_pb2 import ClusterProto


def read_network(cluster: ClusterProto, names: Sequence[str]) -> Network:
    """The network of workers on devices with ``names``; raises ConfigError, with its place, for invalid values."""
    links = dict(_named_links(cluster, set(names)))
    link = links.pop(frozenset(), LinkCost())
    paths, hosts = host_paths(cluster, len(names))
    return Network(tuple(names), link, tuple(links.items()), paths, hosts)


def device_names(cluster: ClusterProto) -> list[str]:
    """The name of each device of ``cluster``, in the order of the workers."""
    return [device.name or f"device {i}" for i, device in enumerate(cluster.device) for _ in range(device.count)]


def network_of_hosts(cluster: ClusterProto, workers: int) -> Network | None:
    """The network of ``workers`` workers if ``cluster`` has hosts. Workers beyond its devices have no name."""
    if not cluster.host:
        return None
    names = device_names(cluster)
    return read_network(cluster, (names + [""] * workers)[: max(workers, len(names))])


def _named_links(cluster: ClusterProto, names: set[str]) -> Iterator[tuple[Pair, LinkCost]]:
    """The links by the device names that they connect; the empty set is the default link."""
    for i, proto in enumerate(cluster.link):
        at: FieldPath = ("cluster", "link", i)
        unknown = [name for name in proto.between if name not in names]
        if unknown or len(proto.between) > 2:
            got = ", ".join(unknown or proto.between)
            hint = f"the devices are {', '.join(sorted(names))}"
            raise ConfigError("link", "the names of one or two devices", got, hint, at=(*at, "between"))
        refuse_zero("link", "bandwidth", proto.bandwidth, at)
        yield frozenset(proto.between), LinkCost(proto.latency, proto.overhead, proto.bandwidth)


def host_paths(cluster: ClusterProto, workers: int) -> tuple[tuple[HostPath, ...], tuple[LinkCost, ...]]:
    """The hosts of each worker, the outermost first, and the port of each host; hosts without a worker are omitted."""
    paths: list[HostPath] = [()] * workers
    hosts: list[LinkCost] = []
    # The outermost level first, so that each level is appended to the paths of those outside it.
    for level in sorted({host.level for host in cluster.host}, reverse=True):
        first = 0
        for at, proto, port in _hosts_of_level(cluster, level):
            inside = range(first, min(first + proto.workers, workers))
            first += proto.workers
            outside = {paths[worker] for worker in inside}
            if len(outside) > 1:
                raise _split_host(proto, inside, at)
            for worker in inside:
                paths[worker] = (*paths[worker], len(hosts))
            hosts += [port] * bool(inside)
    return tuple(paths) if hosts else (), tuple(hosts)


def _hosts_of_level(cluster: ClusterProto, level: int) -> Iterator[tuple[FieldPath, HostProto, LinkCost]]:
    """Each host of a level, ``count`` times, with its place in the job and its port."""
    for i, proto in enumerate(cluster.host):
        at: FieldPath = ("cluster", "host", i)
        if proto.level == level:
            refuse_zero(proto.name or "host", "workers", proto.workers, at)
            bandwidth = proto.bandwidth if proto.HasField("bandwidth") else inf
            refuse_zero(proto.name or "host", "bandwidth", bandwidth, at)
            yield from [(at, proto, LinkCost(proto.latency, proto.overhead, bandwidth))] * proto.count


def _split_host(proto: HostProto, inside: range, at: FieldPath) -> ConfigError:
    """The error for a host whose workers are in several hosts of a higher level, or only partly in one."""
    who = f"{proto.name or 'host'} of level {proto.level}"
    got = f"workers {inside[0]} to {inside[-1]}, which are not all inside the same one"
    hint = "a host of a higher level has the workers of whole hosts: correct workers, or the order of the hosts"
    return ConfigError(who, "workers of one host of each higher level", got, hint, at=(*at, "workers"))


def refuse_zero(who: str, name: str, value: float, at: FieldPath) -> None:
    """Raise ConfigError for a number that is not above 0."""
    # Not ``value <= 0``, which is False for NaN.
    if not value > 0:
        example = "4" if name in ("workers", "count") else "1e9"
        raise ConfigError(who, f"{name} above 0", f"{value:g}", f"write for example {name}: {example}", at=(*at, name))
