"""netpart run: trains a job on its workers and shows its progress."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import ENV_LAUNCHER, LOCAL_LAUNCHERS
from netpart.cli.exit_codes import HALTED, SUCCESS

if TYPE_CHECKING:
    from netpart.cli.run_setting import RunSetting
    from netpart.launch.report.events import Summary
    from netpart.launch.restarts import RestartChoice
    from netpart.proto.reader import Job

HELP = "train a job on its workers; test, validate and save checkpoints at the steps that the job sets"


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import add_job_options, parse_count
    from netpart.cli.launch_options import add_elastic_options, add_launch_options, add_respawn_option

    parser: argparse.ArgumentParser = subparsers.add_parser("run", help=HELP, description=HELP)
    add_job_options(parser)
    parser.add_argument(
        "--steps", type=parse_count, metavar="S", help="number of training steps (default: the job's train_steps)"
    )
    add_launch_options(parser)
    add_elastic_options(parser)
    add_respawn_option(parser)
    parser.add_argument(
        "--restarts", type=parse_count, default=0, metavar="N", help="after a failure of a worker, host, link or disk"
        " start again from the latest checkpoint, at most N times, with the workers that are left; with --wait as many"
        " as before, if they come in time; see docs/elastic.md (default: 0)",
    )  # fmt: skip
    _add_result_options(parser)
    return parser


def _add_result_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of where results go and what they are compared with."""
    from netpart.cli.launch_options import add_listener_options

    add_listener_options(parser)
    parser.add_argument(
        "--workspace", type=Path, metavar="DIR", help="folder of checkpoints, metrics and logs (default: the job's)"
    )
    parser.add_argument("--resume", action="store_true", help="continue from the newest checkpoint of the workspace")
    parser.add_argument("--summary", type=Path, metavar="F.json", help="write the summary of the run to F.json")
    parser.add_argument(
        "--against", type=Path, metavar="ONE.json", help="print the speed-up over an earlier run of the job on one"
        " worker; ONE.json is the --summary of that run"
    )  # fmt: skip
    parser.add_argument(
        "--reach",
        type=_parse_fraction,
        default=0.9,
        metavar="A",
        help="with --against: test accuracy, 0..1, up to which the epochs of both runs are counted (default: 0.9)",
    )


def _parse_fraction(text: str) -> float:
    """Parse an option's number from 0 to 1. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, got {text!r}")
    return value


def run_verb(args: argparse.Namespace) -> int:
    """Run the job to its end, or this process's part of it under --launcher env. Returns SUCCESS, or HALTED."""
    from netpart.cli.common import load_job
    from netpart.cli.run_output import speedup_text, summary_text
    from netpart.cli.run_setting import (
        needs_supervisor,
        play_other_rank,
        requeued_failures,
        restart_choice,
        run_setting,
        supervise_run,
    )
    from netpart.cli.threads import limit_launched_threads

    if needs_supervisor(args):
        return supervise_run(args)
    if args.launcher == ENV_LAUNCHER:  # before anything loads NumPy, whose BLAS reads the number of threads once
        limit_launched_threads(args.threads)
    if play_other_rank(args):
        return SUCCESS
    job = load_job(args, provide=False)
    setting = run_setting(args, job)
    restarts = restart_choice(args, setting)
    job = replace(job, workers=setting.workers)
    _apply_run_options(job, args)
    from netpart.cli.provide import provide_data
    from netpart.launch.report.speedup import compute_speedup, read_summary
    from netpart.launch.report.workspace import choose_workspace

    choose_workspace(job, args.workspace)  # a workspace that is refused ends the run before anything is written
    provide_data(job)
    serial = read_summary(args.against) if args.against else None
    _print_run_warnings(job, args, setting)
    if args.summary:
        prepare_summary_file(args.summary)
    with requeued_failures(args):
        summary = _train_job(job, args, setting, restarts)
    print(summary_text(summary))
    if serial is not None:
        print(speedup_text(compute_speedup(serial, summary, args.reach), args.reach))
    if args.summary:
        args.summary.write_text(json.dumps(asdict(summary), indent=2) + "\n")
    return HALTED if summary.halted else SUCCESS


def prepare_summary_file(path: Path) -> None:
    """Open ``path`` for writing, so that a file that cannot be written is an error now, not after hours of training."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.open("a").close()  # "a" keeps an earlier summary


def _apply_run_options(job: Job, args: argparse.Namespace) -> None:
    """Set the fields of ``job`` that the options of the run replace."""
    from netpart.cli.launch_options import apply_launch_options, set_elastic

    apply_launch_options(job, args)
    set_elastic(job.proto, args)
    if args.steps is not None:
        job.proto.train_steps = args.steps
    if args.resume:
        job.proto.resume = True


def _print_run_warnings(job: Job, args: argparse.Namespace, setting: RunSetting) -> None:
    """Print warnings: an outdated plan, unused GPUs, files of an earlier run, too many workers for this host."""
    from netpart.cli.print_note import print_note
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


def _train_job(job: Job, args: argparse.Namespace, setting: RunSetting, restarts: RestartChoice) -> Summary:
    """Run the job and print its events as they arrive; return its summary."""
    from netpart.cli.run_output import event_printer
    from netpart.launch.run import run_job

    with event_printer(job.proto.train_steps) as listener:
        return run_job(
            job, launcher=setting.launcher, listener=listener, workspace=args.workspace, meeting=setting.meeting,
            hosts=args.hosts, transport=args.transport, listeners=args.listener, seal=args.seal,
            placement=setting.placement, respawn=args.respawn, restarts=restarts,
        )  # fmt: skip
