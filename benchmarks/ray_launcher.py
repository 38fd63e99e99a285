"""A step with --launcher ray compared with --launcher env, on three hosts with links of their own; and the start.

    python -m benchmarks.ray_launcher                three minutes; benchmarks/results/ray-launcher.json
    python -m benchmarks.ray_launcher --quick        once each; writes nothing without -o

The hosts are network namespaces on this machine, so this needs root, iproute2 and the extra ray. Both launchers send
tensors through ZeroMQ, and their runs take turns. The start is the time from a connection with Ray to all workers being
ready: Ray's own start is not in it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.load import add_loaded_option, begin_watch
from benchmarks.rows import RESULTS, Row, finish, write
from netpart.resources import zoo_folder
from tests.end2end.ray_hosts import LONG, RayHosts

PACKAGES = ("netpart", "numpy", "pyzmq", "ray")
WORKERS = 3
ROUNDS = 5
STEPS = 400
GOAL, START_GOAL = 1 / 1.02, 5.0
JOB = zoo_folder() / "mlp" / "column-row.conf"
NETPART = (sys.executable, "-m", "netpart", "run", str(JOB), "--workers", str(WORKERS), "--threads", "1")
STARTING = """
import sys, time
from pathlib import Path
import ray
from netpart.launch.control.placement import ClusterPlacement
from netpart.launch.report.events import Started
from netpart.launch.run import run_job
from netpart.proto.reader import read_job

ray.init(log_to_driver=False, logging_level="ERROR")
began = time.monotonic()

def hear(event):
    if isinstance(event, Started):
        print("seconds", time.monotonic() - began, flush=True)

job = read_job(Path(sys.argv[1]), ["train_steps=1"])
run_job(job, 3, launcher="ray", workspace=Path(sys.argv[2]), listener=hear, placement=ClusterPlacement("strict-spread"))
"""


def main() -> int:
    """Measure, print, write the results; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description="compare the launchers ray and env")
    parser.add_argument("--quick", action="store_true", help="once each; writes nothing without -o")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the results to FILE")
    add_loaded_option(parser)
    args = parser.parse_args()
    watch = begin_watch("benchmarks.ray_launcher", args.loaded or args.quick)
    ours, theirs, starts = list[float](), list[float](), list[float]()
    with TemporaryDirectory() as name, RayHosts(WORKERS, Path(name)) as hosts:
        hosts.start_ray("--include-dashboard", "false")
        for turn in range(1 if args.quick else ROUNDS):
            folder = Path(name) / str(turn)
            ours.append(_step_with_ray(hosts, folder / "ray"))
            theirs.append(_step_with_env(hosts, folder / "env"))
            starts.append(_start_with_ray(hosts, folder / "start"))
    about = f"{JOB.parent.name}/{JOB.stem}, {WORKERS} hosts"
    rows = [
        Row(f"{about}: a step", "--launcher env", median(ours), median(theirs), "s", GOAL),
        Row(f"{about}: to ready workers", "the limit", median(starts), START_GOAL, "s", 1.0),
    ]
    if args.output or not args.quick:
        settings = {"load_of_others": watch.others(), "runs": len(ours), "steps": STEPS}
        write(args.output or RESULTS / "ray-launcher.json", rows, PACKAGES, {"settings": settings})
    code = finish(rows)
    return 0 if args.quick else code


def _step_with_ray(hosts: RayHosts, workspace: Path) -> float:
    """The median of the steps of a run with --launcher ray, in seconds."""
    place = ("--launcher", "ray", "--place", "strict-spread")
    return _play(hosts, [(0, (*place, *_options(workspace)))], workspace)


def _step_with_env(hosts: RayHosts, workspace: Path) -> float:
    """The same with a process that was started on each host."""
    ranks = [(host, ("--launcher", "env", *_options(workspace))) for host in range(WORKERS)]
    return _play(hosts, ranks, workspace)


def _options(workspace: Path) -> tuple[str, ...]:
    """The options of a timed run."""
    return ("--steps", str(STEPS), "--workspace", str(workspace), "--summary", str(workspace / "summary.json"))


def _play(hosts: RayHosts, commands: Sequence[tuple[int, tuple[str, ...]]], workspace: Path) -> float:
    """Run commands on their hosts to the end; the median of the steps."""
    workspace.mkdir(parents=True)
    shared = {"NETPART_TOKEN": "5" * 32, "NETPART_MEET": f"tcp://{hosts.addresses[0]}:5555"}
    started = []
    for host, options in commands:
        own = {"PMI_RANK": str(host), "PMI_SIZE": str(WORKERS)} | shared if len(commands) > 1 else {}
        variables = [f"{name}={value}" for name, value in own.items()]
        started.append(hosts.play(host, "env", *variables, *NETPART, *options))
    for talk in started:
        if talk.end(LONG):
            raise RuntimeError("".join(talk.lines))
    return float(median(json.loads((workspace / "summary.json").read_text())["step_seconds"]))


def _start_with_ray(hosts: RayHosts, workspace: Path) -> float:
    """Seconds from a connection with Ray to the first event of ready workers."""
    talk = hosts.play(0, sys.executable, "-c", STARTING, str(JOB), str(workspace))
    line = talk.until("^seconds ", LONG)
    if talk.end(LONG):
        raise RuntimeError("".join(talk.lines))
    return float(line.split()[1])


if __name__ == "__main__":
    sys.exit(main())
