"""netpart expand: the text of a job with its blocks written out."""

from __future__ import annotations

import argparse
from typing import Any

HELP = "print a job with its blocks, values with names and included files written out"


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser("expand", help=HELP, description=HELP)
    parser.add_argument("job", metavar="JOB", help="job configuration file")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", help="change a field of the job; may be repeated"
    )
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Print the text. Returns 0."""
    from netpart.proto.blocks.flat_text import write_flat_job
    from netpart.proto.reader import read_job
    from netpart.proto.writer import write_job

    job = read_job(args.job, args.set)
    print(write_flat_job(job.expansion, job.proto) if job.expansion else write_job(job.proto, job.text), end="")
    return 0
