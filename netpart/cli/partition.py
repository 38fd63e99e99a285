"""netpart partition: writes a job's cut back as a job that says it layer by layer."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

HELP = "write the plan: a complete, commented job with every layer's cut, to run, edit and compare"


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    from netpart.cli.common import add_job_options

    parser: argparse.ArgumentParser = subparsers.add_parser("partition", help=HELP, description=HELP)
    add_job_options(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of the screen")
    return parser


def call(args: argparse.Namespace) -> int:
    """Writes the plan; 0 when it is written."""
    from netpart.cli.common import load_job
    from netpart.cli.note import print_note
    from netpart.data.atomic import atomic_file
    from netpart.plan.partition import partition_by_scheme
    from netpart.plan.text.write_plan import write_plan

    if args.output:
        check_plan_file(args.output)
    job = load_job(args, provide=False)
    cut = partition_by_scheme(job.proto, job.worker_count, job.folder)
    text = write_plan(job, cut, _partition_command(args), args.output.parent if args.output else Path())
    if args.output is None:
        print(text, end="")
        return 0
    with atomic_file(args.output) as file:
        file.write(text.encode())
    print_note(f"wrote {args.output}")
    return 0


def check_plan_file(path: Path) -> None:
    """Raises ConfigError for a folder that is not there, and for what is no plan: a job that a person wrote."""
    from netpart.errors import ConfigError

    if not path.parent.is_dir():
        raise ConfigError(str(path), "a file in a folder that is there", f"no folder {path.parent}", "make it first")
    if path.exists() and not _is_plan_file(path):
        raise ConfigError(str(path), "no file or an older plan", "something else", "choose another name")


def _is_plan_file(path: Path) -> bool:
    """True for a file that begins as every plan does."""
    from netpart.files import open_file
    from netpart.proto.comments import OWN

    try:
        with open_file(path) as file:
            return file.read(len(OWN.encode())) == OWN.encode()
    except OSError:
        return False


def _partition_command(args: argparse.Namespace) -> str:
    """The command as one would type it, without where it writes to."""
    from netpart.cli.common import CUT, READ, command_line

    return command_line("partition", args, {name: getattr(args, name) for name in (*CUT, *READ)})
