"""Simulated clocks and wires: workers are threads of one process, and only one of them computes at a time.

Each worker has its own clock. Its computation is real, and advances its clock by the time taken divided by the speed of
its device. A send costs what its link and the ports on its way define. The worker whose clock is furthest behind runs
next, so none can miss a message that another one sends earlier. This is a conservative simulation of discrete events
(Chandy and Misra, Distributed simulation, IEEE TSE 5, 1979) whose events are the calls of the transport.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from math import inf
from threading import Event
from time import perf_counter

import numpy as np

from netpart.collectives.network import Network
from netpart.errors import TransportError
from netpart.transport.frames import Array, Channel, FrameHeader
from netpart.transport.transport import Transport


class SimulatedClocks:
    """The clocks of workers whose devices have ``speeds`` (1: this machine), in seconds."""

    def __init__(self, speeds: Sequence[float]) -> None:
        self.speeds = speeds
        self.now = [0.0] * len(speeds)
        self.wakes = [0.0] * len(speeds)
        self.turns = [Event() for _ in speeds]
        self.ended = set[int]()
        self.resumed = 0.0
        self.error = ""

    def reading(self, worker: int) -> float:
        """The current time on the clock of the worker that computes."""
        return self.now[worker] + (perf_counter() - self.resumed) / self.speeds[worker]

    def stop(self, worker: int) -> None:
        """Stop the clock of the worker that computes: the following work is the simulation's, not the worker's."""
        self.now[worker] = self.reading(worker)
        self.resumed = perf_counter()

    def spend(self, worker: int, seconds: float) -> None:
        """Advance a stopped clock by ``seconds``."""
        self.now[worker] += seconds
        self.resumed = perf_counter()

    def yield_until(self, worker: int, wakes: float) -> None:
        """Let the workers that are further behind run; return at this worker's next turn, not before ``wakes`` on its
        clock.

        A message that arrives earlier may move the wake-up time forward. Raises TransportError when no worker can run.
        """
        self.wakes[worker] = max(wakes, self.now[worker])
        # Cleared before the turn is passed on: this worker may get it back at once, and that signal must not be lost.
        self.turns[worker].clear()
        self.pass_on()
        self.turns[worker].wait()
        if self.error:
            raise TransportError(self.error)
        self.now[worker] = max(self.now[worker], self.wakes[worker])
        self.resumed = perf_counter()

    def wake(self, worker: int, instant: float) -> None:
        """Let a waiting worker run at ``instant`` of its clock, if not earlier. Has no effect on a worker that has
        ended."""
        if worker not in self.ended:
            self.wakes[worker] = min(self.wakes[worker], max(instant, self.now[worker]))

    def begin(self, worker: int) -> None:
        """Wait for the first turn of a worker's thread."""
        self.turns[worker].wait()
        self.resumed = perf_counter()

    def end(self, worker: int) -> None:
        """Remove a worker that has finished from the simulation."""
        self.wakes[worker] = inf
        self.ended.add(worker)
        if any(wakes < inf for wakes in self.wakes):
            self.pass_on()

    def pass_on(self) -> None:
        """Give the turn to the worker that can run earliest."""
        first = min(range(len(self.wakes)), key=self.wakes.__getitem__)
        if self.wakes[first] == inf:
            self.fail("simulation: no worker can continue; this is a fault of netpart, please report it with the job")
        self.turns[first].set()

    def fail(self, error: str) -> None:
        """End the simulation: every worker raises ``error``, or the first error if there was one before."""
        self.error = self.error or error
        for turn in self.turns:
            turn.set()


