"""What a checkpoint every 50 steps costs: in one run, windows of steps that begin with one take turns with others.

    python -m benchmarks.checkpoint_stall                        two minutes; benchmarks/results/checkpoint-stall.json
    python -m benchmarks.checkpoint_stall --nets lenet,gpt
    python -m benchmarks.checkpoint_stall --quick                a tiny net; writes nothing without -o

A window lasts about a second, and at most 50 steps; every second one begins with a checkpoint. Its cost is how long
the worker does not train, the median, as a share of the time of 50 steps. A thread and the coordinator then use the
processor, and where steps use all cores they wait for that: its seconds are counted, too. Both are in the time of a
window beyond that of the two windows around it. That is less certain: windows differ by more where other systems share
the machine.

Workers are threads of this process, so that they can be clocked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Any
from unittest import mock

from benchmarks.load import add_loaded_option, begin_watch
from benchmarks.nets import NETS, Net, job, smaller
from benchmarks.options import chosen
from benchmarks.rows import RESULTS, write_report
from netpart.checkpoint.safetensors_file import CheckpointWriter
from netpart.choices import THREADS
from netpart.launch.member.checkpoint_share import CheckpointShare
from netpart.launch.report.events import Event, Measured
from netpart.launch.run import run_job
from netpart.proto.reader import Job

EVERY = 50
"""Steps between two checkpoints, for the share; and the most of a window."""
TRIAL = 10
"""Steps of a window of the trial, which tells how long a step takes."""
SECONDS = 1.0
"""How long a window lasts, roughly: longer than the thread writes."""
GOAL = 0.01
SETTLED = 2
"""Windows at the beginning that do not count: the first checkpoints fill caches."""
FEWEST, MOST = 4, 40
"""Pairs of windows."""


def main() -> int:
    """Measure, print, write the results; 1 if the goal was missed."""
    args = parse_options()
    watch = begin_watch("benchmarks.checkpoint_stall", args.loaded)
    rows = [measure_net(net, args) for net in args.nets]
    if args.output or not args.quick:
        found = {"rows": rows, "settings": {"load_of_others": watch.others(), "every": EVERY, "goal": GOAL}}
        write_report(args.output or RESULTS / "checkpoint-stall.json", ("netpart", "numpy", "pyzmq"), found)
    return 0 if args.quick else int(any(row["share"] > GOAL for row in rows))


def parse_options() -> argparse.Namespace:
    """The options, with ``nets``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoint_stall", description="time checkpoints")
    parser.add_argument("--nets", type=chosen, default=chosen("lenet,cifar,mlp,gpt"), help=f"of {','.join(NETS)}")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20.0, metavar="S", help="that a net's steps take, roughly")
    parser.add_argument("--quick", action="store_true", help="tiny nets: does it work? writes nothing without -o")
    parser.add_argument("-o", "--output", type=Path, metavar="F.json", help="where the figures go")
    add_loaded_option(parser)
    args = parser.parse_args()
    if args.quick:
        args.nets, args.seconds, args.loaded = [smaller(net) for net in args.nets[:1]], 0.1, True
    return args


def measure_net(net: Net, args: argparse.Namespace) -> dict[str, Any]:
    """The figures of one net, in seconds; ``checkpoint`` is in bytes."""
    trial, *_ = time_windows(net, TRIAL, 1, args.workers)
    window = max(1, min(EVERY, round(TRIAL * SECONDS / trial[-1])))
    pairs = round(args.seconds * TRIAL / (2 * window * trial[-1]))
    windows, nbytes, clock = time_windows(net, window, min(MOST, max(FEWEST, pairs)), args.workers)
    counted = windows[SETTLED + 1 :]  # the first is one without a checkpoint, as is the last
    differences = [counted[k] - (counted[k - 1] + counted[k + 1]) / 2 for k in range(1, len(counted) - 1, 2)]
    step = median(counted[::2]) / window
    found = {
        "net": net.name, "batch": net.batch, "workers": args.workers, "window": window, "step": step,
        "checkpoint": nbytes, "differences": sorted(differences), "stall": median(clock.stalls),
        "processor": median(clock.writes) + sum(clock.seals) / len(clock.writes),
        "share": median(clock.stalls) / (EVERY * step),
    }  # fmt: skip
    print(
        f"{net.title}: a step {step:.4f} s, stalled for {found['stall']:.4f} s by a checkpoint of {nbytes:,} bytes,"
        f" {found['share']:.2%}; writing it takes {found['processor']:.4f} s of a core, the windows with one"
        f" {median(differences):+.4f} s ({min(differences):+.3f} to {max(differences):+.3f})",
        flush=True,
    )
    return found


@dataclass
class CheckpointClock:
    """Seconds by checkpoint: ``stalls`` for which a worker does not train, and those of the processor for ``writes`` in
    the thread of a worker; for ``seals`` of the coordinator by file."""

    stalls: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    seals: list[float] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Clock what is done in this process meanwhile."""
        with (
            _clocked(CheckpointShare, "save", self.stalls, perf_counter),
            _clocked(CheckpointShare, "write_apart", self.writes, thread_time),
            _clocked(CheckpointWriter, "seal", self.seals, thread_time),
        ):
            yield


def _clocked(of: type, name: str, seconds: list[float], clock: Callable[[], float]) -> Any:
    """A patch under which each call of a method adds its seconds."""
    plain = getattr(of, name)

    def call(*args: Any) -> Any:
        began = clock()
        try:
            return plain(*args)
        finally:
            seconds.append(clock() - began)

    return mock.patch.object(of, name, call)


def time_windows(net: Net, window: int, pairs: int, workers: int) -> tuple[list[float], int, CheckpointClock]:
    """Seconds of each window, the first with a checkpoint, the last without; the bytes of a checkpoint; its clock."""
    reports: list[Measured] = []

    def hear(event: Event) -> None:
        if isinstance(event, Measured):
            reports.append(event)

    steps = (1 + SETTLED + 2 * pairs + 2) * window
    proto = job(net, steps)
    proto.disp_freq, proto.checkpoint_freq, proto.checkpoint_keep = window, 2 * window, 2
    # Window k lasts from report k to the next. The first report is of the steps before any window.
    proto.checkpoint_after = window
    clock = CheckpointClock()
    with TemporaryDirectory() as folder, clock.running():
        path = Path(folder) / "run"
        run_job(Job(proto, None, net.name, ""), workers, launcher=THREADS, workspace=path, listener=hear)
        nbytes = sum(each.stat().st_size for each in path.glob(f"checkpoint/step{steps:08d}.*"))
    return [later.seconds - earlier.seconds for earlier, later in pairwise(reports)], nbytes, clock


if __name__ == "__main__":
    sys.exit(main())
