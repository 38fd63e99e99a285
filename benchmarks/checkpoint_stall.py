"""What a checkpoint every 50 steps costs: in one run, windows of 50 steps that begin with one take turns with others.

    python -m benchmarks.checkpoint_stall                        two minutes; benchmarks/results/checkpoint-stall.json
    python -m benchmarks.checkpoint_stall --nets lenet,gpt
    python -m benchmarks.checkpoint_stall --quick                tiny nets; writes nothing without -o

A checkpoint is written every 100 steps, and metrics are reported every 50. Both kinds of window so have the same
machine, the same memory and the same moment. The cost is the difference of the medians, as a share of a window.
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

WINDOW = 50
"""Steps between two reports; every second one begins with a checkpoint."""
GOAL = 0.01
SETTLED = 2
"""Windows at the beginning that do not count: the first checkpoints fill caches."""
FEWEST, MOST = 3, 40
"""Pairs of windows."""


def main() -> int:
    """Measure, print, write the results; 1 if the goal was missed."""
    args = parse_options()
    watch = begin_watch("benchmarks.checkpoint_stall", args.loaded)
    rows = [measure_net(net, args) for net in args.nets]
    if args.output or not args.quick:
        found = {"rows": rows, "settings": {"load_of_others": watch.others(), "window": WINDOW, "goal": GOAL}}
        write_report(args.output or RESULTS / "checkpoint-stall.json", ("netpart", "numpy", "pyzmq"), found)
    return 0 if args.quick else int(any(row["share"] > GOAL for row in rows))


def parse_options() -> argparse.Namespace:
    """The options, with ``nets``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoint_stall", description="time checkpoints")
    parser.add_argument("--nets", type=chosen, default=chosen("lenet,cifar,mlp,gpt"), help=f"of {','.join(NETS)}")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=15.0, metavar="S", help="that a net's steps take, roughly")
    parser.add_argument("--quick", action="store_true", help="tiny nets: does it work? writes nothing without -o")
    parser.add_argument("-o", "--output", type=Path, metavar="F.json", help="where the figures go")
    add_loaded_option(parser)
    args = parser.parse_args()
    if args.quick:
        args.nets, args.seconds, args.loaded = [smaller(net) for net in args.nets[:1]], 0.1, True
    return args


def measure_net(net: Net, args: argparse.Namespace) -> dict[str, Any]:
    """The figures of one net, in seconds; ``nbytes`` are those of a checkpoint."""
    trial, _ = time_windows(net, 1, args.workers)
    pairs = round(args.seconds / (2 * median(trial)))
    windows, nbytes = time_windows(net, min(MOST, max(FEWEST, pairs)), args.workers)
    counted = windows[SETTLED:]
    with_one, without = median(counted[::2]), median(counted[1::2])
    cost = with_one - without
    row = {
        "net": net.name, "batch": net.batch, "workers": args.workers, "step": without / WINDOW, "checkpoint": nbytes,
        "windows": len(counted), "cost": cost, "share": cost / without,
    }  # fmt: skip
    print(
        f"{net.title}: {WINDOW} steps {without:.4f} s, with a checkpoint of {nbytes:,} bytes {cost / without:+.2%}",
        flush=True,
    )
    return row


def time_windows(net: Net, pairs: int, workers: int) -> tuple[list[float], int]:
    """Seconds of each window of 50 steps, the first with a checkpoint; and the bytes of a checkpoint."""
    reports: list[Measured] = []

    def hear(event: Event) -> None:
        if isinstance(event, Measured):
            reports.append(event)

    steps = (SETTLED + 2 * pairs + 1) * WINDOW
    proto = job(net, steps)
    proto.disp_freq, proto.checkpoint_freq, proto.checkpoint_keep = WINDOW, 2 * WINDOW, 2
    # Window k lasts from report k to the next. The first report is of the steps before any window.
    proto.checkpoint_after = WINDOW
    with TemporaryDirectory() as folder:
        run_job(Job(proto, None, net.name, ""), workers, workspace=Path(folder) / "run", listener=hear)
        nbytes = sum(path.stat().st_size for path in (Path(folder) / "run").glob(f"checkpoint/step{steps:08d}.*"))
    return [later.seconds - earlier.seconds for earlier, later in pairwise(reports)], nbytes


if __name__ == "__main__":
    sys.exit(main())
