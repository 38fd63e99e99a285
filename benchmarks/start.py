"""Time from the command to the first finished step: netpart run compared with a DDP script, LeNet on two workers.

    python -m benchmarks.start                      under two minutes; benchmarks/results/start.json
    python -m benchmarks.start --quick              once each; writes nothing without -o

Both start two processes with a thread each, read first weights and mini-batches from a file, train one step and print a
line, which ends the time. They take turns. All files are in the system's cache by then, for both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.contest import Timed
from benchmarks.load import begin_watch
from benchmarks.machine import ROOT, environment
from benchmarks.nets import NETS
from benchmarks.options import PACKAGES, parse
from benchmarks.prepare import Prepared, prepare
from benchmarks.rows import RESULTS, Row, finish, write

WORKERS = 2
GOAL = 2.0
STARTS = 4
COMMAND = json.dumps({"layout": "plain", "compiled": False, "steps": 1}) + "\n"


def main() -> int:
    """Measure, print, write the results; 1 if the goal was missed."""
    args = parse("start", "time the start of a run")
    ours, theirs = Timed(), Timed()
    watch = begin_watch("benchmarks.start", args.loaded)
    with TemporaryDirectory() as folder:
        prepared = prepare(NETS["lenet"], Path(folder))
        for _ in range(1 if args.quick else STARTS * args.rounds):
            ours.seconds.append(netpart(prepared, args))
            theirs.seconds.append(ddp(prepared))
    about = "LeNet, 2 workers, to the end of the first step"
    rows = [Row(about, "a PyTorch DDP script", ours.median, theirs.median, "s", GOAL)]
    if args.output or not args.quick:
        settings = {"load_of_others": watch.others(), "starts": len(ours.seconds)}
        write(args.output or RESULTS / "start.json", rows, PACKAGES, {"settings": settings})
    code = finish(rows)
    return 0 if args.quick else code


def netpart(prepared: Prepared, args: argparse.Namespace) -> float:
    """Seconds until netpart run reports a finished step."""
    with TemporaryDirectory() as folder:
        call = [sys.executable, "-m", "netpart", "run", str(prepared.job), "--workers", str(WORKERS)]
        return seconds_until([*call, "--scheme", "data", "--workspace", folder, *args.arguments], "Train @ step 1 ")


def ddp(prepared: Prepared) -> float:
    """Seconds until the peer answers with the time of its first step."""
    call = [sys.executable, "-m", "benchmarks.peers.torch_ddp", str(prepared.folder), str(WORKERS), "1"]
    return seconds_until(call, '{"seconds"', COMMAND)


def seconds_until(call: list[str], wanted: str, stdin: str = "") -> float:
    """Seconds from the start of a command, which reads ``stdin``, to a line that begins with ``wanted``."""
    began = perf_counter()
    with subprocess.Popen(
        call, env=environment(1), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(stdin)
        process.stdin.close()
        found = next((perf_counter() - began for line in process.stdout if line.startswith(wanted)), None)
        process.stdout.read()
    if found is None:
        raise RuntimeError(f"{' '.join(call)}: expected a line that begins with {wanted}, got none")
    return found


if __name__ == "__main__":
    sys.exit(main())
