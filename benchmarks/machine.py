"""The machine and processes on it: threads, memory, the speed of a matrix product."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
THREADS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
"""Variables that set the number of threads of libraries; they are read when a library is imported."""
GEMM = """
import os
import sys
import numpy as np
import torch
from time import perf_counter
from netpart.kernels.choose import choose_kernels, kernel_class
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
n = int(sys.argv[1])
a, b, c = (np.random.default_rng(1).random((n, n), np.float32) for _ in range(3))
tensors = [torch.from_numpy(each) for each in (a, b, c)]
def seconds(product):
    began = perf_counter()
    product()
    return perf_counter() - began
own = kernel_class(choose_kernels("auto", "float32", "cpu").name)(np, np.float32).matmul(a[None], b[None], c[None])
room = [np.empty(shape, dtype) for shape, dtype in own.scratch]
products = lambda: np.matmul(a, b, out=c), lambda: torch.mm(*tensors[:2], out=tensors[2]), lambda: own.run(*room)
print(2 * n ** 3 / min(seconds(product) for _ in range(12) for product in products))
"""
IMPORTED = """
import netpart.graph.partition_codec, netpart.kernels.device, netpart.launch.teams.worker_entry
import netpart.launch.member.member
import netpart.launch.control.communication_codec, netpart.launch.control.transport_choice
import netpart.program.messages.communication, netpart.program.compile
import netpart.transport.shm, netpart.updaters, netpart.worker.player
from netpart.kernels.choose import choose_kernels, kernel_class
kernel_class(choose_kernels("auto", "float32", "cpu").name)
print(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
"""
"""A program with the imports of a worker, including the library of its kernels."""


def environment(threads: int) -> dict[str, str]:
    """The environment of this process, with the number of threads for the libraries of a new process."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return os.environ | dict.fromkeys(THREADS, str(threads)) | {"PYTHONPATH": path}


def again_on_one_thread(module: str) -> int | None:
    """Run this command again with one thread if libraries have been imported that may use several; return its exit
    code, or None if that was not necessary."""
    if all(os.environ.get(name) == "1" for name in THREADS):
        return None
    call = [sys.executable, "-m", module, *sys.argv[1:]]
    return subprocess.run(call, env=environment(1), check=False).returncode


def gemm(threads: int, size: int = 2048) -> float:
    """FLOPs per second of a float32 product of square matrices: the best of a dozen each by NumPy, PyTorch, netpart."""
    return float(printed(GEMM, threads, size))


def imported() -> int:
    """Bytes in memory of a worker after its imports, before any work."""
    return int(printed(IMPORTED, 1)) * 1024


def printed(program: str, threads: int, *arguments: object) -> str:
    """The output of a Python program."""
    call = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(call, env=environment(threads), stdout=subprocess.PIPE, text=True, check=True).stdout


def peaks(parent: int) -> dict[int, int]:
    """Bytes that each child of a process has had in memory at most so far, by its number."""
    found = {}
    for child in children(parent):
        try:
            lines = Path(f"/proc/{child}/status").read_text(encoding="utf-8").splitlines()
            found[child] = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
        except (OSError, StopIteration):  # it has ended
            continue
    return found


def children(parent: int) -> list[int]:
    """Processes that a process has started and that have not ended."""
    try:
        tasks = list(Path(f"/proc/{parent}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []
