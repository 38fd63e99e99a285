"""Two workers of a thread each, compared with PyTorch's DistributedDataParallel and tensor parallelism, and one worker.

    python -m benchmarks.workers                    about forty minutes; benchmarks/results/workers.json
    python -m benchmarks.workers --nets lenet,mlp   these alone; the rows of other nets stay as they are in the file
    python -m benchmarks.workers --quick            a short trial of everything; writes nothing without -o

Nets are cut on their data, half of each mini-batch for each worker, as DDP does over gloo, and by the plan that netpart
plan recommends. The perceptron is also cut by its fastest scheme, and compared with ColwiseParallel and RowwiseParallel
with a ReLU between two products. ResNet-18 is timed on the small images of benchmarks.cpu, and at its published size.
Other conditions are those of benchmarks.cpu. Batch norm in netpart normalises all rows of the mini-batch, which costs
messages; in DDP those of each process.
"""

from __future__ import annotations

import argparse
import sys
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contenders import TORCH, Bench
from benchmarks.contest import LAST, PLAIN, Peer, Timed, check_losses, netpart, recommended
from benchmarks.core_distance import NEAR_CORES
from benchmarks.cpu import MEMORY_GOAL
from benchmarks.load import begin_watch
from benchmarks.machine import imported
from benchmarks.mlp import Work
from benchmarks.nets import NETS, PUBLISHED
from benchmarks.options import PACKAGES, parse
from benchmarks.prepare import Prepared, prepare
from benchmarks.rows import MEAN, RESULTS, Row, finish, rows_of_others, write

WORKERS, THREADS = 2, 1
SCHEMES = ("COLUMN_ROW", "GATHER_SCATTER", "ALTSPLIT")
"""Schemes that cut the perceptron, in addition to a cut on its data."""
MEAN_GOAL = 1.7
PLAN_GOAL = 1.85
DDP_GOAL = 2.0
TENSOR_GOAL = 1.5
WIDTHS = 784, 2500, 2000, 1500, 1000, 500, 10
TENSOR_TITLE = f"MLP {'-'.join(map(str, WIDTHS))}"
"""How the work of the row of tensor parallelism begins."""
DDP, ALONE = "PyTorch DDP", "netpart, 1 worker"
CUT_DATA = "2 workers, DATA"


def main() -> int:
    """Measure, print, write the results; 1 if a goal was missed."""
    args = parse("workers", "time two workers, compared with PyTorch's", NETS | PUBLISHED)
    rows = list[Row]()
    path = args.output or RESULTS / "workers.json"
    titles = [title for net in args.nets for title in (net.title, *([TENSOR_TITLE] if net.name == "mlp" else []))]
    stay = [] if args.quick else rows_of_others(path, titles)
    watch = begin_watch("benchmarks.workers", args.loaded)

    def keep(found: list[Row]) -> None:
        """Add rows, and write all that there are: a run that is broken off leaves the nets that it has timed."""
        rows.extend(found)
        if args.output or not args.quick:
            about = {"load_of_others": watch.others(), "rounds": args.rounds, "kernels": args.kernels or "auto"}
            write(path, [*stay, *rows], PACKAGES, {"settings": about | NEAR_CORES.counts()})

    with TemporaryDirectory() as folder:
        base = imported()
        for net in args.nets:
            keep(net_rows(prepare(net, Path(folder)), base, args))
    ratios = [row.ratio for row in (*stay, *rows) if row.work.endswith(CUT_DATA) and row.against == DDP]
    keep([Row(f"{MEAN}, 2 workers", DDP, 1.0, prod(ratios) ** (1 / len(ratios)), "of DDP's time", MEAN_GOAL)])
    if any(net.name == "mlp" for net in args.nets):
        keep([tensor_row(args)])
    return 0 if args.quick else finish(rows)


def net_rows(prepared: Prepared, base: int, args: argparse.Namespace) -> list[Row]:
    """All rows of one net; the first is that of data parallelism."""
    steps = prepared.steps(args.seconds, WORKERS * THREADS)
    alone = Timed()
    planned = Timed()
    theirs = {layout: Timed() for layout in ((PLAIN, LAST) if prepared.net.conv else (PLAIN,))}
    schemes = {"DATA": Timed()} | ({} if prepared.net.name != "mlp" else {name: Timed() for name in SCHEMES})
    plan = recommended(prepared, steps, WORKERS, THREADS)
    with Peer("torch_ddp", THREADS, prepared.folder, WORKERS, processes=WORKERS) as peer:
        for _ in range(args.rounds):
            for scheme, timed in schemes.items():
                netpart(prepared, timed, steps, WORKERS, THREADS, ["--scheme", scheme.lower(), *args.arguments])
            for layout, timed in theirs.items():
                peer.play(timed, steps, layout)
            netpart(prepared, alone, steps, 1, THREADS, args.arguments)
            netpart(prepared, planned, steps, WORKERS, THREADS, args.arguments, plan)
    check_losses(prepared.net.title, schemes["DATA"], planned)
    if not (prepared.dropout or prepared.normalised):
        check_losses(prepared.net.title, schemes["DATA"], theirs[PLAIN])
    rows = compared(prepared, base, schemes, theirs, alone, planned)
    print(*rows, sep="\n", flush=True)
    return rows


def compared(
    prepared: Prepared, base: int, schemes: dict[str, Timed], theirs: dict[str, Timed], alone: Timed, planned: Timed
) -> list[Row]:
    """The rows of what was timed."""
    ours = schemes["DATA"]
    plain = theirs[PLAIN]
    about = f"{prepared.net.title}, batch {prepared.net.batch}, 2 workers"
    peer = min(timed.median for timed in theirs.values())
    rows = [
        Row(f"{about}, DATA", DDP, ours.median, peer, "s/step"),
        Row(f"{about}, DATA", ALONE, ours.median, alone.median, "s/step"),
        Row(f"{about}, recommended plan", ALONE, planned.median, alone.median, "s/step", PLAN_GOAL),
        Row(f"{about}, recommended plan", DDP, planned.median, peer, "s/step"),
        Row(f"{about}: memory of one", DDP, ours.peak, plain.peak, "B", MEMORY_GOAL),
        Row(f"{about}: memory beyond imports", DDP, ours.peak - base, plain.peak - plain.imported, "B", MEMORY_GOAL),
    ]
    if len(schemes) > 1:
        best = min(schemes, key=lambda scheme: schemes[scheme].median)
        rows.append(Row(f"{about}, {best}", DDP, schemes[best].median, peer, "s/step", DDP_GOAL))
    return rows


def tensor_row(args: argparse.Namespace) -> Row:
    """The perceptron with ReLUs, cut by columns and rows in turn, compared with PyTorch's tensor parallelism."""
    widths, steps = ((32, 32, 32, 32, 10), 8) if args.quick else (WIDTHS, 30)
    found = {name: list[float]() for name in ("COLUMN_ROW", TORCH)}
    with Bench(args.arguments) as bench:
        work = bench.prepare(Work(widths, 100, WORKERS, steps, rate=1e-3))
        for _ in range(args.rounds):
            for name, seconds in found.items():
                seconds += bench.run(name, work).seconds
    ours, theirs = (Timed(seconds).median for seconds in found.values())
    row = Row(f"{work}, COLUMN_ROW", "PyTorch tensor parallel", ours, theirs, "s/step", TENSOR_GOAL)
    print(row, flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
