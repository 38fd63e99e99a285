"""Census of the GPU launches of one training step, without a GPU: counted from the arguments, not measured.

    python -m tools.gpu_census                                     a line for each net of benchmarks.gpu
    python -m tools.gpu_census --nets lenet --each                 every launch of a step, in order
    python -m tools.gpu_census --precision bfloat16                what is rounded before it is multiplied

One worker is bound to the emulated device of tests/cuda, at the sizes that benchmarks.gpu times. It plays a step in
which every launch is recorded and not executed. Bytes are those of the tensors among its arguments, each once; flops
are those of products and convolutions, at the rate of the precision that each of them has. The least time on an H200 is
the sum over all launches of the longest of the times of their nodes, bytes and flops. "MB at least" are moved if all
tensors that are kept are written once and read once.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import prod
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.gpu import PRECISIONS, sized
from benchmarks.nets import NETS, Net, job
from benchmarks.options import chosen
from benchmarks.prepare import costs
from netpart.data.row_source import RowSource
from netpart.kernels.choose import kernel_class
from netpart.kernels.cuda import blas, device, dnn, epilogues, feed, launch, updates
from netpart.kernels.cuda.narrowing import LAUNCH, RATES, TF32
from netpart.kernels.cuda.problem import ConvolutionProblem
from netpart.kernels.cuda.view import StridedView
from netpart.plan.partition import partition_by_scheme
from netpart.program.compile import compile_worker
from netpart.proto.job_pb2 import JobProto
from netpart.updaters import build_updater
from netpart.worker.player import Player
from tests.cuda.module import emulated

BANDWIDTH = 4.3e12
"""Bytes in a second of an H200, roughly."""
PEAK = {"float32": 60e12, **RATES}
"""Flops in a second of an H200, roughly."""
ATTENTION = {"fused_attention": (1, 1), "fused_attention_gradient": (4, 3)}
"""By kernel: the number of products over the width of queries and keys, and over the width of values."""
HEAD = "net", "launches", "of libraries", "MB", "MB at least", "GFLOP", "µs at least"


class Asked(NamedTuple):
    """One launch, whose ``flops`` are of ``precision``; libraries choose their ``grid`` and block themselves."""

    name: str
    grid: str
    moved: int
    flops: int
    precision: str

    @property
    def seconds(self) -> float:
        """The least seconds of the launch."""
        return max(LAUNCH, self.moved / BANDWIDTH, self.flops / PEAK[self.precision])

    @property
    def described(self) -> str:
        """The launch in a line."""
        multiplied = f"{self.flops / 1e9:10.3f} GFLOP" + (f" in {self.precision}" if self.flops else "")
        return f"  {self.name:32} {self.grid:22} {self.moved / 1e6:10.3f} MB {multiplied}"


def nbytes(argument: Any) -> int:
    """Bytes of the tensors in an argument of a kernel; repeated elements count once."""
    if isinstance(argument, list | StridedView):
        return sum(map(nbytes, argument)) if isinstance(argument, list) else nbytes(argument.array)
    if isinstance(argument, launch.LaunchScratch):
        return int(prod(argument.shape) * np.dtype(argument.dtype).itemsize)
    if hasattr(argument, "owner"):
        return nbytes(argument.owner)
    if not hasattr(getattr(argument, "data", None), "ptr"):
        return 0
    steps = zip(argument.shape, argument.strides, strict=True)
    return int(prod(n for n, step in steps if step) * argument.itemsize)


def updated(table: Any, itemsize: int) -> int:
    """Bytes of the tensors of a table of updates: a gradient is read, all others are read and written."""
    found = 0
    for row in table.get().view(updates.ROW):
        tensors = {int(row[name]["data"]) for name in ("w", "g", "h", "u", "mean")}
        found += (2 * len(tensors) - 1) * int(row["size"]) * itemsize
    return found


def multiplied(name: str, args: Sequence[Any]) -> int:
    """FLOPs of the products in a kernel; attention counts all keys, also masked ones."""
    if name not in ATTENTION:
        return 0
    (q, k, v), (widths, values) = (view.array for view in args[:3]), ATTENTION[name]
    return int(2 * prod(q.shape[:-1]) * k.shape[-2] * (widths * q.shape[-1] + values * v.shape[-1]))


def convolved(problem: ConvolutionProblem) -> str:
    """The precision of a convolution."""
    return TF32 if problem.dtype == "float32" and problem.tensor_cores else problem.dtype


class Kernel(NamedTuple):
    """A substitute of a compiled kernel."""

    asked: list[Asked]
    file: str
    name: str
    itemsize: int
    precision: str

    def __call__(self, grid: Any, block: Any, args: Any, shared_mem: int = 0) -> None:
        """A launch outside of a bound Program."""
        self.note(grid, block, args)

    def note(self, grid: Any, block: Any, args: Any) -> None:
        given = list(args)
        moved = updated(given[0], self.itemsize) if self.file == updates.FILE and len(given) == 2 else nbytes(given)
        shape = "×".join(map(str, grid)) + " of " + "×".join(map(str, block))
        self.asked.append(Asked(self.name, shape, moved, multiplied(self.name, given), self.precision))


def noting(asked: list[Asked]) -> ExitStack:
    """While the context is open, launches are recorded in ``asked`` and not executed; no engine is measured."""

    def product(one: blas.BlasProduct | epilogues.FusedProduct, memory: Any) -> None:
        moved = sum(prod(operand.shape) * operand.dtype.itemsize for operand in one.operands)
        flops = 2 * prod(one.operands[2].shape) * one.operands[1].shape[-1]
        asked.append(Asked(one.name, "cuBLAS", moved, flops, one.blas.precision))

    def convolve(one: dnn.PlannedConvolution, memory: Any) -> None:
        problem, item = one.plan.problem, dnn.ITEMS[one.plan.problem.dtype]
        moved = sum(map(prod, problem.extents.values())) * item
        flops = 2 * prod(problem.y) * prod(problem.w[1:])
        asked.append(Asked(str(problem.kind), "cuDNN", moved, flops, convolved(problem)))

    def kernel(self: device.CudaDevice, file: str, name: str, real: Any, defines: Any = ()) -> Kernel:
        return Kernel(asked, file, name, np.dtype(real).itemsize, self.precision)

    stack = ExitStack()
    for owner, name, stand_in in (
        (device.CudaDevice, "function", kernel),
        (launch.KernelLaunch, "__call__", lambda one, memory: one.function.note(one.grid, one.block, one.alive)),
        (blas.BlasProduct, "__call__", product),
        (epilogues.FusedProduct, "__call__", product),
        (dnn.PlannedConvolution, "__call__", convolve),
        (dnn.Dnn, "_timed", lambda self, problem, plans: lambda plan: plan.index),
        (feed.UploadLane, "upload", lambda self: None),
        (RowSource, "read", lambda *_: None),
    ):  # fmt: skip
        stack.enter_context(patch.object(owner, name, stand_in))
    return stack


def census(net: Net, precision: str) -> tuple[list[Asked], int]:
    """The launches of one step, in order, and the bytes that it moves at least."""
    proto, asked = job(net, 1), list[Asked]()
    # Without a GPU, kernels that are chosen automatically are those of the CPU.
    proto.MergeFrom(JobProto(precision=precision.upper(), kernels="CUDA"))
    with TemporaryDirectory() as folder, noting(asked), patch.dict(environ, XDG_CACHE_HOME=folder):
        rule, cut = build_updater(proto.updater), partition_by_scheme(proto, 1, Path(folder), phases=("train",))
        program = compile_worker(cut, 0, len(rule.states), kernels=kernel_class("cuda"))
        player = Player(program, None, emulated(), rule, proto.seed)
        asked.clear()
        assert list(player.play("train", 0)) == []
        return asked, costs(proto, Path(folder), kernel_class("cuda"))[1]


def line(net: Net, asked: list[Asked], least: int) -> list[str]:
    """The row of a net, with the columns of HEAD."""
    libraries, moved = sum(each.grid.startswith("cu") for each in asked), sum(each.moved for each in asked)
    flops, seconds = sum(each.flops for each in asked), sum(each.seconds for each in asked)
    figures = moved / 1e6, least / 1e6, flops / 1e9, seconds * 1e6
    return [
        net.title,
        str(len(asked)),
        str(libraries),
        *(f"{figure:,.{0 if figure > 100 else 1}f}" for figure in figures),
    ]


def main(arguments: list[str] | None = None, say: Callable[[str], Any] = print) -> None:
    """Print the census as a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu_census", description="count what a step asks of a GPU")
    parser.add_argument("--nets", type=chosen, default=list(NETS.values()), help=f"of {','.join(NETS)}")
    parser.add_argument("--precision", choices=PRECISIONS, default="tf32", help="of products and convolutions")
    parser.add_argument("--each", action="store_true", help="every launch, and how many there are of each")
    args = parser.parse_args(arguments)
    say("| " + " | ".join(HEAD) + " |\n|---|" + "---|" * (len(HEAD) - 1))
    for net in map(sized, args.nets):
        asked, least = census(net, args.precision)
        say("| " + " | ".join(line(net, asked, least)) + " |")
        if args.each:
            for each in asked:
                say(each.described)
            say(f"  {Counter(each.name for each in asked)}")


if __name__ == "__main__":
    main()
