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
    from netpart.launch.events import Event, Staleness, Summary
    from netpart.launch.meeting import Meeting
    from netpart.launch.speedup import Speedup
    from netpart.proto.reader import Job

THROUGH = {
    "memory": "this process's memory", "mpi": "MPI", "shm": "shared memory", "zeromq": "ZeroMQ",
    "cuda-ipc": "memory of the GPUs",
}  # fmt: skip
"""Transports in words."""
SHOWN = 8
"""Counts of a histogram that are printed."""
HELP = "train a job on its workers; test, validate and save checkpoints as it says"


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    from netpart.cli.common import add_job, add_threads, count

    parser: argparse.ArgumentParser = subparsers.add_parser("run", help=HELP, description=HELP)
    add_job(parser)
    parser.add_argument("--steps", type=count, metavar="S", help="training steps (default: the job's train_steps)")
    add_threads(parser)
    parser.add_argument(
        "--device", metavar="D[,D..]", help="where kernels run: auto, cpu, cuda or cuda:N; of several, workers take one"
        " each, in turn (default: the job's, or else auto: the GPUs of the host in turn, if it has any)",
    )  # fmt: skip
    add_places(parser)
    add_results(parser)
    return parser


def add_places(parser: argparse.ArgumentParser) -> None:
    """Adds the options of who starts the workers, and how they meet."""
    from netpart.cli.common import add_transport, count
    from netpart.cli.worker import add_token

    parser.add_argument(
        "--launcher", choices=("local", "threads", "mpi", "join", "env"), help="a process or a thread per worker on"
        " this host; processes that mpiexec starts; workers of other hosts that join; or this process is one of many"
        " that mpirun, srun or an indexed Job start with the same command (default: local, or join with --listen)",
    )  # fmt: skip
    parser.add_argument(
        "--hosts", type=Path, metavar="FILE", help="host file of --launcher mpi, e.g. workers/mpi.hosts"
    )
    add_transport(parser)
    parser.add_argument(
        "--listen", metavar="tcp://HOST:PORT", help="where workers of other hosts join: see docs/hosts.md"
    )
    parser.add_argument(
        "--local", type=count, default=0, metavar="K", help="of workers that join, start the first K here (default: 0)"
    )
    add_token(parser)


def add_results(parser: argparse.ArgumentParser) -> None:
    """Adds the options of where results go, and what they are held against."""
    parser.add_argument("--workspace", type=Path, metavar="DIR", help="folder of checkpoints, metrics and logs")
    parser.add_argument("--resume", action="store_true", help="go on from the latest checkpoint of the workspace")
    parser.add_argument("--summary", type=Path, metavar="F.json", help="write the summary as JSON")
    parser.add_argument(
        "--against", type=Path, metavar="ONE.json", help="say how much sooner this is done than that run of the job,"
        " by its summary: one on one worker"
    )  # fmt: skip
    parser.add_argument(
        "--reach",
        type=share,
        default=0.9,
        metavar="A",
        help="epochs count until a test has this accuracy (default: 0.9)",
    )


