"""Compilation before anything is timed: kernels of netpart and of PyTorch's compiler, for all nets on all cores.

Both keep what they compile on disk. What they choose by measurement is not kept, as other work runs beside it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.contest import Peer
from benchmarks.gpu_contest import COMPILED, LAST, PLAIN, WARM_UP, netpart_call
from benchmarks.machine import ROOT, environment
from benchmarks.prepare import Prepared
from benchmarks.rows import CORES

SECONDS = 150.0
"""Seconds after which a compilation is given up; the contest then compiles once more, and reports what is wrong."""


def fill_caches(nets: Sequence[Prepared], device: str, precision: str, folder: Path) -> None:
    """Compile everything for ``nets``. ``folder`` takes what is measured meanwhile."""
    with ThreadPoolExecutor(max(1, CORES // 2)) as pool:
        for prepared in nets:
            pool.submit(_compile_netpart, prepared, device, precision, folder)
            for layout in (PLAIN, LAST) if prepared.net.conv else (PLAIN,):
                pool.submit(_compile_torch, prepared, device, precision, layout)


def _compile_netpart(prepared: Prepared, device: str, precision: str, folder: Path) -> None:
    workspace = folder / f"compiled-{prepared.net.name}"
    measured = {"XDG_CACHE_HOME": str(folder / "measured"), "CUPY_CACHE_DIR": str(_cupy_cache())}
    subprocess.run(
        netpart_call(prepared, device, precision, workspace), cwd=ROOT, capture_output=True, timeout=SECONDS,
        env=environment(1) | measured, check=False,
    )  # fmt: skip


def _compile_torch(prepared: Prepared, device: str, precision: str, layout: str) -> None:
    with Peer("torch_gpu", 1, prepared.folder, device, precision) as peer:
        peer.ask(way=COMPILED, layout=layout, steps=WARM_UP, stretches=1)


def _cupy_cache() -> Path:
    """The folder where CuPy keeps compiled kernels, wherever the caches of others are."""
    return Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
