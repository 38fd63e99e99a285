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
    from netpart.data.atomic_file import atomic_file
    from netpart.plan.partition import partition_by_scheme
    from netpart.plan.text.write_plan import write_plan

    if args.output:
        check_plan_file(args.output)
    job = load_job(args, provide=False)
    with show_progress("cutting the net"):
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder)
        text = write_plan(job, cut, _partition_command(args), args.output.parent if args.output else Path())
    if args.output is None:
        print(text, end="")
        return 0
    # The file may be the plan that is being run or edited: it is replaced as a whole, or stays as it was.
    with atomic_file(args.output) as file:
        file.write(text.encode())
    print_note(f"wrote {args.output}")
    return 0


def check_plan_file(path: Path) -> None:
    """Raise ConfigError if the folder of ``path`` does not exist, or if ``path`` is a file that is not a plan.

    Only plans are overwritten, never a job that a person wrote.
    """
    from netpart.errors import ConfigError

    if not path.parent.is_dir():
        raise ConfigError(str(path), "a file in a folder that exists", f"no folder {path.parent}", "make it first")
    if path.exists() and not _is_plan_file(path):
        raise ConfigError(str(path), "no file or an older plan", "something else", "choose another name")


def _is_plan_file(path: Path) -> bool:
    """True for a file that begins with netpart's comment mark, as every plan does."""
    from netpart.files import open_file
    from netpart.proto.comments import OWN

    try:
        with open_file(path) as file:
            return file.read(len(OWN.encode())) == OWN.encode()
    except OSError:
        return False


def _partition_command(args: argparse.Namespace) -> str:
    """The command that makes this plan, without its output file: a comment in the plan shows it."""
    from netpart.cli.common import CUT, READ, command_line

    return command_line("partition", args, {name: getattr(args, name) for name in (*CUT, *READ)})
