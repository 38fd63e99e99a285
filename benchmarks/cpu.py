"""One worker compared with PyTorch, with 1 and 2 threads: time of a training step, share of the GEMM peak, memory.

    python -m benchmarks.cpu                        about fifteen minutes; benchmarks/results/cpu.json
    python -m benchmarks.cpu --nets lenet,mlp       these alone; the rows of other nets stay as they are in the file
    python -m benchmarks.cpu --quick                a short trial of everything; writes nothing without -o
    python -m benchmarks.cpu --precision bfloat16   in bfloat16, with PyTorch's autocast; results/cpu-bfloat16.json

PyTorch is the best of eager and torch.compile (if there is a C++ compiler), both in the memory layout that is faster
eager, with the fused optimiser. Contenders take turns. Each has processes of its own, which have their number of
threads from the start. A step is everything from the mini-batch in memory to the updated parameters. The figure is the
median of all steps after the first few of a run; each run's ratio is recorded too. With a ratio above 1, netpart is
faster or takes less. The GEMM peak of a net is the mean of those before and after its contest. A busy machine is
refused, except with --loaded.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import replace
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contest import LAST, PLAIN, Peer, Timed, check_losses, netpart
from benchmarks.core_distance import NEAR_CORES
from benchmarks.load import Watch, begin_watch
from benchmarks.machine import gemm, imported
from benchmarks.nets import BLOCKS, NETS, PUBLISHED
from benchmarks.options import BFLOAT16, FLOAT32, PACKAGES, parse
from benchmarks.prepare import Prepared, prepare
from benchmarks.rows import CORES, MEAN, RESULTS, Row, finish, rows_of_others, write

GEMM_GOALS = {"alexnet": 0.65, "resnet18": 0.75, "unet3d": 0.65, "mlp": 0.75, "gpt": 0.7}
MEAN_GOALS = {1: 1.45, 2: 1.5}
LEAST_GOAL = 1.15
SHARE_GOAL = 0.85
"""The share of the peak on two threads, relative to that on one."""
MEMORY_GOAL = 1 / 0.8
AUTOCAST_GOAL, FLOAT32_GOAL = 1.1, 1.6
NARROW = {net.name: net for net in (NETS["mlp"], NETS["alexnet"], PUBLISHED["resnet18-224"], BLOCKS["gpt2-block"])}
"""The nets of --precision bfloat16."""
LOSS_APART = {FLOAT32: 0.02, BFLOAT16: 0.05}
"""The relative difference of the contenders' mean losses above which one of them is wrong, by precision."""
COMPILER = shutil.which("g++") or shutil.which("clang++")

Variant = tuple[str, bool]
"""Layout, and whether it is compiled."""


def main() -> int:
    """Measure, print, write the results; 1 if a goal was missed."""
    args = parse("cpu", "time one worker, compared with PyTorch", narrow=NARROW)
    narrow = args.precision == BFLOAT16
    watch = begin_watch("benchmarks.cpu", args.loaded)
    path = args.output or RESULTS / ("cpu-bfloat16.json" if narrow else "cpu.json")
    rows = [] if args.quick else rows_of_others(path, (net.title for net in args.nets))
    with TemporaryDirectory() as folder:
        nets = [prepare(net, Path(folder)) for net in args.nets]
        base = imported()
        for threads in sorted({1, min(2, CORES)}):
            rows += narrow_rows(nets, threads, args) if narrow else timed_rows(nets, threads, base, args)
        rows += [] if narrow else [*share_rows(nets, rows), *mean_rows(rows)]
    if args.output or not args.quick:
        about = {"load_of_others": watch.others(), "rounds": args.rounds, "kernels": args.kernels or "auto"}
        write(path, rows, PACKAGES, {"settings": about | NEAR_CORES.counts()})
    return 0 if args.quick else finish(rows)


def timed_rows(nets: list[Prepared], threads: int, base: int, args: argparse.Namespace) -> list[Row]:
    """All rows of one number of threads."""
    rows = list[Row]()
    before = gemm(threads)
    for prepared in nets:
        watch = Watch()
        ours, plain, theirs = contest(prepared, threads, args)
        after = gemm(threads)
        peak, before = (before + after) / 2, after
        best = min(theirs.values(), key=lambda timed: timed.median)
        variant = next(variant for variant, timed in theirs.items() if timed is best)
        about = f"{prepared.net.title}, batch {prepared.net.batch}, {words(threads)}"
        least = prepared.flops / peak
        shares = least / ours.median, least / best.median
        timed = Row(
            about, spoken(variant), ours.median, best.median, "s/step", LEAST_GOAL, ours.run_ratios(best), shares
        )
        reached = Row(about, "the GEMM peak", ours.median, least, "s/step", GEMM_GOALS.get(prepared.net.name))
        found = [timed, reached, *(memory_rows(about, ours, plain, base) if threads == 1 else ())]
        rows += (replace(row, load=watch.others()) for row in found)
        print(*found, sep="\n", flush=True)
    return rows


