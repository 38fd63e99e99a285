"""What a checkpoint every 50 steps costs: in one run, windows of steps that begin with one take turns with others.

    python -m benchmarks.checkpoint_stall                        two minutes; benchmarks/results/checkpoint-stall.json
    python -m benchmarks.checkpoint_stall --nets lenet,gpt
    python -m benchmarks.checkpoint_stall --quick                a tiny net; writes nothing without -o

A window lasts about a second, and at most 50 steps; every second one begins with a checkpoint. Its cost is the time
beyond that of the two windows around it, the median of all such differences, as a share of the time of 50 steps.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.load import add_loaded_option, begin_watch
from benchmarks.nets import NETS, Net, job, smaller
from benchmarks.options import chosen
from benchmarks.rows import RESULTS, write_report
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
    trial, _ = time_windows(net, TRIAL, 1, args.workers)
    window = max(1, min(EVERY, round(TRIAL * SECONDS / trial[-1])))
    pairs = round(args.seconds * TRIAL / (2 * window * trial[-1]))
    windows, nbytes = time_windows(net, window, min(MOST, max(FEWEST, pairs)), args.workers)
    counted = windows[SETTLED + 1 :]  # the first is one without a checkpoint, as is the last
    differences = [counted[k] - (counted[k - 1] + counted[k + 1]) / 2 for k in range(1, len(counted) - 1, 2)]
    step, cost = median(counted[::2]) / window, median(differences)
    share = cost / (EVERY * step)
    print(f"{net.title}: a step {step:.4f} s, a checkpoint of {nbytes:,} bytes {cost:.4f} s, {share:.2%}", flush=True)
    return {
        "net": net.name, "batch": net.batch, "workers": args.workers, "window": window, "step": step,
        "checkpoint": nbytes, "cost": cost, "differences": sorted(differences), "share": share,
    }  # fmt: skip


def time_windows(net: Net, window: int, pairs: int, workers: int) -> tuple[list[float], int]:
    """Seconds of each window, the first with a checkpoint, the last without; and the bytes of a checkpoint."""
    reports: list[Measured] = []

    def hear(event: Event) -> None:
        if isinstance(event, Measured):
            reports.append(event)

    steps = (1 + SETTLED + 2 * pairs + 2) * window
    proto = job(net, steps)
    proto.disp_freq, proto.checkpoint_freq, proto.checkpoint_keep = window, 2 * window, 2
    # Window k lasts from report k to the next. The first report is of the steps before any window.
    proto.checkpoint_after = window
    with TemporaryDirectory() as folder:
        run_job(Job(proto, None, net.name, ""), workers, workspace=Path(folder) / "run", listener=hear)
        nbytes = sum(path.stat().st_size for path in (Path(folder) / "run").glob(f"checkpoint/step{steps:08d}.*"))
    return [later.seconds - earlier.seconds for earlier, later in pairwise(reports)], nbytes


if __name__ == "__main__":
    sys.exit(main())
