"""A long run: cases in processes of their own, so that one that ends its process is one failure and not the end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from time import monotonic
from typing import Any

from tests.fuzz.case import FINE, Kind

ROOT = Path(__file__).resolve().parents[2]
SPAN = 2000
"""Cases of one process."""
SILENCE = 60.0
"""Seconds without a word after which a process hangs where no alarm wakes it."""


@dataclass
class Tally:
    """What became of the cases of one fuzzer; ``failures`` are its failures in words."""

    name: str
    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    began: float = field(default_factory=monotonic)

    def add(self, number: int, kind: str, what: str = "", text: str = "") -> None:
        """Notes what became of a case."""
        self.counts[kind] += 1
        if kind not in FINE:
            self.failures.append(f"{self.name}, case {number}: {kind}: {what}\n{text}\nagain: {again(self, number)}")

    def line(self) -> str:
        """The counts in a line."""
        seconds, total = monotonic() - self.began, self.counts.total()
        bad = [(Kind.INTERNAL, "internal errors"), (Kind.NAMELESS, "answers that name nobody"), (Kind.HANG, "hangs"),
               (Kind.LEAK, "leaks"), (Kind.CRASH, "crashes")]  # fmt: skip
        fine = f"{self.counts[Kind.ANSWERED]} answered with a message, {self.counts[Kind.ACCEPTED]} accepted"
        rate = f"{total / max(seconds, 1e-9):.0f} a second"
        failed = ", ".join(f"{self.counts[kind]} {words}" for kind, words in bad)
        return f"{self.name}: {total} cases of seed {self.seed} in {seconds:.0f} s ({rate}): {fine}, {failed}"


def again(tally: Tally, number: int) -> str:
    """The command that plays one case again."""
    return f"make fuzz ARGS='--what {tally.name} --seed {tally.seed} --first {number} --cases 1'"


def run(name: str, seed: int, first: int, cases: int, processes: int) -> Tally:
    """Plays ``cases`` cases from ``first`` on, some processes at a time."""
    tally, last = Tally(name, seed), first + cases
    span = min(SPAN, -(-cases // processes))
    spans = [(start, min(start + span, last)) for start in range(first, last, span)]
    with ThreadPoolExecutor(processes) as pool:
        for one in [pool.submit(play, tally, *ends) for ends in spans]:
            one.result()
    return tally


def play(tally: Tally, first: int, last: int) -> None:
    """Plays the cases of one process; where a case ended it, the others in another one."""
    while first < last:
        reached, how = first, ""
        with Child(tally, first, last) as child:
            for said in child.said():
                if said["number"] >= 0:
                    tally.add(**said)
                    reached = said["number"] + 1
            how = child.end()
        if not how:
            return
        kind = Kind.HANG if how == "silent" else Kind.CRASH
        tally.add(reached, kind, how, child.errors())
        first = reached + 1


class Child:
    """A process that plays cases."""

    def __init__(self, tally: Tally, first: int, last: int) -> None:
        command = [sys.executable, "-m", "tests.fuzz.child", tally.name, *map(str, (tally.seed, first, last))]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, bufsize=0
        )
        self.done = False
        self.silent = False
        self.words = b""

    def said(self) -> Iterator[dict[str, Any]]:
        """What it says, until it ends or is silent for too long."""
        assert self.process.stdout is not None
        rest = b""
        while select([self.process.stdout], [], [], SILENCE)[0]:
            came = self.process.stdout.read(1 << 16)
            if not came:
                return
            *lines, rest = (rest + came).split(b"\n")
            for line in map(json.loads, lines):
                self.done = self.done or line["kind"] == "done"
                yield line
        self.silent = True

    def end(self) -> str:
        """How it ended; "" if it had played all its cases."""
        if self.silent:
            self.process.kill()
            return "silent"
        code = self.process.wait()
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        return "" if self.done else f"exit code {code}"

    def errors(self) -> str:
        """The end of what it wrote to stderr before it began."""
        return self.words[-2000:].decode(errors="replace")

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.words = self.process.stderr.read()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
