"""Measurement of the missing results of the use case: timed steps, and trainings of each net and task.

Each result is written as soon as it is complete, so that an interrupted command continues where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.accuracy import TASKS, School, Task, steps_per_epoch
from benchmarks.figures import NETPART, PEERS, PYTORCH, Point
from benchmarks.kept import Kept
from benchmarks.load import expect_quiet, loaded, look
from benchmarks.nets import Net
from benchmarks.rows import CORES
from benchmarks.steps import Clock, keys, ours, theirs, watched
from benchmarks.ways import GROUPS
from netpart.cli.provide import SPACING
from netpart.data.make.phantom import make_phantom
from netpart.measure.link_speed import measure_link

TIMINGS, TRAININGS = "timings", "trainings"
TRIES = 3
"""Attempts to time something before a busy machine is refused."""
Lesson = tuple[Net, str, int]
"""A net, the framework that trains it, and the rows that are normalised together."""


def measure(args: argparse.Namespace, kept: Kept, folder: Path) -> None:
    """Measure what ``kept`` lacks, and add it."""
    data = cohort(args, folder)
    if args.only != TRAININGS:
        time_steps(args, kept, folder, data)
    if args.only != TIMINGS:
        train(args, kept, School(data, folder, args.epochs))


def cohort(args: argparse.Namespace, folder: Path) -> Path:
    """The folder of the scans."""
    data = folder / "phantom" if args.quick else args.data
    if not (data / f"{TASKS['ad'].table}-train.csv").exists():
        print("making the cohort of phantoms", flush=True)
        make_phantom(data, args.subjects, SPACING)
    return Path(data)


def time_steps(args: argparse.Namespace, kept: Kept, folder: Path, data: Path) -> None:
    """Time the points that have not been timed on a quiet machine."""
    known = settings(args, data)
    wanted = [(net, workers, k) for net, workers in product(args.nets, args.workers) for k in keys(net, workers)]
    if args.again:
        kept.forget((key for _, _, each in wanted for key in each), ())
    kept.expect_same(known)
    missing = [(net, workers, each) for net, workers, each in wanted if not kept.timed(each, args.loaded)]
    if not missing:
        return
    if not args.loaded:
        expect_quiet([look()], "the start of the timings")
    clock = Clock(args.steps, measure_link())
    more = {"link": vars(clock.link), "titles": kept.found["titles"] | {net.name: net.title for net in args.nets}}
    for net, workers, each in missing:
        own = partial(ours, net, workers, clock, args.micro_batches, args.quick)
        peers = partial(theirs, net, workers, clock.steps, folder)
        kept.add_points(quietly(peers if each[0][1] in PEERS else own, args.loaded), known, more)


def quietly(unit: Callable[[], Iterator[list[Point]]], anyhow: bool) -> list[Point]:
    """The points of ``unit``, timed on a quiet machine; raises LoadedMachineError if it is loaded in all attempts."""
    for _ in range(TRIES):
        points = list(print_points(watched(unit())))
        if anyhow or not any(loaded(point.load) for point in points):
            return points
        print("others used the machine meanwhile", flush=True)
    expect_quiet(
        [point.load for point in points], f"{points[0].net} on {points[0].workers} workers, timed {TRIES} times"
    )
    return points


def print_points(points: Iterator[Point]) -> Iterator[Point]:
    """Yield the points, and print each."""
    for point in points:
        load = "unknown" if point.load is None else f"{point.load:.2f} cores"
        seconds = f"{point.seconds * 1e3:.1f} ms {point.how}"
        print(f"{point.net}, {point.way} on {point.workers}: {seconds}; others used {load}", flush=True)
        yield point


def train(args: argparse.Namespace, kept: Kept, school: School) -> None:
    """Run the missing trainings, as many at a time as there are cores."""
    tasks: list[Task] = args.tasks
    wanted = {lesson: [(lesson[0].name, task.name, *lesson[1:]) for task in tasks] for lesson in lessons(args)}
    if args.again:
        kept.forget((), (key for each in wanted.values() for key in each))

    def learn(lesson: Lesson) -> None:
        net, who, rows = lesson
        for trained in school.trained(net, tasks, who, rows):
            kept.add_trained(trained, {net.name: net.title})
            print(f"{net.title}, {trained.task}, {who}, {rows} rows: {trained.accuracies[-1]:.1%}", flush=True)

    with ThreadPoolExecutor(CORES) as cores:
        for done in [cores.submit(learn, lesson) for lesson, each in wanted.items() if not kept.trained(each)]:
            done.result()


def lessons(args: argparse.Namespace) -> list[Lesson]:
    """The trainings that cover all ways to train on these numbers of workers."""
    pieces = args.micro_batches
    groups = [pieces * group for group in GROUPS if group < max(args.workers)]
    shares = {NETPART: {*args.workers, pieces, *groups}, PYTORCH: {*args.workers}}
    return [
        (net, who, net.batch // share)
        for net, who in product(args.nets, shares) for share in sorted(shares[who]) if net.batch % share == 0
    ]  # fmt: skip


def settings(args: argparse.Namespace, data: Path) -> dict[str, object]:
    """The settings on which the figures depend."""
    table, batch = data / f"{args.tasks[0].table}-train.csv", args.nets[0].batch
    return {
        "batch": batch, "steps_per_epoch": steps_per_epoch(table, batch), "micro_batches": args.micro_batches,
        "steps": args.steps,
    }  # fmt: skip
