"""Networks: the links between workers, and the ports that the workers of a host share.

Workers are in hosts, hosts may be in racks, and so on: a tree. Every worker has a link to every other. A host, or a
rack, has a port, which all messages that leave it or enter it share:

    workers  0 1 2 3     4 5 6 7          from 1 to 6: the link, out of a, into b
             └──┬──┘     └──┬──┘
       hosts    a           b             a port sends and receives at the same time, each at its bandwidth
                └─────┬─────┘
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Costs = np.ndarray[Any, np.dtype[np.float64]]
Pair = frozenset[str]
HostPath = tuple[int, ...]
"""The hosts that a worker is in, by number, the outermost first."""


@dataclass(frozen=True)
class LinkCost:
    """``latency``: seconds in flight; ``overhead``: seconds at either end; ``bandwidth``: bytes per second.

    The defaults are round numbers for two processes of one host over ZeroMQ (``make bench-bridges``). Only their
    proportions matter for the choice of an algorithm.
    """

    latency: float = 40e-6
    overhead: float = 10e-6
    bandwidth: float = 1e9


FROM_HOSTS = -1
"""The entry of messages from other hosts."""


class Route(NamedTuple):
    """The way of a message: the ``cost`` of its own two ends, and the ``ports`` of hosts that it crosses, in order.

    Port 2 h is the way out of host h, port 2 h + 1 the way into it. A worker has an ``entry`` for each link, and one
    for all that comes from other hosts. Messages of different entries do not wait for each other.
    """

    cost: LinkCost
    ports: tuple[int, ...] = ()
    entry: int = 0


@dataclass(frozen=True)
class Network:
    """The network of workers 0, 1, …, with the device names ``names``.

    ``links`` are the links between two device names, or within one; ``link`` is used for all others. ``paths`` are the
    hosts of each worker, and ``hosts`` the port of each host. A message between two hosts has the latency of the link
    and of all ports that it crosses, and the largest overhead of these. It keeps its ends busy at the bandwidth of the
    link, and each port at that of the port.
    """

    names: tuple[str, ...]
    link: LinkCost = field(default_factory=LinkCost)
    links: tuple[tuple[Pair, LinkCost], ...] = ()
    paths: tuple[HostPath, ...] = ()
    hosts: tuple[LinkCost, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def worker_kinds(self) -> list[int]:
        """The same number for workers whose routes to others are alike."""
        return self._kinds

    def route(self, source: int, target: int) -> Route:
        """The way of a message from one worker to another."""
        ends = self._kinds[source], self._kinds[target]
        if ends not in self._routes:
            self._routes[ends] = self._find_route(source, target)
        return self._routes[ends]

    def find_pair_costs(self, sources: Numbers, targets: Numbers) -> tuple[Costs, Costs, Costs, Numbers]:
        """The overhead, the bandwidth, the latency and the entry of messages between pairs of workers."""
        kinds = self._kind_numbers
        pairs = kinds[sources], kinds[targets]
        overhead, bandwidth, latency, entry = self._kind_costs[:, pairs[0], pairs[1]]
        return overhead, bandwidth, latency, entry.astype(np.int64)

    @cached_property
    def _kind_numbers(self) -> Numbers:
        """The kind of each worker, as an array."""
        return np.array(self._kinds, np.int64)

    @cached_property
    def _kind_costs(self) -> Costs:
        """Overhead, bandwidth, latency and entry of the messages from one kind of workers to another."""
        first = {kind: worker for worker, kind in reversed(list(enumerate(self._kinds)))}
        count = len(first)
        # A worker stands for another one of its kind: the link is that within the kind.
        routes = [self._find_route(first[a], first[b]) for a in range(count) for b in range(count)]
        rows = [(r.cost.overhead, r.cost.bandwidth, r.cost.latency, r.entry) for r in routes]
        return np.array(rows, np.float64).T.reshape(4, count, count)

    def among(self, workers: Iterable[int]) -> LinkCost:
        """The worst latency, overhead and bandwidth of all messages between two of ``workers``."""
        of_kind: dict[int, list[int]] = {}
        for worker in sorted(set(workers)):
            of_kind.setdefault(self._kinds[worker], []).append(worker)
        first = [found[0] for found in of_kind.values()]
        pairs = [(a, b) for i, a in enumerate(first) for b in first[:i]]
        pairs += [(found[0], found[1]) for found in of_kind.values() if len(found) > 1]
        return _worst_link([self._alone(a, b) for pair in pairs for a, b in (pair, pair[::-1])] or [self.link])

    def part(self, workers: Sequence[int]) -> Network:
        """The network of ``workers`` alone, with the hosts that are of use to tell them apart, numbered anew.

        So equal parts of a network are equal.
        """
        paths = [self.paths[worker] if self.paths else () for worker in workers]
        shared = set(paths[0]).intersection(*paths[1:]) if paths else set()
        number: dict[int, int] = {}
        for path in paths:
            for host in path:
                if host not in shared:
                    number.setdefault(host, len(number))
        kept = tuple(tuple(number[host] for host in path if host in number) for path in paths) if number else ()
        names = tuple(self.names[worker] for worker in workers)
        return Network(names, self.link, self.links, kept, tuple(self.hosts[host] for host in number))

    @cached_property
    def _kinds(self) -> list[int]:
        """The same number for workers with the same name and the same hosts: their routes to others are alike."""
        numbers: dict[tuple[str, HostPath], int] = {}
        paths = self.paths or [()] * len(self.names)
        return [numbers.setdefault(kind, len(numbers)) for kind in zip(self.names, paths, strict=True)]

    @cached_property
    def _routes(self) -> dict[tuple[int, int], Route]:
        """The routes that were asked for, by the kinds of both ends."""
        return {}

    @cached_property
    def _named(self) -> dict[Pair, tuple[int, LinkCost]]:
        """``links``, numbered from 1, by their pairs."""
        return {pair: (number, link) for number, (pair, link) in enumerate(self.links, start=1)}

    def _find_route(self, source: int, target: int) -> Route:
        """``route``, worked out."""
        pair = frozenset((self.names[source], self.names[target]))
        entry, link = self._named.get(pair, (0, self.link))
        out, into = ([h for h in path if h not in other] for path, other in self._ends(source, target))
        crossed = [self.hosts[host] for host in (*out, *into)]
        # From the innermost host outwards, then from the outermost inwards.
        ports = (*(2 * host for host in reversed(out)), *(2 * host + 1 for host in into))
        latency = link.latency + sum(port.latency for port in crossed)
        cost = LinkCost(latency, max(each.overhead for each in (link, *crossed)), link.bandwidth)
        limited = tuple(port for port in ports if self.hosts[port // 2].bandwidth < inf)
        return Route(cost, limited, FROM_HOSTS if crossed else entry)

    def _alone(self, source: int, target: int) -> LinkCost:
        """The latency, overhead and bandwidth of a message if nothing else is sent."""
        cost, ports, _ = self.route(source, target)
        return replace(cost, bandwidth=min([cost.bandwidth, *(self.hosts[port // 2].bandwidth for port in ports)]))

    def _ends(self, source: int, target: int) -> list[tuple[HostPath, HostPath]]:
        """The hosts of either end, each with those of the other."""
        if not self.paths:
            return [((), ()), ((), ())]
        return [(self.paths[source], self.paths[target]), (self.paths[target], self.paths[source])]


def _worst_link(found: Sequence[LinkCost]) -> LinkCost:
    """The worst latency, overhead and bandwidth of some links."""
    return LinkCost(
        max(link.latency for link in found),
        max(link.overhead for link in found),
        min(link.bandwidth for link in found),
    )


def one_link_network(workers: int, link: LinkCost | None = None) -> Network:
    """A network in which all pairs have the same link."""
    return Network(("device",) * workers, link or LinkCost())
