"""The use case of Akintoye et al. (IEEE Access 10, 2022, section 4) in our terms: Table 3 and Figures 5 and 6.

    python -m benchmarks.hybrid                                      benchmarks/results/hybrid.json
    python -m benchmarks.hybrid --nets resattnet18 --workers 1,2 --tasks ad      a part; writes nothing without -o
    python -m benchmarks.hybrid --quick                              a look whether everything works, likewise

Steps of 3D-ResAttNet18 and 34 are timed on rows in memory, once for both tasks, as both have the same net: of the
proposed approach (GABRA and hybrid) and of data parallelism by netpart, of DistributedDataParallel and of DataParallel
by PyTorch, for each number of workers, of a thread each. Up to the cores of this machine they are measured; beyond,
netpart simulates its own, and of PyTorch stands what nothing that it does can beat: one process that computes the rows
of one worker, and no message. Of the allocations that GABRA makes for several groups and partitions the one is taken
that is simulated to be fastest. Accuracies are trained once per net, task and number of micro-batches, on one worker:
that other numbers of workers compute the same, to rounding, is what tests/laws hold netpart to.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from benchmarks.accuracy import PYTORCH, TASKS, School, Task, Trained, as_json, steps_per_epoch
from benchmarks.figures import MEASURED, Figures, Point, worst
from benchmarks.machine import ROOT, again_on_one_thread
from benchmarks.nets import RESATTNETS, Net
from benchmarks.rows import RESULTS, Row, finish, write
from benchmarks.steps import Clock, ours, theirs
from benchmarks.ways import WAYS
from netpart.data.phantom import make_phantom
from netpart.launch.links import measure_link

PACKAGES = ("netpart", "numpy", "pyzmq", "torch")
COUNTS = 1, 2, 4, 8
"""Workers of Table 3, and one."""
SUBJECTS, SPACING = 800, 3
QUICK = {"steps": 1, "epochs": 1, "subjects": 40}
PHANTOM = ROOT / "data" / "phantom"
T = TypeVar("T")


def main() -> int:
    """Measures, prints, writes the results; 0 when that is done."""
    args = options()
    if (code := again_on_one_thread("benchmarks.hybrid")) is not None:
        return code
    clock = Clock(args.steps, measure_link())
    with TemporaryDirectory() as folder:
        data = cohort(args, Path(folder))
        about = settings(args, data)
        points = [point for net in args.nets for point in timed(net, args, clock, Path(folder))]
        trained = [] if args.no_training else list(trainings(args, School(data, Path(folder), args.reach, args.epochs)))
    more = {
        "settings": about, "link": vars(clock.link), "titles": {net.name: net.title for net in args.nets},
        "points": [asdict(point) for point in points], "accuracy": as_json(trained),
    }  # fmt: skip
    rows = list(comparisons(Figures(more), args.nets))
    errors = Figures(more).errors()
    told = ", ".join(f"{p.net} {p.way} on {p.workers}: {p.error:+.0%}" for p in errors)
    print(f"error of the simulator where it can be measured: {told or 'nothing was'}; at most {worst(errors):.0%}")
    if path := args.output or (RESULTS / "hybrid.json" if whole(args) else None):
        write(path, rows, PACKAGES, more)
    return finish(rows)


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hybrid", description="the use case, for 1..8 workers")
    parser.add_argument("--nets", type=partial(named, RESATTNETS), default=list(RESATTNETS.values()), metavar="N,N")
    parser.add_argument("--tasks", type=partial(named, TASKS), default=list(TASKS.values()), metavar="T,T")
    parser.add_argument("--workers", type=numbers, default=list(COUNTS), metavar="1,2,..", help="how many")
    parser.add_argument("--steps", type=int, default=6, metavar="N", help="of each contender that count")
    parser.add_argument("--micro-batches", type=int, default=2, metavar="M", help="of the proposed approach")
    parser.add_argument("--epochs", type=int, metavar="N", help="of a training (default: 12 for ad, 6 for mci)")
    parser.add_argument("--subjects", type=int, default=SUBJECTS, metavar="N", help="of the cohort, if it is made")
    parser.add_argument("--reach", type=float, default=0.9, metavar="A", help="accuracy for equation 13, 0 to 1")
    parser.add_argument("--data", type=Path, default=PHANTOM, metavar="DIR", help="the cohort; made if it is missing")
    parser.add_argument("--no-training", action="store_true", help="only time steps")
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
    """Numbers of workers; one is always among them, as all speed-ups are over it."""
    return sorted({1, *map(int, text.split(","))})


def whole(args: argparse.Namespace) -> bool:
    """True if nothing is left out."""
    complete = len(args.nets) == len(RESATTNETS) and len(args.tasks) == len(TASKS) and args.workers == list(COUNTS)
    return complete and not (args.quick or args.no_training or args.epochs)


def cohort(args: argparse.Namespace, folder: Path) -> Path:
    """The folder of the scans."""
    data = folder / "phantom" if args.quick else args.data
    if not (data / f"{TASKS['ad'].table}-train.csv").exists():
        print("making the cohort of phantoms", flush=True)
        make_phantom(data, args.subjects, SPACING)
    return Path(data)


def timed(net: Net, args: argparse.Namespace, clock: Clock, folder: Path) -> Iterator[Point]:
    """All steps of one net."""
    own = ours(net, args.workers, clock, args.micro_batches, args.quick)
    for point in chain(own, theirs(net, args.workers, clock.steps, folder)):
        print(f"{net.title}, {point.way} on {point.workers}: {point.seconds * 1e3:.1f} ms {point.how}", flush=True)
        yield point


def trainings(args: argparse.Namespace, school: School) -> Iterator[Trained]:
    """All trainings: of netpart with the mini-batch whole and in micro-batches, and of PyTorch."""
    tasks: list[Task] = args.tasks
    for net in args.nets:
        yield from school.by_netpart(net.name, tasks, sorted({1, args.micro_batches}))
        yield from school.trained(net.name, tasks, PYTORCH)


def settings(args: argparse.Namespace, data: Path) -> dict[str, object]:
    """What figures depend on."""
    table, batch = data / f"{args.tasks[0].table}-train.csv", args.nets[0].batch
    return {
        "batch": batch, "steps_per_epoch": steps_per_epoch(table, batch),
        "micro_batches": args.micro_batches, "reach": args.reach, "steps": args.steps,
        "load_at_start": os.getloadavg()[0],
    }  # fmt: skip


def comparisons(figures: Figures, nets: Sequence[Net]) -> Iterator[Row]:
    """What was measured of the proposed approach and of data parallelism, beside one worker and PyTorch."""
    for net in nets:
        for point in figures.points:
            one = figures.point(net.name, "data", 1)
            if (point.net, point.how) != (net.name, MEASURED) or point.way not in WAYS or one is None:
                continue
            if point.workers > 1:
                work = f"{net.title}, {point.workers} workers, {WAYS[point.way].title}"
                yield Row(work, "netpart, 1 worker", point.seconds, one.seconds, "s/step")
                for peer, title in (("ddp", "PyTorch DDP"), ("dp", "PyTorch DataParallel")):
                    beside = figures.point(net.name, peer, point.workers)
                    if beside is not None:
                        yield Row(work, title, point.seconds, beside.seconds, "s/step")


if __name__ == "__main__":
    sys.exit(main())
