"""The use case of Akintoye et al. (IEEE Access 10, 2022, section 4): Table 3, Figures 5 and 6, equation 13.

    python -m benchmarks.hybrid                     measure all that benchmarks/results/hybrid.json lacks
    python -m benchmarks.hybrid --only timings      steps alone: the machine has to be quiet
    python -m benchmarks.hybrid --only trainings    accuracies alone: these do not depend on how busy the machine is
    python -m benchmarks.hybrid --nets resattnet18 --workers 1,2 --tasks ad      a part
    python -m benchmarks.hybrid --again             everything anew
    python -m benchmarks.hybrid --quick             a short trial of everything; writes nothing without -o

The command can be interrupted, and then continues where it was. Steps of 3D-ResAttNet18 and 34 are timed on rows in
memory, once for both tasks, as both have the same net. The contenders are the proposed approach (GABRA and hybrid) and
data parallelism by netpart, and DistributedDataParallel and DataParallel by PyTorch, for each number of workers, of a
thread each.

Steps are measured up to the number of cores of this machine. For more workers netpart simulates its own steps. For
PyTorch the figure is then a bound: the time of one process for the rows of one worker, without messages. Of GABRA's
allocations for several groups and partitions, the one with the fastest simulated step is used. Steps that are timed
while other processes use the machine are timed again, and finally refused.

Each net is trained on one worker, once for each task and each number of rows that are normalised together. Other
numbers of workers compute the same to rounding, which tests/laws check.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from benchmarks.accuracy import TASKS
from benchmarks.figures import MEASURED, PEERS, Figures, worst
from benchmarks.kept import Kept
from benchmarks.machine import ROOT, again_on_one_thread
from benchmarks.nets import RESATTNETS
from benchmarks.rows import RESULTS, Row, finish
from benchmarks.use_case import TIMINGS, TRAININGS, measure
from benchmarks.ways import WAYS
from netpart.errors import NetpartError

COUNTS = 1, 2, 4, 8
"""Workers of Table 3, and one."""
SUBJECTS = 800
QUICK = {"steps": 1, "epochs": 1, "subjects": 40, "loaded": True}
PHANTOM = ROOT / "data" / "phantom"
T = TypeVar("T")


def main() -> int:
    """Measure what is missing, write it, print all; the exit code is 0 when done, 2 if refused, 130 if interrupted."""
    args = options()
    if (code := again_on_one_thread("benchmarks.hybrid")) is not None:
        return code
    kept = Kept(args.output or (None if args.quick else RESULTS / "hybrid.json"), comparisons)
    try:
        with TemporaryDirectory() as folder:
            measure(args, kept, Path(folder))
    except NetpartError as error:
        print(f"benchmarks.hybrid: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("benchmarks.hybrid: interrupted; the same command goes on with what is missing", file=sys.stderr)
        return 130
    errors = kept.figures.errors()
    listed = ", ".join(f"{p.net} {p.way} on {p.workers}: {p.error:+.0%}" for p in errors)
    print(f"error of the simulator where it can be measured: {listed or 'none'}; at most {worst(errors):.0%}")
    return finish(list(comparisons(kept.figures)))


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hybrid", description="the use case, for 1..8 workers")
    parser.add_argument("--only", choices=(TIMINGS, TRAININGS), help="of the two (default: both)")
    parser.add_argument("--nets", type=partial(named, RESATTNETS), default=list(RESATTNETS.values()), metavar="N,N")
    parser.add_argument("--tasks", type=partial(named, TASKS), default=list(TASKS.values()), metavar="T,T")
    parser.add_argument("--workers", type=numbers, default=list(COUNTS), metavar="1,2,..", help="how many")
    parser.add_argument("--steps", type=int, default=6, metavar="N", help="of each contender that count")
    parser.add_argument("--micro-batches", type=int, default=2, metavar="M", help="of the proposed approach")
    parser.add_argument("--epochs", type=int, metavar="N", help="of a training (default: 12 for ad, 6 for mci)")
    parser.add_argument("--subjects", type=int, default=SUBJECTS, metavar="N", help="of the cohort, if it is made")
    parser.add_argument("--data", type=Path, default=PHANTOM, metavar="DIR", help="the cohort; made if it is missing")
    parser.add_argument("--again", action="store_true", help="also what is there already")
    parser.add_argument("--loaded", action="store_true", help="time on a busy machine too, and mark the figures")
    parser.add_argument("--quick", action="store_true", help="few scans, an epoch, a step: does it work?")
    parser.add_argument("-o", "--output", type=Path, metavar="F.json", help="where the figures go")
    args = parser.parse_args()
    if find_spec("torch") is None:
        parser.error("expected PyTorch, got none; `make` installs it: see the Makefile")
    if args.quick:
        vars(args).update(QUICK)
    return args


def named(known: dict[str, T], text: str) -> list[T]:
    """Values by their names."""
    unknown = [name for name in text.split(",") if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"expected some of {','.join(known)}, got {','.join(unknown)}")
    return [known[name] for name in text.split(",")]


def numbers(text: str) -> list[int]:
    """Numbers of workers; always includes one, the baseline of all speed-ups."""
    return sorted({1, *map(int, text.split(","))})


def comparisons(figures: Figures) -> Iterator[Row]:
    """The measured steps of the proposed approach and of data parallelism, compared with one worker and PyTorch."""
    for point in figures.points:
        one = figures.point(point.net, "data", 1)
        if point.how != MEASURED or point.way not in WAYS or one is None or point.workers == 1:
            continue
        title = figures.found["titles"][point.net]
        work = f"{title}, {point.workers} workers, {WAYS[point.way].title}"
        yield Row(work, "netpart, 1 worker", point.seconds, one.seconds, "s/step")
        for peer, name in PEERS.items():
            compared = figures.point(point.net, peer, point.workers)
            if compared is not None:
                yield Row(work, name, point.seconds, compared.seconds, "s/step")


if __name__ == "__main__":
    sys.exit(main())
