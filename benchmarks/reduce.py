"""All-reduces of float32 among processes of one host: netpart's, compared with those of gloo and MPI.

    python -m benchmarks.reduce RANK MEMBERS        one member of netpart's

A contender is started, reduces tensors of all SIZES in place, prints the seconds of each, and ends. Contenders take
turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.contenders import DEADLINE, MPIEXEC, ROOT, YIELDING
from benchmarks.rows import CORES, Row
from netpart.collectives.kinds import ALL_REDUCE
from netpart.program.exchange import Exchange, plan_exchange
from netpart.program.messages.wire_memory import AHEAD
from netpart.transport.shm import ShmTransport
from netpart.transport.transport import Array, Channel
from netpart.worker.collective_progress import CollectiveProgress

RUN = b"reduces!"
SIZES = {1 << 10: 500, 1 << 16: 200, 1 << 20: 40, 64 << 20: 4}
"""Bytes of a tensor, and how many all-reduces of it are timed together."""
BURSTS = 6
"""Bursts of each size; the first is not counted."""
MEMBERS, ROUNDS = (2, 4), 3
GLOO, MPI = "gloo", "mpi"
LARGE = 1 << 16
"""Bytes from which MPI's speed is a goal."""

Seconds = dict[int, float]
"""Seconds of one all-reduce, by the bytes of its tensor."""


def timed(reduce: Callable[[Array], object]) -> Seconds:
    """The median over bursts; ``reduce`` works in place and is called by all members alike."""
    return {nbytes: median(bursts(reduce, np.zeros(nbytes // 4, np.float32), n)) for nbytes, n in SIZES.items()}


def bursts(reduce: Callable[[Array], object], array: Array, many: int) -> Iterator[float]:
    """Seconds of one all-reduce, burst by burst."""
    for burst in range(BURSTS):
        began = perf_counter()
        for _ in range(many):
            reduce(array)
        if burst:
            yield (perf_counter() - began) / many


class Member:
    """One of ``n`` processes that all-reduce through shared memory, as a worker does."""

    def __init__(self, rank: int, n: int) -> None:
        self.transport, self.rank = ShmTransport(rank, RUN, n), rank
        self.exchanges = {nbytes: self.exchange(nbytes, n) for nbytes in SIZES}
        self.progress: dict[int, tuple[Array, CollectiveProgress]] = {}
        for nbytes, found in self.exchanges.items():
            for index, m in enumerate(found.schedule):
                if m.target == rank:
                    shape = (found.elements(m.blocks),)
                    self.transport.expect(channel(nbytes, index), m.source, shape, np.float32, AHEAD)
        self.steps = dict.fromkeys(SIZES, 0)

    def exchange(self, nbytes: int, n: int) -> Exchange:
        """The exchange that all-reduces a tensor of ``nbytes``."""
        return plan_exchange(ALL_REDUCE, tuple(range(n)), ((0, nbytes // 4),), (), "auto", 4)

    def reduce(self, array: Array) -> None:
        """Sum ``array`` over all members, in place."""
        step, progress = self.steps[array.nbytes], self.bound(array)
        self.steps[array.nbytes] += 1
        self.send(array, step, progress.start())
        while (expected := progress.expects()) is not None:
            name = channel(array.nbytes, expected[1])
            while (arrived := self.transport.receive(name, step)) is None:
                if not self.transport.wait(DEADLINE):
                    raise TimeoutError(f"member {self.rank}: expected a message of member {expected[0]}, got none")
            self.send(array, step, progress.deliver(arrived))

    def send(self, array: Array, step: int, sends: Iterator[tuple[int, int, Array]]) -> None:
        """Send the messages that are ready."""
        for place, index, view in sends:
            self.transport.send(channel(array.nbytes, index), step, place, view)

    def bound(self, array: Array) -> CollectiveProgress:
        """The progress of an array, bound when it is reduced first."""
        known = self.progress.get(array.nbytes)
        if known is None or known[0] is not array:
            found = self.exchanges[array.nbytes]
            blocks = [None if b is None else array[slice(*b[0])] for b in found.blocks]
            room = np.empty(found.largest.get(self.rank, 0), array.dtype)
            known = self.progress[array.nbytes] = (
                array,
                CollectiveProgress(found.schedule, self.rank, found.sizes, blocks, blocks, room),
            )
        return known[1]


def channel(nbytes: int, index: int) -> Channel:
    """The channel of one message of the all-reduce of ``nbytes``."""
    return (1, 3, 0, nbytes, index)


def member(rank: int, n: int) -> None:
    """Run one member: print its address, read all addresses, print the measured seconds, wait for all others."""
    found = Member(rank, n)
    with found.transport:
        print(found.transport.bind(), flush=True)
        addresses = enumerate(json.loads(sys.stdin.readline()))
        found.transport.connect({peer: address for peer, address in addresses if peer != rank})
        print(json.dumps(list(timed(found.reduce).values())), flush=True)
        sys.stdin.readline()


def netpart(n: int) -> Seconds:
    """All-reduces of netpart among ``n`` processes, with the times of the slowest."""
    calls = [[sys.executable, "-m", "benchmarks.reduce", str(rank), str(n)] for rank in range(n)]
    with ExitStack() as stack:
        members = [
            stack.enter_context(
                subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
            )
            for call in calls
        ]
        addresses = [line(process) for process in members]
        for process in members:
            assert process.stdin is not None
            process.stdin.write(json.dumps(addresses) + "\n")
            process.stdin.flush()
        return slowest([json.loads(line(process)) for process in members])


def line(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def slowest(found: list[list[float]]) -> Seconds:
    """The seconds of the slowest member, by size."""
    return dict(zip(SIZES, map(max, zip(*found, strict=True)), strict=True))


def gloo(n: int) -> Seconds:
    """All-reduces of gloo."""
    return peer([sys.executable, "-m", "benchmarks.peers.reduce_gloo", str(n)])


def mpi(n: int) -> Seconds:
    """All-reduces of MPI. If processes share cores, a waiting process yields its core."""
    yielding = [word for name in YIELDING for word in ("-genv", name, "1")] if n > CORES else []
    return peer([MPIEXEC, *yielding, "-n", str(n), sys.executable, "-m", "benchmarks.peers.reduce_mpi"])


def peer(call: list[str]) -> Seconds:
    """The seconds that a peer prints."""
    done = subprocess.run(call, stdout=subprocess.PIPE, timeout=DEADLINE, check=True, cwd=ROOT)
    return slowest([json.loads(done.stdout)])


def rows() -> Iterator[Row]:
    """Time all contenders in turn, ROUNDS times. The goals: twice as fast as gloo, and as fast as MPI from LARGE on."""
    for n in MEMBERS:
        found = [(netpart(n), gloo(n), mpi(n)) for _ in range(ROUNDS)]
        for nbytes in SIZES:
            ours, of_gloo, of_mpi = (
                median(each[nbytes] for each in contender) for contender in zip(*found, strict=True)
            )
            work = f"all-reduce of {nbytes // 1024} KB among {n} processes"
            yield Row(work, GLOO, ours, of_gloo, goal=2.0)
            yield Row(work, MPI, ours, of_mpi, goal=1.0 if nbytes >= LARGE else None)


if __name__ == "__main__":
    member(int(sys.argv[1]), int(sys.argv[2]))
