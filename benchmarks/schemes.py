"""Every scheme, compared with the seed's Algorithm 2 over MPI and PyTorch's tensor parallelism: time, bytes, calls.

    python -m benchmarks.schemes                   about ten minutes; benchmarks/results/schemes.json
    python -m benchmarks.schemes --full            every width with every batch, 2 and 4 workers: hours
    python -m benchmarks.schemes --quick           a short trial of everything; writes nothing without -o
    python -m benchmarks.schemes -- --launcher threads    arguments after -- are passed to netpart run

For each work the contenders run in turn, --rounds times, so that other load on the machine affects all of them. The
time of a step is that of the slowest worker; the figure is the median of all steps after the first few of a run. All
start from the same weights, read the same rows and must reach the same loss. With a ratio above 1, netpart is faster.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from benchmarks.contenders import CONTENDERS, WARM_UP, Bench, Timed
from benchmarks.crossovers import QUICK, SWEEPS, Sweep, square
from benchmarks.load import add_loaded_option, begin_watch
from benchmarks.mlp import Work
from benchmarks.report import RESULTS, missed, print_crossover, print_work, write
from benchmarks.rows import CORES

WIDTHS, BATCHES = (256, 512, 1024, 2048, 4096), (32, 128, 512, 1024)
ROUNDS = 2
SECONDS = 1.0
FEWEST = 6
MOST = 200
"""Seconds that the steps of a run should take, and the least and the largest number of them."""
LOSS_TOLERANCE = 1e-3


def grid(full: bool) -> Iterator[Work]:
    """All works, or the row and the column through width 1024, batch 128, and two works for 4 workers."""
    for workers, width, batch in product((2, 4), WIDTHS, BATCHES):
        few = width == 1024 or batch == 128 if workers == 2 else width in (256, 1024) and batch == 128
        if full or few:
            yield square(width, batch, workers)


def sized(work: Work) -> Work:
    """``work`` with as many steps as take about SECONDS, estimated from its arithmetic and its memory traffic."""
    compute = 6 * work.batch * work.parameters / min(work.workers, CORES) / 5e10
    traffic = 40 * work.parameters / 5e9
    latency = 1e-3 if work.workers <= CORES else 1e-2
    return replace(work, steps=WARM_UP + max(FEWEST, min(MOST, int(SECONDS / (compute + traffic + latency)))))


def time(bench: Bench, work: Work, contenders: tuple[str, ...], rounds: int) -> Timed:
    """Run every contender in turn, ``rounds`` times. Raises ValueError if their losses differ."""
    work = bench.prepare(sized(work))
    timed = Timed(work)
    for _ in range(rounds):
        for contender in contenders:
            found = bench.run(contender, work)
            before = timed.found.setdefault(contender, found)
            before.seconds += found.seconds if before is not found else []
    losses = {contender: found.loss for contender, found in timed.found.items()}
    if max(losses.values()) - min(losses.values()) > LOSS_TOLERANCE * max(losses.values()):
        raise ValueError(f"{work}: expected everybody to come to the same loss, got {losses}; a contender is wrong")
    return timed


def sweep(bench: Bench, along: Sweep, rounds: int) -> list[Timed]:
    """Time both schemes of a pair along the variable of a sweep."""
    return [time(bench, along.work(x), along.pair, rounds) for x in along.at]


def main() -> int:
    """Measure, print, write the results; 1 if a goal was missed."""
    args = parse()
    watch = begin_watch("benchmarks.schemes", args.loaded or args.quick)
    works = [square(32, 16), square(32, 16, 4)] if args.quick else list(grid(args.full))
    settings = {"netpart_arguments": args.arguments, "rounds": args.rounds}
    timed, crossovers = [], []
    with Bench(args.arguments) as bench:
        for work in works:
            timed.append(time(bench, work, CONTENDERS, args.rounds))
            print_work(timed[-1])
        for along in QUICK if args.quick else SWEEPS:
            crossovers.append((along, sweep(bench, along, args.rounds)))
            print_crossover(*crossovers[-1])
    if args.output or not args.quick:
        write(args.output or RESULTS, timed, crossovers, settings | {"load_of_others": watch.others()})
    below_goal = [] if args.quick else missed(timed)
    for row in below_goal:
        print(row)
    return 1 if below_goal else 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schemes", description="time the schemes")
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--full", action="store_true", help="the whole grid")
    extent.add_argument("--quick", action="store_true", help="tiny works: does it run?")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="runs of each contender at each work")
    parser.add_argument("-o", "--output", type=Path, metavar="F.json", help="where the figures go")
    add_loaded_option(parser)
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENT", help="of netpart run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
