"""Random faults in elastic runs: each must end with the parameters of the run that nothing happened to.

    python -m tools.elastic_faults --seed 1 --faults 100          about 4 minutes on two cores
    python -m tools.elastic_faults --seed 7 --runs 1 --net gpt    one run, to look into it

Workers are killed (one, or two at once), stopped, cut off, and others join, at any moment; the disk of the coordinator
is full, or it is killed, and the run is resumed. Each run has several faults. Checked: the parameters after the last
step, equal to 1e-10 relative; that no run hangs; that no process and no shared memory is left. The seed gives the same
runs again, but not the same moments.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from random import Random
from statistics import median, quantiles
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import Any

from tools.fault_jobs import JOBS, final_values, largest_difference, read_fault_job
from tools.faulty_run import FaultyRun

BOUND = 1e-10
LAUNCHERS = ("join", "join", "respawn", "local")
FAULTS = (5, 9)
"""Fewest and most faults in a run, and again each time that it is resumed; fewer if it ends before."""
SLOW = 3.0
"""If the run needs longer to go on, what happened meanwhile is printed."""
MOST_FAULTS = 24
"""A run with so many faults is then left alone, so that it can end."""
EARLY = 0.15
"""How often a run has a fault before its first step."""
PAUSE = 0.3
"""Most seconds between two faults, besides the time until the run goes on."""
RESTARTS = 12
"""How often a run is resumed before that counts as a hang."""


def drive(asked: dict[str, Any]) -> int:
    """Run a job in this process, and write its events as lines of JSON."""
    from netpart.errors import NetpartError
    from netpart.launch.run import run_job
    from netpart.launch.teams.meeting import Meeting

    job = read_fault_job(asked["name"], asked["changes"])
    job.proto.resume = asked["resume"]
    meeting = None
    if asked["launcher"] == "join":
        from netpart.launch.control.token import VARIABLE, parse_token

        meeting = Meeting(asked["listen"], 0, parse_token(os.environ[VARIABLE], VARIABLE), asked["wait"])

    def tell(kind: str, **rest: Any) -> None:
        print(json.dumps({"kind": kind, "pid": os.getpid(), "at": monotonic(), **rest}, default=str), flush=True)

    try:
        run_job(
            job, asked["workers"], launcher="join" if meeting else "local", meeting=meeting,
            listener=lambda event: tell(type(event).__name__, **asdict(event)), workspace=Path(asked["workspace"]),
            respawn=asked["launcher"] == "respawn",
        )  # fmt: skip
    except NetpartError as error:
        tell("failed", error=type(error).__name__, message="\n".join([str(error), *getattr(error, "__notes__", ())]))
        return 1
    return 0


def expected_values(folder: Path, names: Sequence[str]) -> dict[str, Any]:
    """What each job ends with on one worker, without faults."""
    from netpart.launch.run import run_job

    found = {}
    for name in names:
        job = read_fault_job(name)
        job.proto.ClearField("elastic")
        run_job(job, 1, launcher="threads", workspace=folder / name)
        found[name] = final_values(name, folder / name)
    return found


def play_run(name: str, launcher: str, folder: Path, seed: int) -> tuple[FaultyRun, str]:
    """One run with faults, resumed as often as its coordinator ends; return it, and what is wrong, "" if nothing is."""
    random = Random(seed)
    run = FaultyRun(name, launcher, folder, random)
    try:
        workers, resume = 4, False
        while True:
            run.start(workers, resume)
            _inject(run, random)
            if run.end() == 0:
                break
            run.check_end()
            failed = run.latest("failed")
            if failed and run.told[-1] is failed and "resume" not in failed["message"] and "disk" not in str(failed):
                return run, f"ended: {failed['message']}"
            run.restarts += 1
            assert run.restarts <= RESTARTS, f"resumed {RESTARTS} times"
            workers, resume = random.choice((2, 3, 4)), True
        run.check_end()
    except AssertionError as error:
        return run, str(error)
    finally:
        run.close()
    return run, ""


def _inject(run: FaultyRun, random: Random) -> None:
    """Do some faults, several while the run still deals with the last one."""
    if random.random() < EARLY and len(run.faults) < MOST_FAULTS:
        _do_early_fault(run, random)
    _await_start(run, 60)
    for _ in range(min(random.randint(*FAULTS), MOST_FAULTS - len(run.faults))):
        sleep(random.uniform(0, PAUSE))
        began, kind = monotonic(), run.draw_kind()
        if run.do_fault(kind) and kind != "join" and random.random() < 0.7:
            run.await_answer(began)


def _do_early_fault(run: FaultyRun, random: Random) -> None:
    """Do a fault before the first step."""
    end = monotonic() + 20
    while not run.workers() and run.driver.poll() is None and monotonic() < end:
        sleep(0.01)
    _await_start(run, random.uniform(0, 2))
    if not run.has_begun():
        run.do_fault(run.draw_kind())


def _await_start(run: FaultyRun, seconds: float) -> None:
    """Wait until the first step has begun, at most so long."""
    end = monotonic() + seconds
    while not run.has_begun() and run.driver.poll() is None and monotonic() < end:
        sleep(0.01)


def report(runs: Sequence[tuple[FaultyRun, str]], seconds: float) -> dict[str, Any]:
    """The figures of all runs."""
    wents = [told for run, _ in runs for told in run.told if told["kind"] == "WentOn"]
    kinds = Counter(kind for run, _ in runs for kind, _ in run.faults)
    regrouped = [(run.is_alone(*each), each[1]) for run, _ in runs for each in run.regroup_seconds()]
    late = [seconds for run, _ in runs for _, seconds in run.kill_seconds()]
    faults = sum(kinds.values())
    return {
        "runs": len(runs), "faults": faults, "kinds": dict(kinds), "seconds": round(seconds, 1),
        "seconds for 1000 faults": round(1000 * seconds / faults) if faults else None,
        "processor seconds a fault": round(_processor_seconds() / faults, 2) if faults else None,
        "wrong": [f"{run.folder.name}: {wrong}" for run, wrong in runs if wrong],
        "resumed": sum(run.restarts for run, _ in runs), "changes": len(wents),
        "sources": dict(Counter(told["source"] for told in wents)),
        "steps again": sum(told["again"] for told in wents),
        "from detection to go": percentiles([seconds for _, seconds in regrouped]),
        "from detection to go, alone": percentiles([seconds for alone, seconds in regrouped if alone]),
        "from kill to go": percentiles(late),
    }  # fmt: skip


def _processor_seconds() -> float:
    """Processor time of all processes of the runs. On an idle machine it shows how long the runs take."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def percentiles(values: list[float]) -> dict[str, float]:
    if len(values) < 2:
        return {}
    return {
        "count": len(values), "p50": round(median(values), 3), "p95": round(quantiles(values, n=20)[-1], 3),
        "most": round(max(values), 3),
    }  # fmt: skip