class SimulatedWires:
    """The ports of the hosts of ``network`` and the entries of its workers: each passes one message after another."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.hosts = [0.0] * (2 * len(network.hosts))
        self.entries: dict[tuple[int, int], float] = {}

    def carry(self, source: int, target: int, nbytes: int, leaves: float) -> float:
        """The instant at which a message has arrived whose first byte leaves ``source`` at the instant ``leaves``.

        The first bytes go on while others follow. Messages must come in the order in which they leave.
        """
        link, ports, entry = self.network.route(source, target)
        last = 0.0
        for port in ports:
            leaves = max(leaves, self.hosts[port])
            self.hosts[port] = leaves + nbytes / self.network.hosts[port // 2].bandwidth
            last = max(last, self.hosts[port])
        entered = max(leaves + link.latency, self.entries.get((target, entry), 0.0)) + nbytes / link.bandwidth
        self.entries[target, entry] = entered
        return max(entered, last + link.latency)


class SimulatedTransport(Transport):
    """One worker's end of simulated wires; ``peers`` are the ends of all workers.

    Both ends are busy for the link's overhead, the sender also for the transfer of the bytes. Meanwhile the message
    passes the ports of hosts, is in flight for the latency, and enters the receiver, by one message after another.
    Without ``copies`` a message is the sender's array itself.
    """

    copies = True

    def __init__(
        self, rank: int, clocks: SimulatedClocks, peers: list[SimulatedTransport], wires: SimulatedWires
    ) -> None:
        super().__init__(rank)
        self._clocks = clocks
        self._peers = peers
        self._wires = wires
        self._coming: list[tuple[float, int, float, FrameHeader, Array]] = []
        self._numbers = count()

    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        self._clocks.stop(self.rank)
        # The sender may overwrite its array before the receiver's turn comes, unless nothing is computed.
        copied = np.array(array) if self.copies else array
        # Workers that are further behind send first: ports take messages in the order of time.
        self._clocks.yield_until(self.rank, self._clocks.now[self.rank])
        link = self._wires.network.route(self.rank, peer).cost
        self.carry(channel, step, peer, copied, self._clocks.now[self.rank] + link.overhead)
        self._clocks.spend(self.rank, link.overhead + array.nbytes / link.bandwidth)
        self._count(channel, array.nbytes, 0)

    def carry(self, channel: Channel, step: int, peer: int, array: Array, leaves: float) -> None:
        """Deliver a message whose first byte leaves at the instant ``leaves``."""
        arrives = self._wires.carry(self.rank, peer, array.nbytes, leaves)
        header = FrameHeader(self.rank, channel, step, array.dtype, array.shape)
        self._peers[peer].put(arrives, self._wires.network.route(self.rank, peer).cost.overhead, header, array)

    def put(self, arrives: float, overhead: float, header: FrameHeader, array: Array) -> None:
        """Queue a message that arrives at the instant ``arrives`` of the receiver's clock, and occupies the receiver
        for ``overhead``."""
        # The number breaks ties: it keeps messages of the same instant in order, and arrays are never compared.
        heappush(self._coming, (arrives, next(self._numbers), overhead, header, array))
        self._clocks.wake(self.rank, arrives)

    def wait(self, seconds: float) -> bool:
        self._take_in()
        while not self.mailbox.news():
            self._clocks.yield_until(self.rank, self._coming[0][0] if self._coming else inf)
            self._admit()
        return True

    def _take_in(self) -> None:
        self._clocks.stop(self.rank)
        self._clocks.yield_until(self.rank, self._clocks.now[self.rank])
        self._admit()

    def _admit(self) -> None:
        """Move the messages that have arrived by this worker's clock into its mailbox."""
        while self._coming and self._coming[0][0] <= self._clocks.now[self.rank]:
            _, _, overhead, header, array = heappop(self._coming)
            if self.mailbox.accepts(header):
                self.mailbox.put(header, array)
            self._clocks.spend(self.rank, overhead)
        self._clocks.resumed = perf_counter()

    def close(self) -> None:
        self._coming.clear()


def simulated_transports(clocks: SimulatedClocks, network: Network) -> list[SimulatedTransport]:
    """The transports of all workers."""
    peers: list[SimulatedTransport] = []
    wires = SimulatedWires(network)
    # All ends share this one list, which is complete only after the last of them is made.
    peers += [SimulatedTransport(rank, clocks, peers, wires) for rank in range(len(clocks.now))]
    return peers


__all__ = ["SimulatedClocks", "SimulatedTransport", "simulated_transports"]
