"""Timed contenders: a run of netpart as users start it, and peers that play some steps on each command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from benchmarks.core_distance import NEAR_CORES
from benchmarks.machine import ROOT, environment, peaks
from benchmarks.prepare import WARM_UP, Prepared

PLAIN, LAST = "plain", "channels last"
"""Memory layouts of a peer's tensors."""
LOOK_SECONDS = 0.25
"""Seconds between two reads of the workers' memory: each takes a millisecond of a core that the workers need."""
DEADLINE = 900.0
"""Seconds after which a run has failed."""


@dataclass
class Timed:
    """Seconds of the steps that count, the mean loss of all steps of the first run, and bytes in memory at most;
    ``runs`` are the medians of the single runs."""

    seconds: list[float] = field(default_factory=list)
    loss: float = 0.0
    peak: int = 0
    imported: int = 0
    runs: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Seconds of the median step."""
        return median(self.seconds)

    def add(self, seconds: Sequence[float], loss: float, peak: int) -> None:
        """Add the figures of another run."""
        self.loss = self.loss if self.seconds else loss
        self.peak = max(self.peak, peak)
        self.seconds += seconds[WARM_UP:]
        self.runs.append(median(seconds[WARM_UP:]))

    def run_ratios(self, peer: Timed) -> tuple[float, ...]:
        """The ratio of each run: how many times as long the step of ``peer`` took in its run of the same round."""
        return tuple(round(theirs / ours, 3) for ours, theirs in zip(self.runs, peer.runs, strict=False))


def netpart(
    prepared: Prepared, timed: Timed, steps: int, workers: int, threads: int, arguments: Sequence[str] = (),
    plan: Path | None = None,
) -> None:  # fmt: skip
    """Train for ``steps`` steps with ``netpart run``, as the job is written or by a ``plan`` of it for as many steps.

    With several workers or threads, it is repeated if two cores were apart (``core_distance``).
    Raises RuntimeError, with the output of the command, if that fails.
    """
    prepared.write_job(steps)
    run = partial(_train, plan or prepared.job, workers, threads, arguments)
    timed.add(*(NEAR_CORES.steady(run) if workers * threads > 1 else run()))


def _train(job: Path, workers: int, threads: int, arguments: Sequence[str]) -> tuple[list[float], float, int]:
    """The seconds of all steps, the mean loss, and the bytes of a worker at most."""
    with TemporaryDirectory() as folder:
        summary, log = Path(folder) / "summary.json", Path(folder) / "log.txt"
        call = [sys.executable, "-m", "netpart", "run", str(job), "--workers", str(workers)]
        options = ["--workspace", folder, "--summary", str(summary), *arguments]
        with log.open("w") as output:
            process = subprocess.Popen(
                [*call, *options], env=environment(threads), stdout=output, stderr=output, cwd=ROOT
            )
        peak = watched(process)
        if process.returncode:
            raise RuntimeError(f"{' '.join([*call, *options])}: exit code {process.returncode}: {log.read_text()}")
        found = json.loads(summary.read_text(encoding="utf-8"))
    return found["step_seconds"], found["train"]["loss/loss"], peak


def recommended(prepared: Prepared, steps: int, workers: int, threads: int) -> Path:
    """The plan that netpart recommends for runs of so many ``steps``, from the times of its kernels on this machine."""
    prepared.write_job(steps)
    found = prepared.folder / "plan.conf"
    call = [sys.executable, "-m", "netpart", "plan", str(prepared.job), "--workers", str(workers), "--by", "profile"]
    whole = [*call, "-o", str(found)]
    run = partial(subprocess.run, whole, env=environment(threads), stdout=subprocess.DEVNULL, cwd=ROOT, check=True)
    NEAR_CORES.steady(run)
    return found


def watched(process: subprocess.Popen[Any]) -> int:
    """Wait for a process; return the largest memory, in bytes, of one of its children."""
    found: dict[int, int] = {}
    waited = 0.0
    while True:
        try:
            process.wait(LOOK_SECONDS)
            return max(found.values(), default=0)
        except subprocess.TimeoutExpired:
            found |= peaks(process.pid)
            waited += LOOK_SECONDS
            if waited > DEADLINE:
                process.kill()


class Peer:
    """A program of benchmarks.peers that answers commands; leaving the context ends it.

    ``processes``: how many of its processes, of ``threads`` each, work at the same time.
    """

    def __init__(self, module: str, threads: int, *arguments: object, processes: int = 1) -> None:
        self.cores = processes * threads
        self.call = [sys.executable, "-m", f"benchmarks.peers.{module}", *map(str, arguments), str(threads)]
        self.process = subprocess.Popen(
            self.call, env=environment(threads), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True
        )

    def ask(self, **command: Any) -> dict[str, Any]:
        """Send a command and return the answer; raises RuntimeError if the program has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.call}: ended with exit code {self.process.wait(DEADLINE)}")
        found: dict[str, Any] = json.loads(line)
        return found

    def play(self, timed: Timed, steps: int, layout: str, compiled: bool = False) -> None:
        """Play ``steps`` steps of one variant, again if two cores were apart. Its memory is that of the first run."""
        runs = list[dict[str, Any]]()

        def ask() -> dict[str, Any]:
            runs.append(self.ask(layout=layout, compiled=compiled, steps=steps))
            return runs[-1]

        found = NEAR_CORES.steady(ask) if self.cores > 1 else ask()
        # A run that is repeated goes on with the training of the one before: the loss is that of the first.
        timed.add(found["seconds"], sum(runs[0]["losses"]) / steps, timed.peak or found["peak"])
        timed.imported = found["imported"]

    def __enter__(self) -> Self:
        """Wait until the program is ready: its imports would take cores from the contender that is timed first."""
        self.ask(layout=PLAIN, compiled=False, steps=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if error is not None:
            self.process.terminate()
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        self.process.stdout.close()


def check_losses(what: str, first: Timed, other: Timed, tolerance: float = 0.02) -> None:
    """Raise ValueError for contenders with different mean losses: one of them is wrong."""
    if abs(first.loss - other.loss) > tolerance * abs(first.loss):
        raise ValueError(f"{what}: expected the same loss, got {first.loss} and {other.loss}; a contender is wrong")
