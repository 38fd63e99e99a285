"""netpart run: trains a job on its workers and says how it goes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.launch.events import Event, Summary

THROUGH = {"memory": "this process's memory", "mpi": "MPI", "shm": "shared memory", "zeromq": "ZeroMQ"}
"""Transports in words."""
HELP = "train a job on its workers; test, validate and save checkpoints as it says"


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    from netpart.cli.common import add_job, add_threads, count
    from netpart.cli.worker import add_token

    parser: argparse.ArgumentParser = subparsers.add_parser("run", help=HELP, description=HELP)
    add_job(parser)
    parser.add_argument("--steps", type=count, metavar="S", help="training steps (default: the job's train_steps)")
    add_threads(parser)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), help="where kernels run (default: auto)")
    parser.add_argument(
        "--launcher", choices=("local", "threads", "mpi", "join", "env"), help="a process or a thread per worker on"
        " this host; processes that mpiexec starts; workers of other hosts that join; or this process is one of many"
        " that mpirun, srun or an indexed Job start with the same command (default: local, or join with --listen)",
    )  # fmt: skip
    parser.add_argument(
        "--hosts", type=Path, metavar="FILE", help="host file of --launcher mpi, e.g. workers/mpi.hosts"
    )
    parser.add_argument(
        "--transport", choices=("auto", "zeromq", "shm"), default="auto",
        help="what processes exchange tensors through (default: shared memory where the host has it)",
    )  # fmt: skip
    parser.add_argument(
        "--listen", metavar="tcp://HOST:PORT", help="where workers of other hosts join: see docs/hosts.md"
    )
    parser.add_argument(
        "--local", type=count, default=0, metavar="K", help="of workers that join, start the first K here (default: 0)"
    )
    add_token(parser)
    parser.add_argument("--workspace", type=Path, metavar="DIR", help="folder of checkpoints, metrics and logs")
    parser.add_argument("--resume", action="store_true", help="go on from the latest checkpoint of the workspace")
    parser.add_argument("--summary", type=Path, metavar="F.json", help="write the summary as JSON")
    return parser


def call(args: argparse.Namespace) -> int:
    """Runs the job; 0 when it went to its end."""
    from netpart.cli.common import keep_to, load_job, workers_of
    from netpart.cli.meet import meeting_of, play_other_rank
    from netpart.cli.note import note

    if args.threads is not None:
        keep_to(1, args.threads)
    if play_other_rank(args):
        return 0
    meeting = meeting_of(args)
    job = load_job(args)
    if args.launcher == "threads":
        keep_to(workers_of(args, job), args.threads)
    from netpart.launch.run import run
    from netpart.plan.advice import recut

    for warning in recut(job, workers_of(args, job)):
        note(f"warning: {warning}")
    if args.threads is not None:
        job.proto.num_openblas_threads = args.threads
    if args.steps is not None:
        job.proto.train_steps = args.steps
    if args.resume:
        job.proto.resume = True
    if args.device:
        devices = {"auto": job.proto.AUTO, "cpu": job.proto.CPU, "cuda": job.proto.CUDA}
        job.proto.device = devices[args.device]
    if args.summary:
        args.summary.parent.mkdir(parents=True, exist_ok=True)
        args.summary.touch()  # what cannot be written is known before the run, not after it
    with listener(job.proto.train_steps) as hear:
        launcher = args.launcher or ("join" if meeting else "local")
        summary = run(
            job, args.workers, launcher=launcher, listener=hear, workspace=args.workspace, meeting=meeting,
            hosts=args.hosts, transport=args.transport,
        )  # fmt: skip
    print(closing(summary))
    if args.summary:
        args.summary.write_text(json.dumps(asdict(summary), indent=2) + "\n")
    return 0


@contextmanager
def listener(steps: int) -> Iterator[Callable[[Event], None]]:
    """What hears the run: a progress bar on a terminal, plain lines otherwise."""
    if not sys.stdout.isatty():
        yield lambda event: print(line(event), flush=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from netpart.launch.events import Measured

    console = Console(highlight=False)
    columns = (
        TextColumn("step {task.completed:.0f}/{task.total:.0f}"), BarColumn(), TextColumn("{task.description}"),
        TimeRemainingColumn(), TextColumn("left"),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=steps)

        def hear(event: Event) -> None:
            if isinstance(event, Measured) and event.phase == "train":
                progress.update(task, completed=event.step, description=f"{shown(event.metrics)}  {rate(event)}")
            else:
                console.print(line(event))

        yield hear


def line(event: Event) -> str:
    """One event as one line."""
    from netpart.launch.events import Invited, Joined, Measured, Saved
    from netpart.units import bytes_text, counted

    if isinstance(event, Measured):
        speed = f"  {rate(event)}" if event.phase == "train" else ""
        name = {"train": "Train", "val": "Validation", "test": "Test"}[event.phase]
        return f"{name} @ step {event.step}  {shown(event.metrics)}{speed}"
    if isinstance(event, Saved):
        return f"Saved {event.path}"
    if isinstance(event, Invited):
        return f"waiting for {ranks(event.missing)}; on another host, for each: {event.command}"
    if isinstance(event, Joined):
        rest = f"; waiting for {ranks(event.missing)}" if event.missing else "; everybody is there"
        return f"worker {event.rank} joined ({event.where}){rest}"
    devices = ", ".join(sorted(set(event.devices)))
    memory = " + ".join(bytes_text(m) for m in event.memory)
    threads = " + ".join(map(str, event.threads)) + " threads" if event.threads != (1,) else "1 thread"
    start = f" from step {event.first_step}" if event.first_step else ""
    return (
        f"{event.name}: {counted(event.workers, 'worker')} on {devices}, {event.kernels}, {threads}; "
        f"batch {event.batch}, {counted(event.steps, 'step')}{start}; memory {memory}; "
        f"tensors through {THROUGH[event.transport]}"
    )


def ranks(missing: tuple[int, ...]) -> str:
    """Some workers in words: "worker 1", "workers 1, 2"."""
    return f"worker{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))}"


def shown(metrics: dict[str, float]) -> str:
    """Metrics as SINGA prints them: name = value."""
    layers = {key.rsplit("/", 1)[0] for key in metrics}
    short = (key if len(layers) > 1 else key.rsplit("/", 1)[1] for key in metrics)
    return ", ".join(f"{name} = {value:.6f}" for name, value in zip(short, metrics.values(), strict=True))


def rate(event: Any) -> str:
    """Training speed."""
    return f"{event.samples_per_second:,.0f} samples/s"


def closing(summary: Summary) -> str:
    """The summary in a few lines."""
    from netpart.units import bytes_text, seconds_text

    agree = "as predicted" if summary.bytes_counted == summary.bytes_predicted else "NOT as predicted"
    rows = {
        "test": shown(summary.test) if summary.test else "",
        "validation": shown(summary.validation) if summary.validation else "",
        "train": shown(summary.train) if summary.train else "",
        "time": f"{seconds_text(summary.seconds)}, {summary.samples_per_second:,.0f} samples/s in training",
        "moved": f"{bytes_text(summary.bytes_counted)} between workers, {agree} ({summary.bytes_predicted:,} bytes)",
        "checkpoint": summary.checkpoint,
    }
    return "\n".join(f"{name:>10}  {text}" for name, text in rows.items() if text)
