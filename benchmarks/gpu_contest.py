"""Contenders on a GPU, timed by stretches of steps: netpart run as users start it, and PyTorch in all its ways."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.contest import Peer
from benchmarks.machine import ROOT, environment
from benchmarks.prepare import Prepared
from benchmarks.rows import CORES

NETPART = "netpart"
EAGER = "eager"
GRAPH = "CUDA graph"
COMPILED = "compiled"
WAYS = EAGER, GRAPH, COMPILED
"""The ways of PyTorch."""
PLAIN, LAST = "plain", "channels last"
DEADLINE = 240.0
"""Seconds after which a run of netpart has failed."""
KEPT_OUTPUT = 2000
"""Last characters of the output of a failed run that are kept."""
RATE, LEAST = 1e14, 2.5e-4
"""Rough FLOPs of a GPU in a second, and seconds of a step without any: they determine the length of a stretch."""
FEWEST = 8
STRETCH_SECONDS = 0.25
"""About the length of a stretch: of netpart by an estimate, of PyTorch by what its last steps took."""
MOST = 2000
CPU_STEPS = 8
FIRST = 16
"""Steps whose losses are compared: few, as rounding grows from step to step. In these steps libraries and compilers
also fill their caches on disk."""
TOLERANCE, DRAWN_TOLERANCE = 0.02, 0.25
"""Largest relative difference of losses; and with dropout, as each library draws its own random numbers."""


@dataclass
class Stretches:
    """Seconds of a step in every counted stretch; the mean loss of the FIRST steps, which are not counted; the reason
    for a failure."""

    layout: str = PLAIN
    seconds: list[float] = field(default_factory=list)
    loss: float | None = None
    failed: str = ""

    @property
    def median(self) -> float:
        """Seconds of a step in the median stretch."""
        return median(self.seconds)

    def attempt(self, work: Callable[[], None]) -> None:
        """Call ``work``; record its error, so that the other contenders can go on."""
        if self.failed:
            return
        try:
            work()
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            self.failed = str(error)


@dataclass(frozen=True)
class Contest:
    """Contenders train one net, ``steps`` steps in each of ``stretches`` stretches, ``rounds`` times in turn."""

    prepared: Prepared
    device: str
    precision: str
    rounds: int
    stretches: int
    steps: int

    def run(self) -> tuple[dict[str, Stretches], dict[str, float]]:
        """The stretches of each contender, netpart first; and the ceilings of the device."""
        ours = Stretches()
        # Each way of PyTorch has a process of its own, as an error of CUDA ends all work of a process.
        made = {way: Peer("torch_gpu", CORES, self.prepared.folder, self.device, self.precision) for way in self.ways}
        with ExitStack() as stack:
            peers = {way: stack.enter_context(peer) for way, peer in made.items()}
            ceilings = peers[EAGER].ask(ceilings=True)
            if "failed" in ceilings:
                raise RuntimeError(f"PyTorch on {self.device}: {ceilings['failed']}")
            ours.attempt(lambda: self.netpart(ours))
            theirs = {EAGER: self.better_layout(peers[EAGER])}
            theirs |= {way: Stretches(theirs[EAGER].layout) for way in self.ways[1:]}
            for way in self.ways[1:]:
                self.peer(peers[way], way, theirs[way])
            for _ in range(self.rounds - 1):
                ours.attempt(lambda: self.netpart(ours))
                for way, stretches in theirs.items():
                    self.peer(peers[way], way, stretches)
        return {NETPART: ours} | theirs, ceilings

    @property
    def ways(self) -> Sequence[str]:
        """The ways of PyTorch on this device, eager first."""
        return WAYS[:1] if self.device == "cpu" else WAYS

    def better_layout(self, peer: Peer) -> Stretches:
        """PyTorch eager, in the memory order that is faster for it; the other one is dropped."""
        tried = [Stretches(layout) for layout in ((PLAIN, LAST) if self.prepared.net.conv else (PLAIN,))]
        for each in tried:
            self.peer(peer, EAGER, each)
        best = min(tried, key=lambda each: each.median if each.seconds else float("inf"))
        for each in tried:
            if each is not best:
                peer.ask(way=EAGER, layout=each.layout, drop=True)
        return best

    def peer(self, peer: Peer, way: str, stretches: Stretches) -> None:
        """Play PyTorch's next stretches, after its first steps if there were none yet."""

        def play(steps: int, count: int) -> tuple[list[float], list[float]]:
            found = peer.ask(way=way, layout=stretches.layout, steps=steps, stretches=count)
            if "failed" in found:
                raise RuntimeError(found["failed"])
            return found["seconds"], found["losses"]

        def work() -> None:
            if stretches.loss is None:
                _, (stretches.loss,) = play(FIRST, 1)
            rate = play(FEWEST, 1)[0][0]
            steps = max(FEWEST, min(self.steps, int(STRETCH_SECONDS / rate)))
            stretches.seconds += play(steps, self.stretches)[0]

        stretches.attempt(work)

    def netpart(self, stretches: Stretches) -> None:
        """Run netpart, after a run of its first steps if there was none yet. Each stretch ends with a report, for which
        the metrics are read; the first one, of a new process, is not counted."""
        if stretches.loss is None:
            _, (stretches.loss,) = self.trained(FIRST, 1)
        seconds, _ = self.trained(self.steps, 1 + self.stretches)
        stretches.seconds += [each / self.steps for each in seconds[1:]]

    def trained(self, steps: int, stretches: int) -> tuple[list[float], list[float]]:
        """Seconds and mean losses of each stretch of a run of netpart."""
        self.prepared.write_job(steps * stretches)
        with TemporaryDirectory() as folder:
            call = [
                *netpart_call(self.prepared, self.device, self.precision, Path(folder)), "--set", f"disp_freq={steps}"
            ]  # fmt: skip
            done = subprocess.run(
                call, env=environment(CORES), cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE, check=False
            )
            if done.returncode:
                raise RuntimeError(
                    f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-KEPT_OUTPUT:]}"
                )
            return reported(Path(folder) / "metrics.jsonl")


def netpart_call(prepared: Prepared, device: str, precision: str, workspace: Path) -> list[str]:
    """The command that runs the job of ``prepared`` as users start it."""
    call = [sys.executable, "-m", "netpart", "run", str(prepared.job), "--workers", "1"]
    call += ["--workspace", str(workspace), "--device", device]
    return call if device == "cpu" else [*call, "--precision", precision]


def reported(path: Path) -> tuple[list[float], list[float]]:
    """Seconds from one report of training to the next, the first one from the start; mean losses of each."""
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    train = [event for event in events if event["phase"] == "train"]
    times = [0.0, *(event["seconds"] for event in train)]
    return [after - before for before, after in pairwise(times)], [event["metrics"]["loss/loss"] for event in train]


def steps_for(prepared: Prepared, seconds: float, device: str) -> int:
    """Steps of a stretch of about ``seconds``."""
    if device == "cpu":
        return CPU_STEPS
    return max(FEWEST, min(MOST, int(seconds / max(LEAST, prepared.flops / RATE))))


def wrong(prepared: Prepared, found: dict[str, Stretches]) -> list[str]:
    """The contenders whose loss differs from netpart's: one of them computes something else."""
    ours, tolerance = found[NETPART].loss, DRAWN_TOLERANCE if prepared.dropout else TOLERANCE
    losses = {name: each.loss for name, each in found.items() if each.loss is not None}
    return [name for name, loss in losses.items() if ours is not None and not abs(loss - ours) <= tolerance * abs(ours)]
