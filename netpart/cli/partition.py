"""netpart partition: writes a job's plan, which is a job with the cut of every layer written out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

HELP = "write the plan: a complete, commented job with the cut of every layer, to run, edit and compare"


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import add_job_options

    parser: argparse.ArgumentParser = subparsers.add_parser("partition", help=HELP, description=HELP)
    add_job_options(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of standard output")
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Write the plan. Returns 0."""
    from netpart.cli.common import load_job
    from netpart.cli.print_note import print_note
    from netpart.cli.progress_line import show_progress
    from netpart.graph.partition import keep_objects
    from netpart.plan.partition import partition_by_scheme
    from netpart.plan.text.plan_file import check_plan_file, save_plan_file
    from netpart.plan.text.write_plan import write_plan

    if args.output:
        check_plan_file(args.output)
    job = load_job(args, provide=False)
    with show_progress("cutting the net"), keep_objects():
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder, compact=True)
        text = write_plan(job, cut, _partition_command(args), args.output.parent if args.output else Path())
    if args.output is None:
        print(text, end="")
        return 0
    save_plan_file(args.output, text)
    print_note(f"wrote {args.output}")
    return 0


def _partition_command(args: argparse.Namespace) -> str:
    """The command that makes this plan, without its output file: a comment in the plan shows it."""
    from netpart.cli.common import CUT, READ, command_line

    return command_line("partition", args, {name: getattr(args, name) for name in (*CUT, *READ)})