def share(text: str) -> float:
    """A number from 0 to 1, as an option gives it."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, got {text!r}")
    return value


def call(args: argparse.Namespace) -> int:
    """Runs the job; 0 when it went to its end."""
    from netpart.cli.common import keep_to_share, load_job
    from netpart.cli.meet import meeting_of, play_other_rank

    if args.launcher == "env":
        keep_to_share(args.threads)
    if play_other_rank(args):
        return 0
    job = load_job(args)
    meeting = meeting_of(args, job)
    set_run(job, args)
    from netpart.launch.speedup import read_summary, speedup

    serial = read_summary(args.against) if args.against else None
    warn(job, args)
    if args.summary:
        args.summary.parent.mkdir(parents=True, exist_ok=True)
        args.summary.touch()  # what cannot be written is known before the run, not after it
    summary = train(job, args, meeting)
    print(closing(summary))
    if serial is not None:
        print(sooner(speedup(serial, summary, args.reach), args.reach))
    if args.summary:
        args.summary.write_text(json.dumps(asdict(summary), indent=2) + "\n")
    return 0


def set_run(job: Job, args: argparse.Namespace) -> None:
    """Gives ``job`` what the options say of the run."""
    from netpart.cli.common import set_threads
    from netpart.launch.devices import set_devices

    set_threads(job, args)
    if args.steps is not None:
        job.proto.train_steps = args.steps
    if args.resume:
        job.proto.resume = True
    if args.device:
        set_devices(job.proto, args.device)


def warn(job: Job, args: argparse.Namespace) -> None:
    """Says what in the job will not do what one may expect."""
    from netpart.cli.common import workers_of
    from netpart.cli.note import note
    from netpart.plan.advice import recut, unheeded

    for warning in (*recut(job, workers_of(args, job)), *unheeded(job.proto)):
        note(f"warning: {warning}")


def train(job: Job, args: argparse.Namespace, meeting: Meeting | None) -> Summary:
    """Runs the job, and shows how it goes."""
    from netpart.launch.run import run

    with listener(job.proto.train_steps) as hear:
        return run(
            job, args.workers, launcher=args.launcher or ("join" if meeting else "local"), listener=hear,
            workspace=args.workspace, meeting=meeting, hosts=args.hosts, transport=args.transport,
        )  # fmt: skip


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
    who = event.cluster or counted(event.workers, "worker")
    return (
        f"{event.name}: {who} on {devices}, {event.kernels}, {threads}; "
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
    everybody = "workers and servers" if "server" in summary.cluster else "workers"
    rows = {
        "test": shown(summary.test) if summary.test else "",
        "validation": shown(summary.validation) if summary.validation else "",
        "train": shown(summary.train) if summary.train else "",
        "time": f"{seconds_text(summary.seconds)}, {seconds_text(summary.train_seconds)} of it in training at"
        f" {summary.samples_per_second:,.0f} samples/s",
        "moved": f"{bytes_text(summary.bytes_counted)} between {everybody}, {agree}"
        f" ({summary.bytes_predicted:,} bytes)",
        "staleness": staleness_text(summary.staleness) if summary.staleness else "",
        "checkpoint": summary.checkpoint,
    }
    lines = [f"{name:>10}  {text}" for name, text in rows.items() if text]
    return "\n".join([*lines, *(matrix(name, table) for name, table in summary.tables.items())])


def staleness_text(found: Staleness) -> str:
    """How stale updates were, in one line; of a long histogram its least and most."""
    counts = [f"{stale}: {count:,}" for stale, count in found.histogram.items()]
    counts = [*counts[:SHOWN], "...", counts[-1]] if len(counts) > SHOWN + 1 else counts
    return f"{found.mean:.2f} on average, {found.most} at most, of {found.updates:,} updates ({', '.join(counts)})"


def matrix(name: str, table: list[list[int]]) -> str:
    """A confusion matrix: a line for each class."""
    wide = max(len(str(count)) for row in table for count in (*row, len(row)))
    lines = (f"{f'class {k}':>10}  {' '.join(f'{count:>{wide}}' for count in row)}" for k, row in enumerate(table))
    return "\n".join([f"{name} of the test: rows are classes, columns what they were taken for", *lines])


def sooner(found: Speedup, accuracy: float) -> str:
    """The speed-up in two lines."""

    def text(value: float | None) -> str:
        return "unknown" if value is None else f"{value:.2f}"

    factors = f"{text(found.step)} a step x {text(found.steps)} steps an epoch x {text(found.epochs)} epochs"
    return (
        f"  speed-up  {text(found.training)} in training time\n"
        f"    eq. 13  {text(found.equation_13)} = {factors} to an accuracy of {accuracy:g}"
    )
