"""Compilation before anything is timed: kernels of netpart and of PyTorch's compiler, on all cores.

Both keep what they compile on disk. What they choose by measurement is not kept, as other work runs beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from multiprocessing import get_context

from benchmarks.contest import Peer
from benchmarks.gpu_contest import COMPILED, LAST, PLAIN
from benchmarks.prepare import Prepared
from benchmarks.rows import CORES
from netpart.kernels.cuda.device import REALS, SOURCE, compiled_module

TOGETHER = 4
"""Nets that PyTorch compiles at a time; each uses several processes of its own."""


def fill_caches(nets: Sequence[Prepared], device: str, precision: str) -> None:
    """Compile for ``nets``, each in the memory order in which PyTorch is probably faster."""
    with (
        ProcessPoolExecutor(CORES, get_context("spawn")) as sources,
        ThreadPoolExecutor(TOGETHER) as pool,
    ):
        for file in sorted(SOURCE.glob("*.cu")):
            sources.submit(_compile_source, file.name)
        for prepared in nets:
            pool.submit(_compile_torch, prepared, device, precision)


def _compile_source(file: str) -> None:
    """Compile the kernels of a source, in float32; those that need definitions are compiled by the first run."""
    with suppress(Exception):
        compiled_module(import_module("cupy"), file, REALS["float32"]).compile()


def _compile_torch(prepared: Prepared, device: str, precision: str) -> None:
    with Peer("torch_gpu", 1, prepared.folder, device, precision) as peer:
        peer.ask(way=COMPILED, layout=LAST if prepared.net.conv else PLAIN, steps=1, stretches=1)
