"""Training steps on a GPU, compared with PyTorch: eager, compiled, and a captured CUDA graph of the whole step.

    make bench-gpu                                    all nets in TF32; benchmarks/results/gpu-tf32.json
    make bench-gpu NETS=lenet,mlp PRECISION=float32   a part: nets that are in the file already stay in it
    python -m benchmarks.gpu --quick --device cpu     a short trial of everything; writes nothing without -o

All contenders have the same layers, first weights, mini-batches, updater and precision. Every mini-batch is uploaded in
its own step, and the means of the losses must agree. PyTorch uses its faster memory order, measured algorithms of cuDNN
and the fused optimiser. Stretches of steps are timed between two synchronisations of the device; contenders take turns,
and the median stretch counts. With a ratio above 1, netpart is faster. The results of each net are written as soon as
it is done; after --minutes no other net is started.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from benchmarks import gpu_results
from benchmarks.gpu_caches import fill_caches
from benchmarks.gpu_contest import STRETCH_SECONDS, Contest, steps_for, wrong
from benchmarks.nets import NETS, Net, smaller
from benchmarks.options import chosen
from benchmarks.prepare import Prepared, prepare
from benchmarks.rows import CORES, RESULTS, finish
from netpart.kernels.choose import kernel_class

SIZES: dict[str, tuple[int, int | None]] = {
    "lenet": (64, None), "cifar": (100, None), "mlp": (1000, None), "alexnet": (128, None), "resnet18": (64, 224),
    "unet3d": (4, 64), "gpt": (16, None),
}  # fmt: skip
"""Mini-batch and extent of each net: sizes that fill a GPU, and some nets that cannot."""
PRECISIONS = "float32", "tf32", "bfloat16"
ROUNDS = 2
STRETCHES = 3
MINUTES = 6.0

Json = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write the results; 1 if a goal was missed or a contender failed."""
    began, args = monotonic(), parse(arguments)
    path = args.output or RESULTS / f"gpu-{args.precision}.json"
    found, keep = dict[str, Json](), bool(args.output) or not args.quick
    with TemporaryDirectory() as folder:
        nets = prepared_together(args.nets, Path(folder))
        if args.device != "cpu":
            fill_caches(nets, args.device, args.precision)
            print(f"compiled all nets in {monotonic() - began:.0f} s", flush=True)
        for prepared in nets:
            if monotonic() - began > 60 * args.minutes:
                print(
                    f"{prepared.net.title}: omitted, as {args.minutes:g} minutes are over; measure it alone with NETS="
                )
                continue
            try:
                found[prepared.net.name] = entry = measured(prepared, args)
            except (RuntimeError, OSError) as error:
                print(f"{prepared.net.title}: {error}", flush=True)
                continue
            print(*gpu_results.entry_lines(entry), sep="\n", flush=True)
            if keep:
                gpu_results.keep(path, args.precision, {prepared.net.name: entry})
    code = finish(gpu_results.rows(found))
    return 0 if args.quick else int(code or len(found) < len(args.nets) or any(e["failed"] for e in found.values()))


def prepared_together(nets: list[Net], folder: Path) -> list[Prepared]:
    """Prepare all nets on all cores; nothing is timed meanwhile."""
    with ProcessPoolExecutor(min(CORES, len(nets))) as pool:
        return list(pool.map(partial(prepare, folder=folder, kernels=kernel_class("cuda")), nets))


def measured(prepared: Prepared, args: argparse.Namespace) -> Json:
    """Measure one net; return its entry in the results."""
    steps = steps_for(prepared, args.seconds, args.device)
    contest = Contest(prepared, args.device, args.precision, args.rounds, args.stretches, steps)
    found, ceilings = contest.run()
    return gpu_results.entry(prepared, steps, found, ceilings, wrong(prepared, found))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description="time training steps on a GPU")
    parser.add_argument("--nets", type=chosen, default=list(NETS.values()), help=f"of {','.join(NETS)}")
    parser.add_argument("--precision", choices=PRECISIONS, default="tf32", help="of products and convolutions")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to try it (default: cuda)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="runs of each contender")
    parser.add_argument("--stretches", type=int, default=STRETCHES, metavar="N", help="of a run that count")
    parser.add_argument("--seconds", type=float, default=STRETCH_SECONDS, metavar="S", help="of a stretch, roughly")
    parser.add_argument("--minutes", type=float, default=MINUTES, metavar="M", help="then no other net is started")
    parser.add_argument("--quick", action="store_true", help="tiny nets: does it work? writes nothing without -o")
    parser.add_argument("-o", "--output", type=Path, metavar="F.json", help="where the figures go")
    args = parser.parse_args(arguments)
    if find_spec("torch") is None:
        parser.error("expected PyTorch, got none; name a Python that has it: make bench-gpu GPU_PYTHON=python3")
    args.nets = [smaller(net) if args.quick else sized(net) for net in args.nets]
    if args.quick:
        args.rounds, args.stretches = 1, 1
    return args


def sized(net: Net) -> Net:
    """``net`` at the size that is timed on a GPU."""
    batch, extent = SIZES[net.name]
    return replace(net, batch=batch, extent=extent)


if __name__ == "__main__":
    sys.exit(main())
