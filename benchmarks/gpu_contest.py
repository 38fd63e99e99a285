"""What is timed on a GPU: stretches of steps, by netpart run as its users start it, and by PyTorch in all its ways."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.contest import Peer
from benchmarks.machine import ROOT, environment
from benchmarks.prepare import Prepared
from benchmarks.rows import CORES

NETPART, EAGER, GRAPH, COMPILED = "netpart", "eager", "CUDA graph", "compiled"
WAYS = EAGER, GRAPH, COMPILED
"""Those of PyTorch. What a compiler may break comes last: it leaves the others alone."""
PLAIN, LAST = "plain", "channels last"
DEADLINE = 240.0
"""Seconds after which a run of netpart has failed."""
RATE, LEAST = 1e14, 2.5e-4
"""FLOPs of a GPU in a second, and seconds of a step without any, roughly: how long a stretch is, is guessed from it."""
FEWEST, MOST, CPU_STEPS = 8, 2000, 8
TOLERANCE, DRAWN_TOLERANCE = 0.02, 0.25
"""How far losses may be apart, as a share; and where dropout draws numbers, of which every library draws others."""


@dataclass
class Stretches:
    """Seconds of a step in every stretch that counts; the mean loss of the first one, which does not; why there are no
    more."""

    layout: str = PLAIN
    seconds: list[float] = field(default_factory=list)
    loss: float | None = None
    failed: str = ""

    @property
    def median(self) -> float:
        """Seconds of a step in the median stretch."""
        return median(self.seconds)

    def add(self, seconds: list[float], losses: list[float], warm: bool) -> None:
        """Takes stretches in; unless the process is ``warm`` the first does not count."""
        self.loss = losses[0] if self.loss is None else self.loss
        self.seconds += seconds if warm else seconds[1:]

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notes what keeps a contender from going on, so that the others can."""
        try:
            yield
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
        """What each took, netpart first; and the ceilings of the device."""
        found = {NETPART: Stretches(), EAGER: Stretches()}
        arguments = self.prepared.folder, self.device, self.precision
        with Peer("torch_gpu", CORES, *arguments) as peer:
            ceilings = peer.ask(ceilings=True)
            if "failed" in ceilings:
                raise RuntimeError(f"PyTorch on {self.device}: {ceilings['failed']}")
            for turn in range(self.rounds):
                self.netpart(found[NETPART])
                if turn == 0:
                    found[EAGER] = self.better_layout(peer)
                    ways = WAYS if self.device != "cpu" else WAYS[:1]
                    found |= {way: Stretches(found[EAGER].layout) for way in ways[1:]}
                for way in found:
                    if way != NETPART and not (turn == 0 and way == EAGER):
                        self.peer(peer, way, found[way])
        return found, ceilings

    def better_layout(self, peer: Peer) -> Stretches:
        """PyTorch eager, in the order of memory that is faster for it: the other one is forgotten."""
        tried = [Stretches(layout) for layout in ((PLAIN, LAST) if self.prepared.net.conv else (PLAIN,))]
        for each in tried:
            self.peer(peer, EAGER, each)
        best = min(tried, key=lambda each: each.median if each.seconds else float("inf"))
        for each in tried:
            if each is not best:
                peer.ask(way=EAGER, layout=each.layout, drop=True)
        return best

    def peer(self, peer: Peer, way: str, stretches: Stretches) -> None:
        """PyTorch's next stretches."""
        if stretches.failed:
            return
        warm = bool(stretches.seconds)
        with stretches.watched():
            count = self.stretches + (not warm)
            found = peer.ask(way=way, layout=stretches.layout, steps=self.steps, stretches=count)
            if "failed" in found:
                raise RuntimeError(found["failed"])
            stretches.add(found["seconds"], found["losses"], warm)

    def netpart(self, stretches: Stretches) -> None:
        """A run of netpart; the metrics that it reports after each stretch end it, for they must be read."""
        if stretches.failed:
            return
        with stretches.watched(), TemporaryDirectory() as folder:
            self.prepared.write_job((1 + self.stretches) * self.steps)
            call = [sys.executable, "-m", "netpart", "run", str(self.prepared.job), "--workers", "1"]
            call += ["--workspace", folder, "--device", self.device, "--set", f"disp_freq={self.steps}"]
            if self.device != "cpu":
                call += ["--precision", self.precision]
            done = subprocess.run(
                call, env=environment(CORES), cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE, check=False
            )
            if done.returncode:
                raise RuntimeError(f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()}")
            seconds, losses = reported(Path(folder) / "metrics.jsonl")
            stretches.add([each / self.steps for each in seconds], losses, False)


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
    """The contenders whose loss is not netpart's: one of them computes something else."""
    ours, tolerance = found[NETPART].loss, DRAWN_TOLERANCE if prepared.dropout else TOLERANCE
    losses = {name: each.loss for name, each in found.items() if each.loss is not None}
    return [name for name, loss in losses.items() if ours is not None and not abs(loss - ours) <= tolerance * abs(ours)]
