"""The contenders of benchmarks.schemes: netpart under each scheme as users run it, and peers in their own processes."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from benchmarks.mlp import Work, prepare
from benchmarks.rows import CORES
from netpart.graph.partition import Partition
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.proto.reader import read_job

MPI, TORCH = "altsplit_mpi", "torch_tp"
SCHEMES = ("SEQUENTIAL", "DATA", "NAIVE", "GATHER_SCATTER", "ALTSPLIT", "COLUMN_ROW")
"""ONE_WEIRD_TRICK is GATHER_SCATTER where there is no convolution."""
CONTENDERS = (*SCHEMES, MPI, TORCH)
WARM_UP = 3
"""First steps of every run, which are not counted."""
DEADLINE = 600.0
"""Seconds after which a run has failed."""
YIELDING = ("MPIR_CVAR_ENABLE_HEAVY_YIELD", "MPIR_CVAR_POLLS_BEFORE_YIELD")
"""Variables that make MPICH, which waits by polling, yield the core between two polls."""
MPIEXEC = str(Path(sys.executable).with_name("mpiexec"))
ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Found:
    """Figures of a contender: seconds of each step, the mean loss of all steps, calls and payload bytes of one step."""

    seconds: list[float]
    loss: float
    calls: int
    bytes: int

    @property
    def median(self) -> float:
        """Seconds of the median step."""
        return median(self.seconds)


@dataclass
class Timed:
    """Measurements of all contenders for ``work``."""

    work: Work
    found: dict[str, Found] = field(default_factory=dict)


class Bench:
    """Runs contenders on one Work after another; owns a folder and the processes of PyTorch, which start once.

    ``arguments`` are additional ones for ``netpart run``, such as --launcher threads.
    """

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self.arguments = arguments
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(TemporaryDirectory()))
        self.torch: dict[int, subprocess.Popen[bytes]] = {}
        self.prepared: Work | None = None

    def prepare(self, work: Work) -> Work:
        """``work`` with its files written and the threads that each of its processes gets."""
        work = replace(work, threads=max(1, CORES // work.workers), start=str(self.folder / "start.safetensors"))
        if work != self.prepared:
            prepare(work, self.folder)
            self.prepared = work
        return work

    def run(self, contender: str, work: Work) -> Found:
        """One run of ``contender``, which must have been prepared. Raises CalledProcessError if it fails."""
        peers = {MPI: self.altsplit_mpi, TORCH: self.torch_tp}
        return peers[contender](work) if contender in peers else self.netpart(contender, work)

    def netpart(self, scheme: str, work: Work) -> Found:
        """Run netpart. Bytes are counted in the run, calls in the graph."""
        job, summary = self.folder / "job.conf", self.folder / "summary.json"
        options = ["--workers", str(work.workers), "--scheme", scheme, "--workspace", str(self.folder / "out")]
        call = [sys.executable, "-m", "netpart", "run", str(job), *options, "--summary", str(summary)]
        execute([*call, *self.arguments], work)
        found = json.loads(summary.read_text(encoding="utf-8"))
        assert found["bytes_counted"] == found["bytes_predicted"], found
        calls, sent = exchanged(job, work.workers, scheme)
        assert found["bytes_counted"] == sent * work.steps, found
        return Found(found["step_seconds"][WARM_UP:], found["train"]["loss/loss"], calls, sent)

    def altsplit_mpi(self, work: Work) -> Found:
        """Run the seed's Algorithm 2 under mpiexec. If processes share cores, a waiting process yields its core."""
        yielding = [word for name in YIELDING for word in ("-genv", name, "1")] if work.workers > CORES else []
        call = [MPIEXEC, *yielding, "-n", str(work.workers), sys.executable, "-m"]
        return read(execute([*call, "benchmarks.peers.altsplit_mpi", work.to_json()], work))

    def torch_tp(self, work: Work) -> Found:
        """Run PyTorch's tensor parallelism."""
        process = self.torch.get(work.workers) or self.start_torch(work)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(work.to_json().encode() + b"\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], DEADLINE)
        line = process.stdout.readline() if ready else b""
        if not line:
            raise TimeoutError(f"torch_tp: expected an answer within {DEADLINE:.0f} s, got none; see its output above")
        return read(line)

    def start_torch(self, work: Work) -> subprocess.Popen[bytes]:
        """Start PyTorch's processes for so many workers; between works they wait without computing."""
        call = [sys.executable, "-m", "benchmarks.peers.torch_tp", str(work.workers)]
        process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(work), cwd=ROOT)
        self.torch[work.workers] = self.stack.enter_context(process)
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            for process in self.torch.values():
                process.terminate()
        self.stack.close()


def execute(call: list[str], work: Work) -> bytes:
    """Run a command and return its stdout; raises CalledProcessError if it fails."""
    done = subprocess.run(call, env=environment(work), stdout=subprocess.PIPE, timeout=DEADLINE, check=True, cwd=ROOT)
    return done.stdout


def environment(work: Work) -> dict[str, str]:
    """The environment of this process, with the number of threads of each process of ``work``."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return os.environ | dict.fromkeys(names, str(work.threads))


def read(line: bytes) -> Found:
    """The measurements that a peer printed."""
    found: dict[str, Any] = json.loads(line)
    loss = sum(found["losses"]) / len(found["losses"])
    return Found(found["seconds"][WARM_UP:], loss, found["calls"], found["bytes"])


def exchanged(job: Path, workers: int, scheme: str) -> tuple[int, int]:
    """Call and payload bytes of one training step, from the graph."""
    cut = partition_by_scheme(read_job(job).proto, workers, job.parent, scheme=scheme)
    return calls(cut), compute_ledger(cut).total


def calls(cut: Partition) -> int:
    """Exchanges of one step: collectives, those of their gradients, sums over replicas, and buckets."""
    found = sum(1 + collective.backward for collective in cut.graph.collectives)
    summed = {part.node for part in cut.graph.parts if part.live and part.members}
    return found + len(summed) + len(cut.buckets)
