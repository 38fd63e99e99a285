"""Speed of tensors between two workers on one GPU: netpart's CUDA IPC, compared with a copy inside the device.

    make bench-gpu-bridges                   benchmarks/results/gpu-bridges.json, under a minute
    python -m benchmarks.gpu_bridges --quick       small messages: does it work? writes nothing without -o

copy         256 MB from array to array in one process, the limit of a bridge
one way      256 MB from the call of send until the sender's stream has the receiver's confirmation
streamed     256 MB messages, as many as may be in flight, read where they arrive
round trip   1 KB there and back, hosts and devices included

NCCL needs one GPU per process, so it cannot be measured on one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.ends import SMALL, End, answered
from benchmarks.gpu_results import describe_machine
from benchmarks.machine import ROOT, environment
from benchmarks.rows import RESULTS, Row, finish
from netpart.kernels.cuda.device import thread_stream
from netpart.transport.cuda_ipc import CudaIpcTransport
from netpart.units import bytes_text

RUN = b"bridges!"
LARGE, QUICK = 256 << 20, 1 << 12
"""Bytes of a large message, and of one with --quick."""
ROUNDS = 9
WARM_UP = 2
BURST = 16
TRIPS = 500
COPY_GOAL = 0.8
"""The goal: the time of a copy inside the device over that of a streamed message."""


def end_of(rank: int, large: int) -> End:
    """One end, whose work goes to the thread's stream."""
    xp: Any = import_module("cupy")
    thread_stream(xp).use()
    return End(CudaIpcTransport(rank, RUN, 2, xp, (0, 1)), large)


def answer(address: str, large: int) -> None:
    """Run the other process."""
    end = end_of(1, large)
    end.answer(address, import_module("cupy").empty(0, "uint8"))


class Bridge:
    """This process's end, and the process at the other; its methods return seconds, from one synchronisation of the
    stream to the next."""

    def __init__(self, end: End, ask: Callable[[str, int], None], large: int) -> None:
        xp: Any = import_module("cupy")
        self.end = end
        self.ask = ask
        self.stream = xp.cuda.get_current_stream()
        self.large, self.small = (xp.ones(nbytes, "uint8") for nbytes in (large, SMALL))
        self.target = xp.zeros(large, "uint8")

    def timed(self, work: Callable[[], None]) -> float:
        """Seconds of ``work``, including all that it puts on the stream."""
        self.stream.synchronize()
        began = perf_counter()
        work()
        self.stream.synchronize()
        return perf_counter() - began

    def copy(self) -> float:
        """Time copies inside the device; seconds per copy."""

        def copies() -> None:
            for _ in range(BURST):
                self.target[...] = self.large

        return self.timed(copies) / BURST

    def one_way(self) -> float:
        """Time one large message."""

        def message() -> None:
            self.end.send("large", self.large)
            self.end.receive("large done")

        self.ask("look", 1)
        return self.timed(message)

    def streamed(self) -> float:
        """Time a burst of large messages; seconds per message."""
        self.ask("look", BURST)
        return self.timed(lambda: self.end.burst(BURST, self.large)) / BURST

    def round_trip(self) -> float:
        """Time small messages there and back; the median. Each is on the device before the next one is sent."""

        def trip() -> None:
            self.end.send("small", self.small)
            self.end.receive("small back")

        self.ask("trip", TRIPS)
        return median(self.timed(trip) for _ in range(TRIPS))


@contextmanager
def bridge(large: int) -> Iterator[Bridge]:
    """A bridge, and the process at its other end, which ends with it."""
    end = end_of(0, large)
    command = [sys.executable, "-m", "benchmarks.gpu_bridges", "--answer", end.address, "--bytes", str(large)]
    with answered(end, command, cwd=ROOT, env=environment(1)) as ask:
        yield Bridge(end, ask, large)


def measure(large: int) -> dict[str, dict[str, float]]:
    """Medians of all figures; every round takes each of them once."""
    with bridge(large) as made:
        tasks = {
            "copy": (large, made.copy), "one way": (large, made.one_way), "streamed": (large, made.streamed),
            "round trip": (SMALL, made.round_trip),
        }  # fmt: skip
        rounds = [{name: task() for name, (_, task) in tasks.items()} for _ in range(WARM_UP + ROUNDS)][WARM_UP:]
    return {
        name: {"bytes": nbytes, "seconds": median(each[name] for each in rounds)} for name, (nbytes, _) in tasks.items()
    }


def rows(found: dict[str, dict[str, float]]) -> list[Row]:
    """The figures of a bridge, compared with a copy of the same bytes, which it needs at least."""
    copy, work = found["copy"]["seconds"], f"CUDA IPC of {bytes_text(found['streamed']['bytes'])}"
    return [
        Row(f"{work}, {name}", "a copy in the device", found[name]["seconds"], copy, "s", goal)
        for name, goal in (("streamed", COPY_GOAL), ("one way", None))
    ]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write the results; 1 if the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_bridges", description="time CUDA IPC")
    parser.add_argument("--quick", action="store_true", help="small messages: does it work? writes nothing without -o")
    parser.add_argument("--bytes", type=int, default=LARGE, metavar="N", help="of a large message")
    parser.add_argument("--answer", metavar="ADDRESS", help="be the other process, of the one at this address")
    parser.add_argument("-o", "--output", type=Path, metavar="F.json", help="where the figures go")
    args = parser.parse_args(arguments)
    if args.answer:
        answer(args.answer, args.bytes)
        return 0
    found = measure(QUICK if args.quick else args.bytes)
    for name, each in found.items():
        print(f"{name:<12}{1e6 * each['seconds']:10.1f} µs{each['bytes'] / each['seconds'] / 1e9:10.1f} GB/s")
    if args.output or not args.quick:
        path, written = args.output or RESULTS / "gpu-bridges.json", [row.as_json() for row in rows(found)]
        path.write_text(json.dumps(describe_machine() | {"bridges": found, "rows": written}, indent=1) + "\n")
    code = finish(rows(found))
    return 0 if args.quick else code


if __name__ == "__main__":
    sys.exit(main())