def mean_rows(rows: list[Row]) -> list[Row]:
    """The geometric means of the ratios to PyTorch, of each number of threads."""
    found = []
    for threads, goal in MEAN_GOALS.items():
        ratios = [row.ratio for row in rows if row.shares and row.work.endswith(words(threads))]
        if ratios:
            mean = prod(ratios) ** (1 / len(ratios))
            found.append(Row(f"{MEAN}, {words(threads)}", "PyTorch", 1.0, mean, "of PyTorch's time", goal))
    return found


def share_rows(nets: list[Prepared], rows: list[Row]) -> list[Row]:
    """Of each net, the share of the peak of two threads, compared with that of one thread; both are the medians."""
    shares = {row.work: row.shares[0] for row in rows if row.shares}
    found = []
    for prepared in nets:
        about = f"{prepared.net.title}, batch {prepared.net.batch}"
        one, two = (shares.get(f"{about}, {words(threads)}") for threads in (1, 2))
        if one and two:
            found.append(Row(f"{about}: share of the peak, 2 threads", "1 thread", one, two, "of the peak", SHARE_GOAL))
    return found


def narrow_rows(nets: list[Prepared], threads: int, args: argparse.Namespace) -> list[Row]:
    """All rows of one number of threads in bfloat16: compared with netpart in float32 and with PyTorch's autocast."""
    rows = list[Row]()
    for prepared in nets:
        wide, watch = Timed(), Watch()
        ours, _, theirs = contest(prepared, threads, args, wide)
        best = min(theirs, key=lambda variant: theirs[variant].median)
        about = f"{prepared.net.title}, batch {prepared.net.batch}, {words(threads)}, bfloat16"
        against = f"{spoken(best)}, autocast"
        for peer, timed, goal in ((against, theirs[best], AUTOCAST_GOAL), ("netpart in float32", wide, FLOAT32_GOAL)):
            row = Row(about, peer, ours.median, timed.median, "s/step", goal, ours.run_ratios(timed))
            rows.append(replace(row, load=watch.others()))
        print(*rows[-2:], sep="\n", flush=True)
    return rows


def contest(
    prepared: Prepared, threads: int, args: argparse.Namespace, wide: Timed | None = None
) -> tuple[Timed, Timed, dict[Variant, Timed]]:
    """Time all contenders in turn, ``rounds`` times: netpart, PyTorch by default, variants of the faster layout.

    The layout that is slower eager is omitted after the first round. ``wide``: netpart in float32 takes turns, too.
    """
    steps = prepared.steps(args.seconds, threads)
    ours = Timed()
    plain = Timed()
    theirs = {(PLAIN, False): plain}
    if prepared.net.conv:
        theirs[LAST, False] = Timed()
    narrowed = ["--precision", args.precision] if args.precision != FLOAT32 else []
    with Peer("torch_train", threads, prepared.folder, args.precision) as peer:
        for turn in range(args.rounds):
            netpart(prepared, ours, steps, 1, threads, [*args.arguments, *narrowed])
            if wide is not None:
                netpart(prepared, wide, steps, 1, threads, args.arguments)
            for (layout, compiled), timed in theirs.items():
                peer.play(timed, steps, layout, compiled)
            if turn == 0:
                theirs = chosen(peer, theirs)
                for (layout, compiled), timed in theirs.items():
                    if compiled:
                        peer.play(timed, steps, layout, compiled)
    if not prepared.dropout:
        check_losses(prepared.net.title, ours, plain, LOSS_APART[args.precision])
    return ours, plain, theirs


def chosen(peer: Peer, theirs: dict[Variant, Timed]) -> dict[Variant, Timed]:
    """The faster layout, eager and compiled; the memory of the plain one is kept."""
    layout, _ = min(theirs, key=lambda variant: theirs[variant].median)
    for slower, _ in theirs:
        if slower != layout:
            peer.ask(layout=slower, compiled=False, drop=True)
    kept = {(layout, False): theirs[layout, False]}
    return kept | ({(layout, True): Timed()} if COMPILER else {})


def memory_rows(about: str, ours: Timed, theirs: Timed, base: int) -> list[Row]:
    """Rows of the memory of a process: all bytes, and those without its imports."""
    peer = "PyTorch eager"
    own = Row(
        f"{about}: memory beyond imports", peer, ours.peak - base, theirs.peak - theirs.imported, "B", MEMORY_GOAL
    )
    return [Row(f"{about}: memory", peer, ours.peak, theirs.peak, "B", MEMORY_GOAL), own]


def spoken(variant: Variant) -> str:
    """A variant in words."""
    layout, compiled = variant
    compiler = "" if COMPILER else " (no C++ compiler)"
    return f"PyTorch {'compiled' if compiled else 'eager'}, {layout}{compiler}"


def words(threads: int) -> str:
    """Threads in words."""
    return f"{threads} thread{'s' * (threads > 1)}"


if __name__ == "__main__":
    sys.exit(main())