def check_runs(
    seed: int, faults: int, names: Sequence[str], runs: int | None, at_once: int, seconds: float = 1e9
) -> dict[str, Any]:
    """Play runs until there were so many ``faults``, or ``runs`` of them, or for ``seconds``; return the figures."""
    folder = Path(mkdtemp(prefix="netpart-faults-"))
    expected = expected_values(folder, names)
    found: list[tuple[FaultyRun, str]] = []
    began = monotonic()

    def play(number: int) -> None:
        if monotonic() > began + seconds or (runs is None and sum(len(r.faults) for r, _ in found) >= faults):
            return
        random = Random(f"{seed} {number}")
        name = names[number % len(names)]
        launcher = random.choice(LAUNCHERS)
        run, wrong = play_run(name, launcher, folder / f"{name}-{number}-{launcher}", random.randrange(1 << 30))
        if not wrong:
            difference = largest_difference(final_values(name, run.folder), expected[name])
            wrong = "" if difference <= BOUND else f"parameters differ by {difference:.1e}"
        found.append((run, wrong))
        what = " ".join(kind for kind, _ in run.faults)
        print(f"{run.folder.name}: {what}: {wrong or 'equal'}", flush=True)
        for at, took in run.kill_seconds() + run.regroup_seconds():
            if took > SLOW:
                print(f"  {took:.1f} s: {run.story(at, took)}", flush=True)
        if not wrong:
            shutil.rmtree(run.folder)
            run.folder.with_suffix(".log").unlink()

    with ThreadPoolExecutor(at_once) as threads:
        list(threads.map(play, range(faults if runs is None else runs)))
    figures = report(found, monotonic() - began)
    if figures["wrong"]:
        return figures | {"folder": str(folder)}
    shutil.rmtree(folder)
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the runs and print the figures; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description="random faults in elastic runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=100, help="how many faults at least (default: 100)")
    parser.add_argument("--runs", type=int, help="how many runs, in place of --faults")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after so many seconds")
    parser.add_argument("--net", action="append", choices=list(JOBS), help="jobs (default: all)")
    parser.add_argument("--at-once", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("-o", "--output", type=Path, help="write the figures to this file")
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.drive:
        return drive(json.loads(args.drive))
    found = check_runs(args.seed, args.faults, args.net or list(JOBS), args.runs, args.at_once, args.seconds)
    print(json.dumps(found, indent=2))
    if args.output:
        args.output.write_text(json.dumps(found, indent=2) + "\n")
    return int(bool(found["wrong"]))


if __name__ == "__main__":
    sys.exit(main())
