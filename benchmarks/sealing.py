"""Speed of sealed links compared with plain ones, between two network namespaces.

python -m benchmarks.sealing            all figures, alternating, medians; benchmarks/results/sealing.json
python -m benchmarks.sealing --rounds 3 fewer rounds

streamed     64 MiB messages over a veth pair, as many as may be in flight, each copied out by the receiver
at 1 Gb/s    8 MiB messages over the same pair, limited by tc tbf

Needs root, iproute2, a kernel with network namespaces, and the extra `secure`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.ends import End, answered
from benchmarks.load import add_loaded_option, begin_watch
from benchmarks.rows import RESULTS, Row, finish, write
from benchmarks.veth import ADDRESSES, VethPair, inside
from netpart.choices import AES_GCM, CURVE
from netpart.transport.seal_keys import WireSecret
from netpart.transport.zeromq import ZeroMQTransport

RUN = b"sealing!"
KINDS = {"plain": "", "sealed": AES_GCM, "curve": CURVE}
WORKS = {"streamed": (64 << 20, 8), "at 1 Gb/s": (8 << 20, 6)}
"""Bytes of a message, and messages in a burst."""
GOALS = {"streamed": 0.85, "at 1 Gb/s": 0.99}
"""The least speed of sealed links, as a part of that of plain ones."""
ROUNDS = 15
PACKAGES = ("netpart", "numpy", "pyzmq", "cryptography")


def end_of(kind: str, rank: int, nbytes: int) -> End:
    """One end of a link of one kind, at the address of its namespace."""
    secret = WireSecret(KINDS[kind], bytes(range(32)), RUN) if KINDS[kind] else None
    return End(ZeroMQTransport(rank, RUN, secret=secret), nbytes, f"tcp://{ADDRESSES[rank]}:*")


def answer(kind: str, nbytes: int, address: str) -> None:
    """Run the receiver, which copies out the messages."""
    target = np.zeros(nbytes, np.uint8)
    end_of(kind, 1, nbytes).answer(address, np.empty(0, np.uint8), partial(np.copyto, target))


def measure(work: str, other: str, rounds: int) -> dict[str, float]:
    """Median seconds of a message of each kind, sent from this namespace to ``other``; the kinds take turns."""
    nbytes, burst = WORKS[work]
    array, seconds = np.ones(nbytes, np.uint8), {kind: list[float]() for kind in KINDS}
    kinds = [kind for kind in KINDS if kind != "curve" or work == "streamed"]
    with ExitStack() as stack:
        ends = {kind: end_of(kind, 0, nbytes) for kind in kinds}
        module = (sys.executable, "-m", "benchmarks.sealing", "--answer")
        asks = {
            kind: stack.enter_context(answered(end, inside(other, *module, kind, str(nbytes), end.address)))
            for kind, end in ends.items()
        }
        for number in range(rounds + 1):
            for kind, end in ends.items():
                asks[kind]("take", burst)
                start = perf_counter()
                end.burst(burst, array)
                if number:  # the first burst of a kind makes its slots
                    seconds[kind].append((perf_counter() - start) / burst)
    return {kind: median(times) for kind, times in seconds.items() if times}


def print_seconds(work: str, other: str, rounds: int) -> None:
    """Measure, and print a line for each kind, which ``measured`` reads."""
    for kind, value in measure(work, other, rounds).items():
        print(kind, value, flush=True)


def measured(work: str, pair: VethPair, rounds: int) -> dict[str, float]:
    """Run ``measure`` in the first namespace of ``pair``."""
    module = (sys.executable, "-m", "benchmarks.sealing", "--measure")
    command = inside(pair.names[0], *module, work, pair.names[1], str(rounds))
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {kind: float(value) for kind, value in map(str.split, done.stdout.splitlines())}


def rows(seconds: dict[str, dict[str, float]]) -> Iterator[Row]:
    """Yield the comparisons of sealed links, and of those of CURVE, with plain ones."""
    for work, found in seconds.items():
        nbytes = WORKS[work][0]
        name = f"messages of {nbytes >> 20} MiB, {work}"
        for kind in [each for each in found if each != "plain"]:
            yield Row(
                f"{name}, {kind}", "plain", found[kind], found["plain"], goal=GOALS[work] if kind == "sealed" else None
            )


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sealing", description="sealed links against plain ones")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"bursts of each kind ({ROUNDS})")
    add_loaded_option(parser)
    parser.add_argument("--measure", nargs=3, metavar=("WORK", "NAMESPACE", "ROUNDS"), help=argparse.SUPPRESS)
    parser.add_argument("--answer", nargs=3, metavar=("KIND", "BYTES", "ADDRESS"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Measure, print, write the results; 1 if a goal is missed."""
    args = parse()
    if args.answer:
        answer(args.answer[0], int(args.answer[1]), args.answer[2])
        return 0
    if args.measure:
        print_seconds(args.measure[0], args.measure[1], int(args.measure[2]))
        return 0
    watch = begin_watch("benchmarks.sealing", args.loaded)
    with VethPair() as pair:
        seconds = {"streamed": measured("streamed", pair, args.rounds)}
        pair.slow("1gbit")
        seconds["at 1 Gb/s"] = measured("at 1 Gb/s", pair, args.rounds)
    for work, found in seconds.items():
        for kind, value in found.items():
            print(f"{work:<12}{kind:<10}{1e3 * value:10.2f} ms{WORKS[work][0] / value / 1e9:8.2f} GB/s", flush=True)
    compared = list(rows(seconds))
    write(RESULTS / "sealing.json", compared, PACKAGES, {"load_of_others": watch.others(), "seconds": seconds})
    return finish(compared)


if __name__ == "__main__":
    sys.exit(main())
