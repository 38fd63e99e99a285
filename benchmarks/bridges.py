"""Speed of bridges and all-reduces among processes of one host, compared with memcpy, ZeroMQ, gloo and MPI.

python -m benchmarks.bridges            all figures, alternating, medians; benchmarks/results/bridges.json
python -m benchmarks.bridges --loaded   on a busy machine, too

memcpy       64 MB from array to array in one process: about the limit of a bridge
one way      64 MB from the call of send until the receiver holds it, which it reports by an empty message
streamed     64 MB messages, as many as may be in flight, each copied out by the receiver, as a worker does
round trip   1 KB there and back
all-reduce   see reduce.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks import reduce
from benchmarks.ends import SMALL, End, answered
from benchmarks.load import begin_watch
from benchmarks.rows import RESULTS, Row, finish, write
from netpart.transport.shm import ShmTransport
from netpart.transport.transport import Array
from netpart.transport.zeromq import ZeroMQTransport

RUN = b"bridges!"
LARGE = 64 << 20
"""Bytes of a large message."""
ROUNDS = 9
WARM_UP = 2
BURST = 8
TRIPS = 1000
BRIDGE_GOAL, TRIP_GOAL = 0.7, 4.0
"""The goals: the time of memcpy over that of one way, and the time of ZeroMQ's round trip over netpart's."""
PACKAGES = ("netpart", "numpy", "pyzmq", "mpi4py", "mpich", "torch")


def end_of(kind: str, rank: int) -> End:
    """One end of a bridge of one kind."""
    return End(ShmTransport(rank, RUN, 2) if kind == "shm" else ZeroMQTransport(rank, RUN), LARGE)


def answer(kind: str, address: str) -> None:
    """Run the other process, which copies out the messages that it is asked to take."""
    target = np.zeros(LARGE, np.uint8)
    end_of(kind, 1).answer(address, np.empty(0, np.uint8), partial(np.copyto, target))


class Bridge:
    """A bridge to a process that answers; its methods return seconds."""

    def __init__(self, kind: str, end: End, ask: Callable[[str, int], None]) -> None:
        self.kind = kind
        self.end = end
        self.ask = ask
        self.large, self.small = np.ones(LARGE, np.uint8), np.ones(SMALL, np.uint8)

    def one_way(self) -> float:
        """Time one large message."""
        self.ask("look", 1)
        start = perf_counter()
        self.end.send("large", self.large)
        self.end.receive("large done")
        return perf_counter() - start

    def streamed(self) -> float:
        """Time a burst of large messages that are copied out; seconds per message."""
        self.ask("take", BURST)
        start = perf_counter()
        self.end.burst(BURST, self.large)
        return (perf_counter() - start) / BURST

    def round_trip(self) -> float:
        """Time many small messages there and back; the median."""
        self.ask("trip", TRIPS)
        seconds = []
        for _ in range(TRIPS):
            start = perf_counter()
            self.end.send("small", self.small)
            self.end.receive("small back")
            seconds.append(perf_counter() - start)
        return median(seconds)


@contextmanager
def bridge(kind: str) -> Iterator[Bridge]:
    """A bridge of one kind, and the process at its other end, which ends with it."""
    end = end_of(kind, 0)
    with answered(end, [sys.executable, "-m", "benchmarks.bridges", kind, end.address]) as ask:
        yield Bridge(kind, end, ask)


def copied(source: Array, target: Array) -> float:
    """Copy ``source``; return the seconds."""
    start = perf_counter()
    np.copyto(target, source)
    return perf_counter() - start


def measure() -> dict[str, float]:
    """Medians of all figures, in seconds; every round takes each of them once."""
    source, target = np.ones(LARGE, np.uint8), np.zeros(LARGE, np.uint8)
    with bridge("shm") as shm, bridge("zeromq") as zeromq:
        tasks: dict[str, Callable[[], float]] = {"memcpy": lambda: copied(source, target)}
        for each in (shm, zeromq):
            tasks[f"one way {each.kind}"] = each.one_way
            tasks[f"streamed {each.kind}"] = each.streamed
            tasks[f"round trip {each.kind}"] = each.round_trip
        rounds = [{name: task() for name, task in tasks.items()} for _ in range(WARM_UP + ROUNDS)][WARM_UP:]
    return {name: median(row[name] for row in rounds) for name in rounds[0]}


def rows(seconds: dict[str, float]) -> Iterator[Row]:
    """Yield the comparisons of the figures of bridges."""
    for kind in ("one way", "streamed"):
        work, ours = f"bridge of {LARGE >> 20} MB, {kind}", seconds[f"{kind} shm"]
        yield Row(work, "memcpy", ours, seconds["memcpy"], goal=BRIDGE_GOAL if kind == "one way" else None)
        yield Row(work, "zeromq", ours, seconds[f"{kind} zeromq"])
    trips = seconds["round trip shm"], seconds["round trip zeromq"]
    yield Row(f"round trip of {SMALL >> 10} KB", "zeromq", *trips, goal=TRIP_GOAL)


def main() -> int:
    """Measure, print, write the results; 1 if a goal is missed."""
    if sys.argv[1:] not in ([], ["--loaded"]):
        answer(*sys.argv[1:])
        return 0
    watch = begin_watch("benchmarks.bridges", anyhow=bool(sys.argv[1:]))
    seconds = measure()
    for name, value in seconds.items():
        rate = "" if "trip" in name else f"{LARGE / value / 1e9:8.1f} GB/s"
        print(f"{name:<20}{1e6 * value:10.1f} µs{rate}", flush=True)
    found = [*rows(seconds), *reduce.rows()]
    microseconds = {name: round(1e6 * value, 1) for name, value in seconds.items()}
    write(RESULTS / "bridges.json", found, PACKAGES, {"load_of_others": watch.others(), "microseconds": microseconds})
    return finish(found)


if __name__ == "__main__":
    sys.exit(main())
