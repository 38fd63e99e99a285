"""netpart evaluate: plays the test or validation phase of a job from a checkpoint, and prints its metrics."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import ENV_LAUNCHER, TEST, VALIDATION

if TYPE_CHECKING:
    from netpart.cli.run_setting import RunSetting
    from netpart.launch.report.events import Summary
    from netpart.proto.reader import Job

HELP = "test or validate a job from a checkpoint, on any number of workers; trains nothing and writes no checkpoint"


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import parse_positive

    parser: argparse.ArgumentParser = subparsers.add_parser("evaluate", help=HELP, description=HELP)
    add_evaluation_options(parser)
    parser.add_argument("--phase", choices=(TEST, VALIDATION), default=TEST, help=f"phase to play (default: {TEST})")
    parser.add_argument(
        "--steps", type=parse_positive, metavar="N",
        help="number of mini-batches (default: the job's test_steps or validate_steps)",
    )  # fmt: skip
    parser.add_argument("--summary", type=Path, metavar="F.json", help="write the summary to F.json")
    return parser


def add_evaluation_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of playing a job from a checkpoint, which evaluate and predict share."""
    from netpart.cli.common import add_job_options
    from netpart.cli.launch_options import add_launch_options, add_listener_options

    add_job_options(parser)
    parser.add_argument(
        "--checkpoint", type=Path, metavar="F",
        help="checkpoint with the parameters (default: the newest of the workspace)",
    )  # fmt: skip
    add_launch_options(parser)
    add_listener_options(parser)
    parser.add_argument(
        "--workspace", type=Path, metavar="DIR",
        help="folder of logs and metrics (default: a folder with the verb's name in the job's workspace)",
    )  # fmt: skip


def run_verb(args: argparse.Namespace) -> int:
    """Evaluate, print the metrics and write the summary. Returns 0."""
    import json
    from dataclasses import asdict

    from netpart.cli.run import prepare_summary_file
    from netpart.cli.run_output import evaluation_text

    prepared = prepare_evaluation(args)
    if prepared is None:
        return 0
    if args.summary:
        prepare_summary_file(args.summary)
    summary = _evaluate(args, *prepared)
    print(evaluation_text(summary))
    if args.summary:
        args.summary.write_text(json.dumps(asdict(summary), indent=2) + "\n")
    return 0


def prepare_evaluation(args: argparse.Namespace, provide: bool = True) -> tuple[Job, RunSetting] | None:
    """Read the job and the options of the launch; None if this process was a worker of --launcher env, to its end.

    ``provide``: generate the zoo's data that the job reads and that does not exist.
    """
    from netpart.cli.common import load_job
    from netpart.cli.launch_options import apply_launch_options
    from netpart.cli.run_setting import play_other_rank, run_setting
    from netpart.cli.threads import limit_launched_threads
    from netpart.proto.cluster import single_group_job

    if args.launcher == ENV_LAUNCHER:  # before anything loads NumPy, whose BLAS reads the number of threads once
        limit_launched_threads(args.threads)
    if play_other_rank(args):
        return None
    job = load_job(args, provide=provide)
    # Groups and servers are for training: an evaluation takes the workers of one group.
    job = replace(job, proto=single_group_job(job.proto))
    setting = run_setting(args, job)
    job = replace(job, workers=setting.workers)
    apply_launch_options(job, args)
    return job, setting


def _evaluate(args: argparse.Namespace, job: Job, setting: RunSetting) -> Summary:
    """Play the phase, print its events, and return its summary."""
    from netpart.cli.launch_options import launch_choice
    from netpart.cli.progress_line import show_progress_until
    from netpart.cli.run_output import print_event
    from netpart.launch.evaluate import EvaluatedPhase, evaluate_job
    from netpart.launch.report.workspace import newest_checkpoint

    played = EvaluatedPhase(args.phase, args.steps, workspace=args.workspace)
    checkpoint = args.checkpoint or newest_checkpoint(job.proto)
    with show_progress_until(print_event, "cutting the net") as listener:
        return evaluate_job(job, checkpoint, played, choice=launch_choice(args, setting), listener=listener)
