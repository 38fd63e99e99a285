"""netpart run: trains a job on its workers and says how it goes."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import ENV_LAUNCHER, LOCAL_LAUNCHERS

if TYPE_CHECKING:
    from netpart.cli.meet import RunSetting
    from netpart.launch.report.events import Summary
    from netpart.proto.reader import Job

HELP = "train a job on its workers; test, validate and save checkpoints as it says"


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    from netpart.cli.common import add_job_options, parse_count
    from netpart.cli.threads import add_threads_option

    parser: argparse.ArgumentParser = subparsers.add_parser("run", help=HELP, description=HELP)
    add_job_options(parser)
    parser.add_argument(
        "--steps", type=parse_count, metavar="S", help="training steps (default: the job's train_steps)"
    )
    add_threads_option(parser)
    parser.add_argument(
        "--device", metavar="D[,D..]", help="where kernels run: auto, cpu, cuda or cuda:N; of several, workers take one"
        " each, in turn (default: the job's, or else auto: the GPUs of the host in turn, if it has any)",
    )  # fmt: skip
    _add_launch_options(parser)
    _add_result_options(parser)
    return parser


def _add_launch_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of who starts the workers, and how they meet."""
    from netpart.cli.common import add_transport_option, parse_count
    from netpart.cli.worker import add_meeting_options

    parser.add_argument(
        "--launcher", metavar="NAME", help="local, threads: a process or a thread per worker on this host; mpi:"
        " processes that mpiexec starts; join: workers of other hosts that join; env: this process is one of many that"
        " mpirun, srun or an indexed Job start with the same command; or that of a package (default: local, or join"
        " with --listen)",
    )  # fmt: skip
    parser.add_argument(
        "--hosts", type=Path, metavar="FILE", help="host file of --launcher mpi, e.g. workers/mpi.hosts"
    )
    add_transport_option(parser)
    parser.add_argument(
        "--listen", metavar="tcp://HOST:PORT", help="where workers of other hosts join: see docs/hosts.md"
    )
    parser.add_argument(
        "--local",
        type=parse_count,
        default=0,
        metavar="K",
        help="of workers that join, start the first K here (default: 0)",
    )
    add_meeting_options(parser)


def _add_result_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of where results go, and what they are held against."""
    parser.add_argument(
        "--listener", action="append", default=[], metavar="NAME", help="what hears the events of the run besides this"
        " terminal: events (a line of JSON each, in events.jsonl of the workspace), or that of a package; may be"
        " repeated",
    )  # fmt: skip
    parser.add_argument("--workspace", type=Path, metavar="DIR", help="folder of checkpoints, metrics and logs")
    parser.add_argument("--resume", action="store_true", help="go on from the latest checkpoint of the workspace")
    parser.add_argument("--summary", type=Path, metavar="F.json", help="write the summary as JSON")
    parser.add_argument(
        "--against", type=Path, metavar="ONE.json", help="say how much sooner this is done than an earlier run of the"
        " job, on one worker, whose --summary this file is"
    )  # fmt: skip
    parser.add_argument(
        "--reach",
        type=_parse_fraction,
        default=0.9,
        metavar="A",
        help="with --against: accuracy of a test, 0..1, up to which the epochs of both are counted (default: 0.9)",
    )


def _parse_fraction(text: str) -> float:
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
    from netpart.cli.common import load_job
    from netpart.cli.meet import play_other_rank, run_setting
    from netpart.cli.telling import speedup_text, summary_text
    from netpart.cli.threads import limit_launched_threads

    if args.launcher == ENV_LAUNCHER:
        limit_launched_threads(args.threads)
    if play_other_rank(args):
        return 0
    job = load_job(args, provide=False)
    setting = run_setting(args, job)
    job = replace(job, workers=setting.workers)
    _apply_run_options(job, args)
    from netpart.cli.provide import provide_data
    from netpart.launch.report.speedup import compute_speedup, read_summary
    from netpart.launch.report.workspace import choose_workspace

    choose_workspace(job, args.workspace)  # what is refused has written nothing
    provide_data(job)
    serial = read_summary(args.against) if args.against else None
    _print_run_warnings(job, args, setting)
    if args.summary:
        args.summary.parent.mkdir(parents=True, exist_ok=True)
        args.summary.open("a").close()  # what cannot be written is known before the run, not after it
    summary = _train_job(job, args, setting)
    print(summary_text(summary))
    if serial is not None:
        print(speedup_text(compute_speedup(serial, summary, args.reach), args.reach))
    if args.summary:
        args.summary.write_text(json.dumps(asdict(summary), indent=2) + "\n")
    return 0


def _apply_run_options(job: Job, args: argparse.Namespace) -> None:
    """Gives ``job`` what the options say of the run."""
    from netpart.cli.threads import set_job_threads
    from netpart.launch.control.worker_devices import set_devices

    set_job_threads(job, args)
    if args.steps is not None:
        job.proto.train_steps = args.steps
    if args.resume:
        job.proto.resume = True
    if args.device:
        set_devices(job.proto, args.device)


def _print_run_warnings(job: Job, args: argparse.Namespace, setting: RunSetting) -> None:
    """Says what of an earlier plan or run will not do what one may expect."""
    from netpart.cli.note import print_note
    from netpart.launch.control.cores import oversubscription_warning
    from netpart.launch.control.worker_devices import report_unused_gpus
    from netpart.launch.report.earlier_runs import earlier_run_notices
    from netpart.launch.report.workspace import choose_workspace
    from netpart.plan.text.advice import recut_warnings

    left = earlier_run_notices(job.proto, choose_workspace(job, args.workspace) / "checkpoint")
    gpus = () if args.device else report_unused_gpus(job.proto)
    crowd = oversubscription_warning(job.cluster.size) if setting.launcher in LOCAL_LAUNCHERS else ""
    for warning in (*recut_warnings(job, job.worker_count), *gpus, *left, *filter(None, [crowd])):
        print_note(f"warning: {warning}")


def _train_job(job: Job, args: argparse.Namespace, setting: RunSetting) -> Summary:
    """Runs the job, and shows how it goes."""
    from netpart.cli.telling import event_printer
    from netpart.launch.run import run_job

    with event_printer(job.proto.train_steps) as hear:
        return run_job(
            job, launcher=setting.launcher, listener=hear, workspace=args.workspace, meeting=setting.meeting,
            hosts=args.hosts, transport=args.transport, listeners=args.listener,
        )  # fmt: skip
