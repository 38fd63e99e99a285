"""Error of the forecast of memory: what `netpart check` says that two workers take, and what they take.

    python -m benchmarks.resident_memory              a minute or two; prints a table
    python -m benchmarks.resident_memory mlp alexnet

A process takes memory besides its plan: Python, NumPy, the kernels' library. That of two workers of a tiny net is taken
off. Memory that several processes share counts once, where its descriptor is: the resident sizes of two workers count
tensors twice that both can reach, and if it is divided among the processes (Pss in proc_pid_smaps(5)), the last one of
a run to end is seen with all of it. Pages of files, such as libraries, do not count: all processes of the host share
them, so a process has fewer while more others run. Other processes do not disturb the rest.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import NamedTuple

from benchmarks.machine import children
from benchmarks.nets import NETS, Net, job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.worker_memory import model_workers
from netpart.proto.job_pb2 import JobProto
from netpart.units import bytes_text
from netpart.updaters import build_updater

WORKERS, STEPS = 2, 12
TINY = replace(NETS["lenet"], batch=WORKERS)
LOOK = 0.25
"""Seconds between two looks at the processes."""
LIMIT = 600.0
"""Seconds after which a run is ended."""
SHARED, BLOCK = "/memfd:", 512
"""The start of the names of memory that processes share, and the bytes of a block (st_blocks in stat(3type))."""
WORKER = "netpart.launch.teams.worker_entry"


class RunMemory(NamedTuple):
    """Bytes of both workers: ``planned`` by the forecast, and the most that was ``resident``."""

    planned: int
    resident: int


def main() -> int:
    """Print a row for each net."""
    parser = argparse.ArgumentParser(description="hold the forecast of memory against that of processes")
    parser.add_argument("nets", nargs="*", default=["mlp", "resnet18", "alexnet", "gpt"], metavar="NET")
    args = parser.parse_args()
    tiny = _measure_run(TINY, 40 * STEPS)
    besides = tiny.resident - tiny.planned
    print(f"besides its plan, a process takes {bytes_text(besides // WORKERS)}")
    for name in args.nets:
        found = _measure_run(NETS[name], STEPS)
        own = found.resident - besides
        error = found.planned / own - 1
        print(f"{name}: {bytes_text(found.planned)} forecast, {bytes_text(own)} taken, {error:+.1%}", flush=True)
    return 0


def _measure_run(net: Net, steps: int) -> RunMemory:
    """The memory of two workers that train ``net``, cut on its data."""
    proto = job(net, steps)
    cut = partition_by_scheme(proto, WORKERS, scheme="data", phases=("train",))
    models = model_workers(cut, len(build_updater(proto.updater).states))
    return RunMemory(sum(each.memory + each.bound for each in models), most_memory(proto, _resident_bytes))


def most_memory(proto: JobProto, count: Callable[[Sequence[int]], int]) -> int:
    """The most bytes that ``count`` finds of the processes of two workers that train a job until its end."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "job.conf")
        path.write_text(f"{proto}", encoding="utf-8")
        options = ["--workers", str(WORKERS), "--scheme", "data", "--workspace", f"{folder}/run"]
        command = [sys.executable, "-m", "netpart", "run", str(path), *options]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
            return _watch_run(run, count)


def _watch_run(run: subprocess.Popen[bytes], count: Callable[[Sequence[int]], int]) -> int:
    """Look at the workers of ``run`` until its end."""
    most, ends = 0, monotonic() + LIMIT
    while run.poll() is None:
        with suppress(OSError, TypeError):  # a process has ended
            most = max(most, count(_worker_processes(run.pid)))
        if monotonic() > ends:
            run.terminate()
        sleep(LOOK)
    return most


def _worker_processes(process: int) -> list[int]:
    """The workers among the processes that ``process`` has started, and that these have."""
    found = [each for child in children(process) for each in (child, *children(child))]
    return [each for each in found if WORKER in Path(f"/proc/{each}/cmdline").read_text(encoding="utf-8")]


def _resident_bytes(processes: Sequence[int]) -> int:
    """Bytes that ``processes`` have in memory together, without pages of files."""
    shared = {}
    for process in processes:
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with suppress(FileNotFoundError):  # it has been closed meanwhile
                if os.readlink(descriptor).startswith(SHARED):
                    found = descriptor.stat()
                    shared[found.st_ino] = found.st_blocks * BLOCK
    return own_bytes(processes) + sum(shared.values())


def own_bytes(processes: Sequence[int]) -> int:
    """Bytes that each of ``processes`` alone has in memory, without pages of files."""
    rollups = (Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8") for process in processes)
    return sum(1024 * int(size) for text in rollups for size in re.findall(r"^Pss_Anon:\s+(\d+) kB", text, re.M))


if __name__ == "__main__":
    sys.exit(main())
