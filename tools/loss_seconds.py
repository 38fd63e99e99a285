"""Where the seconds after a loss go: a run loses one worker after another, and each phase until its next new step is
timed.

    python -m tools.loss_seconds --launcher join --kills 20
    python -m tools.loss_seconds --launcher local --net gpt --kills 3

    kill -9 ── noticed ── cut anew ── prepared ── first new step
               |          |           |           the first step that the run had not done before is done
               |          |           all workers have compiled, read their regions and connected: "going on with step"
               |          the others have left the old team, and the plans are made
               the coordinator gives up the worker

With the launcher "local" a worker that is lost is started again (--respawn), with "join" another one joins. ``early``:
the worker that joins is killed as well, in its first seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, NamedTuple

from tools.elastic_faults import percentiles
from tools.fault_jobs import JOBS
from tools.faulty_run import FaultyRun

PHASES = ("noticed", "cut anew", "prepared", "first new step")
CHANGES = ("disp_freq=1", "train_steps=100000", "checkpoint_freq=0", "deadline=20")
PATIENCE = 120.0
"""How long the tool waits for anything."""


class KillSeconds(NamedTuple):
    """Seconds of each of PHASES after a kill, of a run that had ``workers`` workers."""

    workers: int
    phases: tuple[float, ...]

    @property
    def until_go(self) -> float:
        """Seconds until the run went on."""
        return sum(self.phases[:3])

    def __str__(self) -> str:
        parts = "  ".join(f"{name} {seconds:6.3f}" for name, seconds in zip(PHASES, self.phases, strict=True))
        return f"{self.workers} workers: {parts}   going on {self.until_go:6.3f}"


def await_event(run: FaultyRun, kind: str, since: float, step: int = 0) -> dict[str, Any]:
    """The first event of ``kind`` since a moment, of at least ``step``."""
    end = monotonic() + PATIENCE
    while monotonic() < end and run.driver.poll() is None:
        for told in tuple(run.told):
            if told["kind"] == kind and told["at"] >= since and told.get("step", step) >= step:
                return told
        sleep(0.005)
    raise RuntimeError(f"expected {kind} within {PATIENCE:g} s, got {run.told[-2:]}; see {run.folder}.log")


def time_kill(run: FaultyRun, random: Random, early: bool) -> KillSeconds:
    """Kill a worker in the middle of the run, and time what follows; at the end all seats are taken again."""
    alive = run.workers()
    sleep(random.uniform(0.3, 1.0))
    began = monotonic()
    os.kill(random.choice(alive), signal.SIGKILL)
    moments = [began, *(await_event(run, kind, began)["at"] for kind in ("Lost", "Recut", "WentOn"))]
    reached = max((told["step"] for told in tuple(run.told) if told["kind"] == "Measured"), default=0)
    moments.append(await_event(run, "Measured", moments[-1], reached + 1)["at"])
    replace(run, random, early)
    return KillSeconds(len(alive), tuple(after - before for before, after in pairwise(moments)))


def replace(run: FaultyRun, random: Random, early: bool) -> None:
    """Let another worker take the place of the one that was killed."""
    if early:
        kill_joiner(run, random)
    if run.launcher == "join":
        run.join(run.wait)
    since = run.latest("WentOn")
    assert since is not None
    await_event(run, "WentOn", since["at"] + 1e-6)


def kill_joiner(run: FaultyRun, random: Random) -> None:
    """Start a worker, and kill it within seconds; print for how long the run did no new step."""
    run.join(run.wait)
    sleep(random.uniform(0, 2))
    began = monotonic()
    run.joined[-1].kill()
    sleep(5)
    steps = [told["at"] for told in tuple(run.told) if told["kind"] == "Measured" and told["at"] > began - 1]
    gaps = [later - earlier for earlier, later in pairwise(steps)]
    print(f"a worker killed while it joined: longest time without a new step {max(gaps, default=5.0):.3f}", flush=True)


def time_kills(run: FaultyRun, workers: int, kills: int, random: Random, early: bool) -> Iterator[KillSeconds]:
    """Time ``kills`` kills in a run of so many workers."""
    run.start(workers, resume=False)
    try:
        await_event(run, "Measured", 0.0, 5)
        for _ in range(kills):
            yield time_kill(run, random, early)
    finally:
        run.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Time the kills, and print the seconds of each, and their percentiles."""
    parser = argparse.ArgumentParser(description="where the seconds after a loss go")
    parser.add_argument("--launcher", choices=("local", "join"), default="join")
    parser.add_argument("--net", choices=list(JOBS), default="lenet")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--early", action="store_true", help="also kill workers that join, in their first seconds")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    launcher = "respawn" if args.launcher == "local" else "join"
    random = Random(args.seed)
    found = []
    with TemporaryDirectory(prefix="netpart-losses-") as folder:
        run = FaultyRun(args.net, launcher, Path(folder) / "run", random, CHANGES, PATIENCE)
        for each in time_kills(run, args.workers, args.kills, random, args.early and args.launcher == "join"):
            print(each, flush=True)
            found.append(each)
    rows = {name: percentiles([each.phases[n] for each in found]) for n, name in enumerate(PHASES)}
    print(json.dumps(rows | {"until the run goes on": percentiles([each.until_go for each in found])}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
